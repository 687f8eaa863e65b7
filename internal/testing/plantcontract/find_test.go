package plantcontract

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/plantstore/plantstore/internal/plant"
)

// The servers and stores below are wrong in one way each when they find plants: in the
// order of names, in counts, or in lists of tags.

// wrongQuery is a server that takes valid queries of a path for other ones. What is not
// valid stays so.
func wrongQuery(path string, change func(query url.Values)) func(http.Handler) http.Handler {
	return wrongRequest(func(r *http.Request) {
		query := r.URL.Query()
		for name, values := range query {
			valid, text := validQuery[name], values[0]
			if valid == nil || len(values) > 1 || !utf8.ValidString(text) || !valid.MatchString(text) {
				return
			}
		}
		if r.Method == "GET" && r.URL.Path == path {
			change(query)
			r.URL.RawQuery = query.Encode()
		}
	})
}

var validQuery = map[string]*regexp.Regexp{
	"name_prefix": regexp.MustCompile(`^.{1,50}$`),
	"order":       regexp.MustCompile(`^(id|name)$`),
	"cursor":      regexp.MustCompile(`^[0-9a-f]{16}([0-9a-f][0-9a-f]){0,600}$`),
	"limit":       regexp.MustCompile(`^[1-9][0-9]{0,8}$`),
	"after":       regexp.MustCompile(`^.{0,100}$`),
	"tag":         regexp.MustCompile(`^.{0,100}$`),
	"prefix":      regexp.MustCompile(`^.{0,100}$`),
}

// without ignores a parameter.
func without(path, name string) func(http.Handler) http.Handler {
	return wrongQuery(path, func(query url.Values) { query.Del(name) })
}

// withoutBeside ignores a parameter beside another one, with which it cannot be combined.
func withoutBeside(path, name, value, other string) func(http.Handler) http.Handler {
	return wrongQuery(path, func(query url.Values) {
		if query.Has(other) && query.Get(name) == value {
			query.Del(name)
		}
	})
}

// alone reports whether a request has no parameter that is refused in the order of names.
func alone(query url.Values) bool {
	return !query.Has("tag") && !query.Has("after") && query.Get("order") != "id"
}

// wrongLink is a server that removes a part of those Links that have a text.
func wrongLink(text, pattern string) func(http.Handler) http.Handler {
	removed := regexp.MustCompile(pattern)
	return wrongResponse(func(_ *http.Request, a *response) {
		if link := a.header.Get("Link"); strings.Contains(link, text) {
			if link = removed.ReplaceAllString(link, ""); link == "" {
				a.header.Del("Link")
			} else {
				a.header.Set("Link", link)
			}
		}
	})
}

func wrongCount(pattern, replacement string) func(http.Handler) http.Handler {
	wrong := regexp.MustCompile(pattern)
	return wrongResponse(func(r *http.Request, a *response) {
		if r.URL.Path == "/plants:count" && a.status == 200 {
			a.body = wrong.ReplaceAllString(a.body, replacement)
		}
	})
}

var findServers = map[string]func(http.Handler) http.Handler{
	"ignores name_prefix": wrongQuery("/plants", func(query url.Values) {
		if query.Has("name_prefix") && alone(query) {
			query.Del("name_prefix")
			query.Set("order", "name")
		}
	}),
	"ignores order=name": wrongQuery("/plants", func(query url.Values) {
		if !query.Has("name_prefix") && !query.Has("cursor") && alone(query) {
			query.Del("order")
		}
	}),
	"takes order=id for order=name": wrongQuery("/plants", func(query url.Values) {
		if query.Get("order") == "id" && !query.Has("name_prefix") && !query.Has("cursor") {
			query.Set("order", "name")
			query.Del("after")
		}
	}),
	"ignores a cursor": wrongQuery("/plants", func(query url.Values) {
		if query.Has("cursor") && alone(query) {
			query.Del("cursor")
			query.Set("order", "name")
		}
	}),
	"ignores a cursor without order": wrongQuery("/plants", func(query url.Values) {
		if query.Has("cursor") && !query.Has("order") && !query.Has("name_prefix") && alone(query) {
			query.Del("cursor")
		}
	}),
	"ignores name_prefix beside order": wrongQuery("/plants", func(query url.Values) {
		if query.Get("order") == "name" {
			query.Del("name_prefix")
		}
	}),
	"ignores tag beside name_prefix":            withoutBeside("/plants", "tag", "Moraceae", "name_prefix"),
	"ignores tag beside order":                  withoutBeside("/plants", "tag", "Moraceae", "order"),
	"ignores tag beside a cursor":               withoutBeside("/plants", "tag", "Moraceae", "cursor"),
	"ignores after beside name_prefix":          withoutBeside("/plants", "after", "8", "name_prefix"),
	"ignores after beside order":                withoutBeside("/plants", "after", "8", "order"),
	"ignores after beside a cursor":             withoutBeside("/plants", "after", "8", "cursor"),
	"ignores order=id beside name_prefix":       withoutBeside("/plants", "order", "id", "name_prefix"),
	"ignores order=id beside a cursor":          withoutBeside("/plants", "order", "id", "cursor"),
	"ignores tag beside name_prefix of a count": withoutBeside("/plants:count", "tag", "Moraceae", "name_prefix"),
	"points at another parameter": wrongResponse(func(_ *http.Request, a *response) {
		a.body = strings.Replace(a.body, `"/tag","message":"cannot`, `"/name_prefix","message":"cannot`, 1)
	}),
	"points at one of two parameters": wrongResponse(func(_ *http.Request, a *response) {
		if strings.Contains(a.body, `"/after","message":"cannot`) {
			a.body = strings.Replace(a.body, `"/tag","message":"cannot`, `"/after","message":"cannot`, 1)
		}
	}),
	"has no Link in the order of names":       wrongLink("cursor=", ".+"),
	"forgets name_prefix":                     wrongLink("cursor=", "name_prefix=[^&>]*&"),
	"forgets the limit in the order of names": wrongLink("cursor=", "limit=[0-9]+&"),
	"forgets a cursor":                        wrongLink("cursor=", "&cursor=[0-9a-f]*"),
	"has no Link to tags":                     wrongLink("/tags", ".+"),
	"forgets the limit of tags":               wrongLink("/tags", "limit=[0-9]+&"),
	"forgets the prefix of tags":              wrongLink("/tags", "&prefix=[^&>]*"),
	"has a Link on the last page by name": wrongResponse(func(r *http.Request, a *response) {
		if r.URL.Query().Has("name_prefix") && a.status == 200 && r.URL.Path == "/plants" && a.header.Get("Link") == "" {
			a.header.Set("Link", `<`+r.URL.RequestURI()+`>; rel="next"`)
		}
	}),
	"ignores limit of tags":          without("/tags", "limit"),
	"ignores after of tags":          without("/tags", "after"),
	"ignores prefix of tags":         without("/tags", "prefix"),
	"has another default of tags":    wrongRequest(func(r *http.Request) { addIf(r, "/tags", "limit", "50") }),
	"ignores tag of a count":         without("/plants:count", "tag"),
	"ignores name_prefix of a count": without("/plants:count", "name_prefix"),
	"counts nothing without a parameter": wrongResponse(func(r *http.Request, a *response) {
		if r.URL.Path == "/plants:count" && r.URL.RawQuery == "" && a.status == 200 {
			a.body = `{"count":0,"more":false}`
		}
	}),
	"counts nothing":  wrongCount(`"count":[0-9]+`, `"count":0`),
	"always has more": wrongCount(`"more":false`, `"more":true`),
}

// wrongPage is a store with a wrong List, Count or Tags. Each function may be nil.
type wrongPage struct {
	plant.Store
	page   func(*plant.Page)
	plants func(plant.Page, []plant.Plant) []plant.Plant
	count  func(int) int
	tag    func(*plant.TagPage)
	tags   func(plant.TagPage, []string) []string
}

func (s wrongPage) List(ctx context.Context, page plant.Page) ([]plant.Plant, bool, error) {
	if s.page != nil {
		s.page(&page)
	}
	plants, more, err := s.Store.List(ctx, page)
	if s.plants != nil && page.ByName != nil {
		plants = s.plants(page, plants)
	}
	return plants, more && len(plants) > 0, err
}

func (s wrongPage) Count(ctx context.Context, page plant.Page) (int, bool, error) {
	n, more, err := s.Store.Count(ctx, page)
	if s.count != nil {
		n = s.count(n)
	}
	return n, more, err
}

func (s wrongPage) Tags(ctx context.Context, page plant.TagPage) ([]string, bool, error) {
	if s.tag != nil {
		s.tag(&page)
	}
	tags, more, err := s.Store.Tags(ctx, page)
	if s.tags != nil {
		tags = s.tags(page, tags)
	}
	return tags, more && len(tags) > 0, err
}

// wrongNames is a store that has other pages in the order of names.
func wrongNames(change func(plant.Page, []plant.Plant) []plant.Plant) func(plant.Store) plant.Store {
	return func(s plant.Store) plant.Store { return wrongPage{Store: s, plants: change} }
}

// wrongPlace is a store that continues at another place in the order of names.
func wrongPlace(change func(*plant.NamePlace)) func(plant.Store) plant.Store {
	return func(s plant.Store) plant.Store {
		return wrongPage{Store: s, page: func(page *plant.Page) {
			if page.ByName != nil && page.ByName.After != nil {
				change(page.ByName.After)
			}
		}}
	}
}

// wrongTags is a store that has other pages of tags.
func wrongTags(change func(plant.TagPage, []string) []string) func(plant.Store) plant.Store {
	return func(s plant.Store) plant.Store { return wrongPage{Store: s, tags: change} }
}

func wrongTagPage(change func(*plant.TagPage)) func(plant.Store) plant.Store {
	return func(s plant.Store) plant.Store { return wrongPage{Store: s, tag: change} }
}

var findStores = map[string]func(plant.Store) plant.Store{
	"lists the plant of a cursor again": wrongPlace(func(at *plant.NamePlace) { at.ID-- }),
	"skips equal names":                 wrongPlace(func(at *plant.NamePlace) { at.ID = 1<<63 - 1 }),
	"begins again at equal names":       wrongPlace(func(at *plant.NamePlace) { at.ID = -1 << 63 }),
	"sorts names by bytes": wrongNames(func(_ plant.Page, plants []plant.Plant) []plant.Plant {
		slices.SortStableFunc(plants, func(a, b plant.Plant) int { return strings.Compare(a.Name, b.Name) })
		return plants
	}),
	"has equal names in any order": wrongNames(func(_ plant.Page, plants []plant.Plant) []plant.Plant {
		slices.SortStableFunc(plants, func(a, b plant.Plant) int {
			return strings.Compare(plant.NameKey(a.Name), plant.NameKey(b.Name)+"\x00")
		})
		return plants
	}),
	"does not ignore case": wrongNames(func(page plant.Page, plants []plant.Plant) []plant.Plant {
		return slices.DeleteFunc(plants, func(p plant.Plant) bool {
			return strings.ToUpper(p.Name[:min(len(p.Name), 4)]) != p.Name[:min(len(p.Name), 4)] && page.ByName.Prefix != ""
		})
	}),
	"has no renamed plants": func(s plant.Store) plant.Store { return &notMoving{Store: s} },
	"counts a plant twice": func(s plant.Store) plant.Store {
		return wrongPage{Store: s, count: func(n int) int { return n + min(n, 1) }}
	},
	"counts at most five": func(s plant.Store) plant.Store {
		return wrongPage{Store: s, count: func(n int) int { return min(n, 5) }}
	},
	"counts a plant of nothing": func(s plant.Store) plant.Store {
		return wrongPage{Store: s, count: func(n int) int { return max(n, 1) }}
	},
	"lists a tag twice": wrongTags(func(_ plant.TagPage, tags []string) []string {
		if len(tags) > 1 {
			tags[1] = tags[0]
		}
		return tags
	}),
	"lists tags in the order of UTF-16": wrongTags(func(_ plant.TagPage, tags []string) []string {
		slices.SortFunc(tags, func(a, b string) int {
			return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
		})
		return tags
	}),
	"lacks the empty tag": wrongTags(func(_ plant.TagPage, tags []string) []string {
		return slices.DeleteFunc(tags, func(tag string) bool { return tag == "" })
	}),
	"lists the tag after which it begins": wrongTags(func(page plant.TagPage, tags []string) []string {
		if page.After != nil && len(tags) > 0 && strings.HasPrefix(*page.After, page.Prefix) {
			tags[0] = *page.After
		}
		return tags
	}),
	"begins after the prefix": wrongTagPage(func(page *plant.TagPage) {
		if page.After == nil && page.Prefix != "" {
			page.After = &page.Prefix
		}
	}),
	"ignores the prefix after a tag": wrongTagPage(func(page *plant.TagPage) {
		if page.After != nil && *page.After < page.Prefix {
			page.Prefix = ""
		}
	}),
	"keeps old tags": func(s plant.Store) plant.Store { return &keepingTags{Store: s} },
}

// notMoving does not find the plants whose names have changed by the beginning of a name.
type notMoving struct {
	plant.Store
	moved sync.Map
}

func (s *notMoving) Patch(
	ctx context.Context, id int64, change plant.Patch, c plant.Precondition,
) (plant.Plant, error) {
	if change.Name != nil {
		s.moved.Store(id, true)
	}
	return s.Store.Patch(ctx, id, change, c)
}

func (s *notMoving) List(ctx context.Context, page plant.Page) ([]plant.Plant, bool, error) {
	return wrongPage{Store: s.Store, plants: func(page plant.Page, plants []plant.Plant) []plant.Plant {
		return slices.DeleteFunc(plants, func(p plant.Plant) bool {
			_, moved := s.moved.Load(p.ID)
			return moved && page.ByName.Prefix != ""
		})
	}}.List(ctx, page)
}

// keepingTags lists tags that plants no longer have.
type keepingTags struct {
	plant.Store
	mu   sync.Mutex
	tags []string
}

func (s *keepingTags) Tags(ctx context.Context, page plant.TagPage) ([]string, bool, error) {
	tags, more, err := s.Store.Tags(ctx, page)
	s.mu.Lock()
	defer s.mu.Unlock()
	if page.After == nil && page.Prefix != "" {
		for _, old := range s.tags {
			if strings.HasPrefix(old, page.Prefix) && !slices.Contains(tags, old) && len(tags) < page.Limit {
				tags = append(tags, old)
			}
		}
	}
	s.tags = append(s.tags, tags...)
	return tags, more, err
}
