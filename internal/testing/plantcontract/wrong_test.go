package plantcontract

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf16"

	"github.com/plantstore/plantstore/api/contracttest"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// wrongService is a service that breaks one promise of the document, in its server or in its store.
// The generated test with the name finds it.
//
// They show that the sequences, the checks and the options of this package find what they are for.
// That the tests which the engine makes of any document find wrong services is shown in package
// contracttest, with services of its own.
type wrongService struct {
	finder string
	server func(http.Handler) http.Handler
	store  func(plant.Store) plant.Store
}

var wrongServices = map[string]wrongService{
	// Options.
	"knows no scopes": {
		finder: "createPlants, credentials scope",
		server: wrongRequest(func(r *http.Request) {
			if r.Header.Get("Authorization") == "Bearer "+readOnlyToken {
				r.Header.Set("Authorization", "Bearer "+staticToken)
			}
		}),
	},
	"takes any media type": {
		finder: `createPlants, media type ""`,
		server: wrongRequest(func(r *http.Request) {
			if r.Method == http.MethodPost {
				r.Header.Set("Content-Type", "application/json")
			}
		}),
	},
	"takes any parameter":  {finder: "streamChanges, unknown parameter", server: wrongQuery("unknown-parameter=1", "")},
	"takes ids with zeros": {finder: `deletePlant, parameter id type, refused: "01"`, server: wrongPath("/01", "/1")},
	"takes a name twice":   {finder: "createPlants, malformed body: duplicate name", server: wrongBody(`"x":1,"x":1,`, "")},
	"ignores tag":          {finder: "listPlants, effect of parameter tag", server: without("/plants", "tag")},
	"has another default":  {finder: "listPlants, default of parameter limit", server: withDefault("/plants", "limit", "50")},

	// Writes: sequences.go.
	"changes a plant when its create is repeated": {
		finder: "sequence, a repeated create changes nothing",
		store: func(s plant.Store) plant.Store {
			return wrongStore{Store: s, create: func(ctx context.Context, p plant.Plant) error {
				_, _, err := s.Put(ctx, p, plant.Precondition{})
				touch(ctx, s, p)
				return err
			}}
		},
	},
	"overwrites and says it did not": {
		finder: "sequence, a create with a taken id changes nothing",
		store: func(s plant.Store) plant.Store {
			return wrongStore{Store: s, create: func(ctx context.Context, p plant.Plant) error {
				err := s.Create(ctx, p)
				if err != nil {
					_, _, _ = s.Put(ctx, p, plant.Precondition{})
				}
				return err
			}}
		},
	},
	"stores half a batch": {
		finder: "sequence, createPlants stores all or nothing",
		store: func(s plant.Store) plant.Store {
			return wrongStore{Store: s, createAll: func(ctx context.Context, plants []plant.Plant) (int, error) {
				for i, p := range plants {
					if err := s.Create(ctx, p); err != nil {
						return 0, plant.ExistsError{Indexes: []int{i}}
					}
				}
				return len(plants), nil
			}}
		},
	},
	"counts what exists as new": {
		finder: "sequence, createPlants stores what it responds with, once",
		server: wrongBodyOf("/plants:batch", `"created":0`, `"created":2`),
	},
	"never moves updated_at": {
		finder: "sequence, updated_at moves with each change, created_at never",
		store:  wrongRead(func(p *plant.Plant) { p.UpdatedAt = p.CreatedAt }),
	},
	"moves created_at": {
		finder: "sequence, updated_at moves with each change, created_at never",
		store:  wrongRead(func(p *plant.Plant) { p.CreatedAt = p.UpdatedAt }),
	},
	"has an etag that is not the ETag": {finder: "sequence, etag is the ETag", server: wrongBodyOf("/plants/", `"etag":"`, `"etag":"0`)},

	// Lists, counts and tags: find.go, findorder.go and findtags.go.
	"sorts names by bytes": {
		finder: "sequence, name_prefix finds names, in their order across pages",
		store: wrongList(func(_ plant.Page, plants []plant.Plant) []plant.Plant {
			slices.SortStableFunc(plants, func(a, b plant.Plant) int { return strings.Compare(a.Name, b.Name) })
			return plants
		}),
	},
	"has a Link on the last page": {
		finder: "sequence, name_prefix finds names, in their order across pages",
		server: wrongResponse(func(r *http.Request, a *response) {
			if r.URL.Query().Has("name_prefix") && a.status == http.StatusOK && a.header.Get("Link") == "" {
				a.header.Set("Link", `<`+r.URL.RequestURI()+`>; rel="next"`)
			}
		}),
	},
	"ignores name_prefix of a count": {
		finder: "sequence, name_prefix finds names, in their order across pages", server: without("/plants:count", "name_prefix"),
	},
	"always has more": {
		finder: "sequence, name_prefix finds names, in their order across pages",
		server: wrongBodyOf("/plants:count", `"more":false`, `"more":true`),
	},
	"ignores order=name": {
		finder: "sequence, order=name lists all plants by name, and a cursor continues", server: wrongQuery("order=name", "order=id"),
	},
	"takes a cursor for the order of names": {
		finder: "sequence, order=name lists all plants by name, and a cursor continues", server: without("/plants", "cursor"),
	},
	"takes order=id for order=name": {
		finder: "sequence, order=id is the default order",
		server: wrongRequest(func(r *http.Request) {
			if query := r.URL.Query(); query.Get("order") == "id" {
				r.URL.RawQuery = "order=name&limit=" + query.Get("limit")
			}
		}),
	},
	"takes order=id_desc for order=id": {
		finder: "sequence, descending orders, with a filter across pages", server: wrongQuery("order=id_desc", "order=id"),
	},
	"takes order=updated for order=id_desc": {
		finder: "sequence, descending orders, with a filter across pages", server: wrongQuery("order=updated", "order=id_desc"),
	},
	"has no renamed plants": {
		finder: "sequence, a plant moves in the order of names with its name",
		store:  func(s plant.Store) plant.Store { return &notMoving{Store: s} },
	},
	"ignores tag beside a cursor": {
		finder: "sequence, parameters that cannot be combined are refused",
		server: wrongRequest(func(r *http.Request) {
			if query := r.URL.Query(); query.Has("cursor") {
				query.Del("tag")
				r.URL.RawQuery = query.Encode()
			}
		}),
	},
	"points at one of two parameters": {
		finder: "sequence, parameters that cannot be combined are refused",
		server: wrongResponse(func(_ *http.Request, a *response) {
			if strings.Contains(a.body, `"/after","message":"cannot`) {
				a.body = strings.Replace(a.body, `"/tag","message":"cannot`, `"/after","message":"cannot`, 1)
			}
		}),
	},
	"forgets the prefix of tags": {
		finder: "sequence, tags are listed once and in order across pages",
		server: wrongResponse(func(_ *http.Request, a *response) {
			if link := a.header.Get("Link"); link != "" {
				a.header.Set("Link", regexp.MustCompile(`&prefix=[^&>]*`).ReplaceAllString(link, ""))
			}
		}),
	},
	"lists a tag twice": {
		finder: "sequence, tags are listed once and in order across pages",
		store: wrongTags(func(tags []string) []string {
			if len(tags) > 1 {
				tags[1] = tags[0]
			}
			return tags
		}),
	},
	"lists tags in the order of UTF-16": {
		finder: "sequence, tags are listed once and in order across pages",
		store: wrongTags(func(tags []string) []string {
			slices.SortFunc(tags, func(a, b string) int { return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b))) })
			return tags
		}),
	},
	"lacks the empty tag": {
		finder: "sequence, tags are listed once and in order across pages",
		store: wrongTags(func(tags []string) []string {
			return slices.DeleteFunc(tags, func(tag string) bool { return tag == "" })
		}),
	},
	"has another default of tags": {finder: "sequence, a page of tags has 100 of them by default", server: withDefault("/tags", "limit", "50")},
	"counts nothing without a parameter": {
		finder: "sequence, countPlants counts all plants",
		server: wrongResponse(func(r *http.Request, a *response) {
			if r.URL.RequestURI() == "/plants:count" {
				a.body = `{"count":0,"more":false}`
			}
		}),
	},

	// The feed: changes.go.
	"lacks a plant in its changes": {
		finder: "sequence, a copy made of listChanges has every plant",
		store: wrongFeed(func(after *plant.Position, changes []plant.Change) []plant.Change {
			if after == nil || after.Walk != nil {
				return changes[:min(1, len(changes))]
			}
			return changes
		}),
	},
	"has no changes by deletions": {
		finder: "sequence, listChanges has each write alone after the position before it",
		store: wrongFeed(func(_ *plant.Position, changes []plant.Change) []plant.Change {
			return slices.DeleteFunc(changes, func(c plant.Change) bool { return c.Plant == nil })
		}),
	},
	"begins again at an unknown position": {
		finder: "sequence, listChanges and streamChanges refuse an unknown position", server: wrongQuery("after="+unknownPosition, ""),
	},
	"ignores limit of changes": {
		finder: "sequence, listChanges has at most limit changes, and says whether there are more", server: without("/changes", "limit"),
	},
	"has another default of changes": {
		finder: "sequence, listChanges has 100 changes by default", server: withDefault("/changes", "limit", "1000"),
	},
	"ignores wait of changes": {finder: "sequence, listChanges waits for a change that comes later", server: without("/changes", "wait")},
	"ignores from of changes": {finder: "sequence, from chooses where listChanges begins", server: without("/changes", "from")},
	"ignores after of a stream": {
		finder: "sequence, listChanges and streamChanges refuse an unknown position", server: without("/changes:stream", "after"),
	},
	"streams the change of another plant": {
		finder: "sequence, streamChanges has a change that comes later", server: wrongBodyOf("/changes:stream", `"id":`, `"id":1`),
	},
	"ignores Last-Event-ID": {
		finder: "sequence, streamChanges resumes after the last event, also with an older position",
		server: wrongRequest(func(r *http.Request) { r.Header.Del("Last-Event-ID") }),
	},
	"has events without an id":       {finder: "streamChanges, credentials good", server: wrongBodyOf("/changes:stream", "id: [^\n]*\n", "")},
	"has events of a type":           {finder: "streamChanges, credentials good", server: wrongBodyOf("/changes:stream", "data: ", "event: change\ndata: ")},
	"has events that are no changes": {finder: "streamChanges, credentials good", server: wrongBodyOf("/changes:stream", `"id":`, `"ID":`)},
}

func TestWrongServices(t *testing.T) {
	must.HaveTime(t)
	t.Parallel()
	for name, wrong := range wrongServices {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handler := realHandler(t, wrong.store)
			if wrong.server != nil {
				handler = wrong.server(handler)
			}
			i := slices.IndexFunc(allTests(), func(test contracttest.Case) bool { return test.Name == wrong.finder })
			if i < 0 {
				t.Fatalf("there is no test %q", wrong.finder)
			}
			if faults := faultsOf(t, handler, allTests()[i]); len(faults) == 0 {
				t.Errorf("%q finds nothing", wrong.finder)
			}
		})
	}
}

func TestRightServicePasses(t *testing.T) {
	t.Parallel()
	must.HaveTime(t)
	handler := realHandler(t, nil)
	for _, test := range allTests() {
		if faults := faultsOf(t, handler, test); len(faults) > 0 {
			t.Errorf("%s: %v", test.Name, faults[0])
		}
	}
}

// allTests are the generated tests. Making them takes longer than running most of them.
var allTests = sync.OnceValue(func() []contracttest.Case {
	return slices.Collect(Plants().Tests(context.Background()))
})

func faultsOf(t *testing.T, handler http.Handler, test contracttest.Case) (faults []string) {
	target := Target("http://plantstore.invalid", staticToken, readOnlyToken, "")
	target.Transport = inProcess{handler}
	for _, failure := range test.Try(t.Context(), target).Failures {
		faults = append(faults, failure.String())
	}
	return faults
}
