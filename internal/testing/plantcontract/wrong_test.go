package plantcontract

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plantstore/plantstore/api/contracttest"
	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store/sqlite"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/token"
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
	create wrongCreate
}

const (
	namesInOrder = "sequence, name_prefix finds names, in their order across pages"
	descending   = "sequence, descending orders, with a filter across pages"
	combined     = "sequence, parameters that cannot be combined are refused"
	search       = "sequence, q finds parts of names in any order, with tags and in each order"
	tagsOnce     = "sequence, tags are listed once and in order across pages"
	timesMove    = "sequence, updated_at moves with each change, created_at never"
	entriesOfAll = "sequence, getHistory has each change, with the state before"
	unknown      = "sequence, listChanges and streamChanges refuse an unknown position"
)

var wrongServices = map[string]wrongService{
	// Options.
	"knows no scopes": {finder: "createPlants, credentials scope", server: wrongRequest(func(r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer "+readOnlyToken {
			r.Header.Set("Authorization", "Bearer "+staticToken)
		}
	})},
	"takes any media type": {finder: `createPlants, media type ""`, server: wrongRequest(func(r *http.Request) {
		if r.Method == http.MethodPost {
			r.Header.Set("Content-Type", "application/json")
		}
	})},
	"takes a name twice": {finder: "createPlants, malformed body: duplicate name", server: wrongRequest(func(r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		body = bytes.Replace(body, []byte(`"x":1,"x":1,`), nil, 1)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	})},
	"takes any parameter":   {finder: "streamChanges, unknown parameter", server: wrongURI(`unknown-parameter=1`, "")},
	"takes ids with zeros":  {finder: `deletePlant, parameter id type, refused: "01"`, server: wrongURI(`/01`, "/1")},
	"ignores tag":           {finder: "listPlants, effect of parameter tag", server: wrongURI(`^(/plants\?.*)\btag=[^&]*`, "$1")},
	"has another default":   {finder: "listPlants, default of parameter limit", server: withLimit("/plants", "50")},
	"says more than it may": {finder: "createPlant, first request", server: wrongBody("^/plants$", "^{", `{"id":1,`)},

	// Writes: sequences.go.
	"changes a plant when its create is repeated": {
		finder: "sequence, a repeated create changes nothing",
		create: func(ctx context.Context, s plant.Store, p plant.Plant) error {
			changed := p
			changed.Name += " "
			_, _, err := s.Put(ctx, changed, plant.Precondition{})
			_, _, again := s.Put(ctx, p, plant.Precondition{})
			return errors.Join(err, again)
		},
	},
	"overwrites and says it did not": {
		finder: "sequence, a create with a taken id changes nothing",
		create: func(ctx context.Context, s plant.Store, p plant.Plant) error {
			err := s.Create(ctx, p)
			_, _, _ = s.Put(ctx, p, plant.Precondition{})
			return err
		},
	},
	"stores half a batch": {
		finder: "sequence, createPlants stores all or nothing",
		create: func(ctx context.Context, s plant.Store, p plant.Plant) error { return s.Create(ctx, p) },
	},
	"counts what exists as new": {
		finder: "sequence, createPlants stores what it responds with, once",
		server: wrongBody("^/plants:batch", `"created":0`, `"created":2`),
	},
	"never moves updated_at": {
		finder: timesMove, server: wrongBody("^/plants/", `("created_at":("[^"]*").*"updated_at":)"[^"]*"`, "$1$2"),
	},
	"moves created_at": {
		finder: timesMove, server: wrongBody("^/plants/", `"created_at":"[^"]*"(.*"updated_at":("[^"]*"))`, `"created_at":$2$1`),
	},
	"has an etag that is not the ETag": {finder: "sequence, etag is the ETag", server: wrongBody("^/plants/", `"etag":"`, `"etag":"0`)},

	// Lists, counts and tags: find.go, findorder.go and findtags.go.
	"lists two plants in the wrong order": {
		finder: namesInOrder, server: wrongBody("^/plants[?].*name_prefix", `^\[({[^}]*}),({[^}]*})`, "[$2,$1"),
	},
	"has a Link on the last page": {
		finder: namesInOrder,
		server: wrongResponse(func(r *http.Request, a *httptest.ResponseRecorder) {
			if r.URL.Query().Has("name_prefix") && a.Code == http.StatusOK && a.Header().Get("Link") == "" {
				a.Header().Set("Link", `<`+r.URL.RequestURI()+`>; rel="next"`)
			}
		}),
	},
	"ignores name_prefix of a count": {finder: namesInOrder, server: wrongURI("^/plants:count[?].*", "/plants:count")},
	"always has more":                {finder: namesInOrder, server: wrongBody("^/plants:count", `"more":false`, `"more":true`)},
	"ignores order=name": {
		finder: "sequence, order=name lists all plants by name, and a cursor continues", server: wrongURI("order=name", "order=id"),
	},
	"takes a cursor for the order of names": {
		finder: "sequence, order=name lists all plants by name, and a cursor continues", server: wrongURI("cursor=[^&]*", ""),
	},
	"takes order=id for order=name": {
		finder: "sequence, order=id is the default order", server: wrongURI("after=[^&]*(.*)&order=id$", "order=name$1"),
	},
	"takes order=id_desc for order=id":      {finder: descending, server: wrongURI("order=id_desc", "order=id")},
	"takes order=updated for order=id_desc": {finder: descending, server: wrongURI("order=updated", "order=id_desc")},
	"has the old names of plants": {
		finder: "sequence, a plant moves in the order of names with its name",
		server: wrongRequest(func(r *http.Request) {
			if r.Method == http.MethodPatch {
				r.Body, r.ContentLength = io.NopCloser(strings.NewReader("{}")), 2
			}
		}),
	},
	"ignores tag beside tag_prefix":   {finder: combined, server: wrongURI("&tag=[^&]*(.*tag_prefix=)|(tag_prefix=[^&]*.*)&tag=[^&]*", "$1$2")},
	"points at one of two parameters": {finder: combined, server: wrongBody("^/plants", `("/after","message":"cannot.*)"/tag"`, `$1"/after"`)},
	"finds the first part of q":       {finder: search, server: wrongURI("([?&]q=[^+&]*)[+][^&]*", "$1")},
	"takes tag_prefix for tag":        {finder: search, server: wrongURI("tag_prefix=", "tag=")},
	"takes order=tag for order=id":    {finder: search, server: wrongURI("order=tag&", "order=id&")},
	"takes updated for updated_asc":   {finder: search, server: wrongURI("order=updated_asc", "order=updated")},
	"ignores q of a count":            {finder: search, server: wrongURI("^(/plants:count[?].*)q=[^&]*", "$1")},
	"forgets the prefix of tags": {
		finder: tagsOnce,
		server: wrongResponse(func(_ *http.Request, a *httptest.ResponseRecorder) {
			if link := a.Header().Get("Link"); link != "" {
				a.Header().Set("Link", regexp.MustCompile(`&prefix=[^&>]*`).ReplaceAllString(link, ""))
			}
		}),
	},
	"lists a tag twice":           {finder: tagsOnce, server: wrongBody("^/tags", `^\[("[^"]*"),"[^"]*"`, "[$1,$1")},
	"lacks the empty tag":         {finder: tagsOnce, server: wrongBody("^/tags", `^\[""`, `["x"`)},
	"has another default of tags": {finder: "sequence, a page of tags has 100 of them by default", server: withLimit("/tags", "50")},
	"counts nothing without a parameter": {
		finder: "sequence, countPlants counts all plants", server: wrongBody("^/plants:count$", `"count":\d+`, `"count":0`),
	},

	// The history: history.go.
	"has another kind of change": {finder: entriesOfAll, server: wrongBody("/history", `"change":"patched"`, `"change":"replaced"`)},
	"has the state after a change": {
		finder: entriesOfAll, server: wrongBody("/history", `"name":"third"`, `"name":"last"`),
	},
	"has no history of a deleted plant": {finder: entriesOfAll, server: wrongBody("/history", `{"change":"deleted".*?}},?`, "")},
	"has the name of another token": {
		finder: "sequence, changed_by is the name of the token", server: wrongBody("/history", `"changed_by":"static"`, `"changed_by":"x"`),
	},
	"ignores the cursor of a history": {
		finder: "sequence, getHistory has pages, the newest changes first", server: wrongURI("(/history.*)&?cursor=[^&]*", "$1"),
	},
	"has another default of histories": {
		finder: "sequence, a page of a history has 100 changes by default", server: wrongURI("/history$", "/history?limit=50"),
	},

	// The feed: changes.go.
	"lacks a plant in its changes": {
		finder: "sequence, a copy made of listChanges has every plant", server: wrongBody("^/changes[?]", `{"position":[^{}]*{[^{}]*}[^{}]*},`, ""),
	},
	"has no changes by deletions": {
		finder: "sequence, listChanges has each write alone after the position before it",
		server: wrongBody("^/changes[?]", `{"position":"[^"]*","id":-?\d+(,"changed_by":"[^"]*")?}`, ""),
	},
	"begins again at an unknown position": {finder: unknown, server: wrongURI("after="+unknownPosition, "")},
	"ignores after of a stream":           {finder: unknown, server: wrongURI("^/changes:stream.*", "/changes:stream")},
	"ignores limit of changes": {
		finder: "sequence, listChanges has at most limit changes, and says whether there are more",
		server: wrongURI(`^(/changes[?].*)\blimit=\d+`, "$1"),
	},
	"has another default of changes": {finder: "sequence, listChanges has 100 changes by default", server: withLimit("/changes", "1000")},
	"ignores wait of changes": {
		finder: "sequence, listChanges waits for a change that comes later", server: wrongURI("wait=30", "wait=0"),
	},
	"ignores from of changes": {finder: "sequence, from chooses where listChanges begins", server: wrongURI("from=now", "from=start")},
	"streams the change of another plant": {
		finder: "sequence, streamChanges has a change that comes later", server: wrongBody("^/changes:stream", `"id":`, `"id":1`),
	},
	"ignores Last-Event-ID": {
		finder: "sequence, streamChanges resumes after the last event, also with an older position",
		server: wrongRequest(func(r *http.Request) { r.Header.Del("Last-Event-ID") }),
	},
	"has events without an id":       {finder: "streamChanges, credentials good", server: wrongBody("^/changes:stream", "id: [^\n]*\n", "")},
	"has events of a type":           {finder: "streamChanges, credentials good", server: wrongBody("^/changes:stream", "data: ", "event: change\ndata: ")},
	"has events that are no changes": {finder: "streamChanges, credentials good", server: wrongBody("^/changes:stream", `"id":`, `"ID":`)},
}

const staticToken = "a-static-token-for-tests"

// readOnlyToken is in every store of these tests; it may only read.
var readOnly, readOnlyToken = token.New("reader", []token.Scope{token.Read}, 0)

// realHandler returns the real handler over a real store, whose creates may be wrong.
func realHandler(t *testing.T, create wrongCreate) http.Handler {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Memory)
	must.NoError(t, err)
	t.Cleanup(func() { store.Close() })
	must.NoError(t, store.CreateToken(t.Context(), readOnly))
	tokens := token.NewVerifier(store, staticToken)
	t.Cleanup(func() { tokens.Close() })
	var plants plant.Store = store
	if create != nil {
		plants = wrongWrites{store, create}
	}
	handler, err := httpapi.New(httpapi.Options{Plants: plants, Tokens: tokens, Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler), MaxBody: 1 << 20})
	must.NoError(t, err)
	return handler
}

func TestWrongServices(t *testing.T) {
	must.HaveTime(t)
	t.Parallel()
	for name, wrong := range wrongServices {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handler := realHandler(t, wrong.create)
			if wrong.server != nil {
				handler = wrong.server(handler)
			}
			i := slices.IndexFunc(allTests(), func(test contracttest.Case) bool { return test.Name == wrong.finder })
			if i < 0 {
				t.Fatalf("there is no test %q", wrong.finder)
			}
			if failures := try(t, handler, allTests()[i]); len(failures) == 0 {
				t.Errorf("%q finds nothing", wrong.finder)
			}
		})
	}
}

func TestRightServicePasses(t *testing.T) {
	t.Parallel()
	must.HaveTime(t)
	for _, failure := range try(t, realHandler(t, nil), allTests()...) {
		t.Error(failure)
	}
}

// allTests are the generated tests. Making them takes longer than running most of them.
var allTests = sync.OnceValue(func() []contracttest.Case {
	return slices.Collect(Plants().Tests(context.Background()))
})

// try runs tests on a handler.
func try(t *testing.T, handler http.Handler, tests ...contracttest.Case) (failures []contracttest.Failure) {
	t.Helper()
	server := httptest.NewServer(handler)
	defer server.Close()
	for _, test := range tests {
		failures = append(failures, test.Try(t.Context(), Target(server.URL, staticToken, readOnlyToken, "")).Failures...)
	}
	return failures
}
