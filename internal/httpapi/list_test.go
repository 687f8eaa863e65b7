package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api"
	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// pages notes which plants a store was asked for: a [plant.Page] or a [plant.Search].
type pages struct {
	plant.Store
	last any
}

func (p *pages) List(ctx context.Context, page plant.Page) ([]plant.Plant, bool, error) {
	p.last = page
	return p.Store.List(ctx, page)
}

func (p *pages) Count(ctx context.Context, page plant.Page) (int, bool, error) {
	p.last = page
	return p.Store.Count(ctx, page)
}

func (p *pages) Search(ctx context.Context, search plant.Search) ([]plant.Plant, *plant.Place, error) {
	p.last = search
	return p.Store.Search(ctx, search)
}

func (p *pages) CountSearch(ctx context.Context, search plant.Search) (int, bool, error) {
	p.last = search
	return p.Store.CountSearch(ctx, search)
}

// Each parameter of a list, and each value of an order, changes what the store is asked for.
func TestEveryParameterReachesTheStore(t *testing.T) {
	asked := &pages{}
	s := newService(t, wrapPlants(func(store plant.Store) plant.Store { asked.Store = store; return asked }))
	doc, err := openapi3.NewLoader().LoadFromData(api.Document)
	must.NoError(t, err)
	for path, file := range map[string]string{"/plants": "pageOf in internal/httpapi/pages.go", "/plants:count": "CountPlants in internal/httpapi/plants.go"} {
		s.call(http.MethodGet, path, "").wantStatus(t, http.StatusOK)
		without := asked.last
		for _, p := range doc.Paths.Value(path).Get.Parameters {
			if p.Value.Example == nil {
				t.Errorf("the parameter %s of %s has no example in api/openapi.yaml", p.Value.Name, path)
			}
			before, values := []any{without}, []any{p.Value.Example}
			if enum := p.Value.Schema.Value.Enum; enum != nil {
				before, values = nil, enum
			}
			for _, value := range values {
				query := url.Values{p.Value.Name: {fmt.Sprint(value)}}.Encode()
				s.call(http.MethodGet, path+"?"+query, "").wantStatus(t, http.StatusOK)
				if slices.ContainsFunc(before, func(earlier any) bool { return reflect.DeepEqual(earlier, asked.last) }) {
					t.Errorf("%s ignores %s", file, query)
				}
				before = append(before, asked.last)
			}
		}
	}
}

// A page of plants, tags or changes ends before it has more than 256 KiB, and not before the
// next item would not fit, whatever its characters are in JSON.
func TestPagesEndAt256KiB(t *testing.T) {
	must.HaveTime(t)
	for name, character := range map[string]string{"letters": "x", "quotes": `"`, "control characters": "\x01", "line feeds": "\n", "emoji": "🌵"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			var plants []plant.Plant
			for id := range int64(400) {
				plants = append(plants, plant.Plant{
					ID: id*id*id - 500_000, Name: strings.Repeat(character, plant.MaxName),
					Tag: new(fmt.Sprintf("%03d", id) + strings.Repeat(character, plant.MaxTag-3)),
				})
			}
			_, err := s.store.CreateAll(t.Context(), plants)
			must.NoError(t, err)
			for list, first := range map[string]string{
				"plants":  "/plants?limit=1000",
				"by name": "/plants?order=name&limit=1000",
				"tags":    "/tags?limit=1000",
				"changes": "/changes?limit=1000",
			} {
				t.Run(list, func(t *testing.T) { testPagesAreFull(t, s, first, len(plants)) })
			}
		})
	}
}

// testPagesAreFull reads all pages of a list.
func testPagesAreFull(t *testing.T, s *service, first string, want int) {
	seen, size := 0, 0 // size is that of the page before
	for next := first; next != ""; {
		page := s.call(http.MethodGet, next, "").wantStatus(t, http.StatusOK)
		var items []json.RawMessage
		items, next = itemsOf(t, page)
		if len(page.body) > plant.MaxPage || len(items) == 0 {
			t.Fatalf("a page has %d items and %d bytes", len(items), len(page.body))
		}
		if size > 0 && size+len(items[0]) < plant.MaxPage-plant.PageFrame {
			t.Errorf("a page ended at %d bytes, and the next item has %d", size, len(items[0]))
		}
		seen, size = seen+len(items), len(page.body)
	}
	if seen != want {
		t.Errorf("the pages have %d items, want %d", seen, want)
	}
}

// itemsOf returns the items of a page, and the path of the next page if there is one.
func itemsOf(t *testing.T, page response) (items []json.RawMessage, next string) {
	t.Helper()
	if page.body[0] == '[' {
		return decode[[]json.RawMessage](t, page.body), nextLink(page)
	}
	changes := decode[struct {
		Changes  []json.RawMessage
		Position string
		More     bool
	}](t, page.body)
	if changes.More {
		next = "/changes?limit=1000&after=" + changes.Position
	}
	return changes.Changes, next
}

// A client reads all plants page by page, by the last id and by Link. PLANTSTORE_TEST_PAGING
// is the number of plants.
func TestPagingThroughAllPlants(t *testing.T) {
	t.Parallel()
	s := newService(t)
	count := must.Number(t, "PLANTSTORE_TEST_PAGING", 10_000)
	s.fill(count)
	next := int64(0)
	for path := "/plants?limit=1000"; path != ""; {
		a := s.call(http.MethodGet, path, "").wantStatus(t, http.StatusOK)
		page := ids(t, a)
		if len(page) == 0 {
			t.Fatalf("%s is an empty page", path)
		}
		for _, id := range page {
			if id != next {
				t.Fatalf("after plant %d came %d", next-1, id)
			}
			next++
		}
		path = nextLink(a)
		if want := fmt.Sprintf("/plants?limit=1000&after=%d", next-1); path != want && path != "" {
			t.Fatalf("after plant %d Link leads to %s, want %s", next-1, path, want)
		}
	}
	if next != int64(count) {
		t.Errorf("the walk ended after %d plants, want %d", next, count)
	}
}

var linkForm = regexp.MustCompile(`^<([^>]+)>; rel="next"$`)

// nextLink returns where the Link of a page leads, or nothing.
func nextLink(page response) string {
	if match := linkForm.FindStringSubmatch(page.Header.Get("Link")); match != nil {
		return match[1]
	}
	return ""
}

// fill stores plants 0 to n-1 directly in the store.
func (s *service) fill(n int) {
	s.t.Helper()
	for from := 0; from < n; from += 10_000 {
		var plants []plant.Plant
		for id := from; id < min(from+10_000, n); id++ {
			plants = append(plants, plant.Plant{ID: int64(id), Name: "n", Tag: new("t")})
		}
		_, err := s.store.CreateAll(s.t.Context(), plants)
		must.NoError(s.t, err)
	}
}

// ids returns the ids of a page.
func ids(t testing.TB, a response) (all []int64) {
	t.Helper()
	for _, p := range decode[[]plantapi.StoredPlant](t, a.body) {
		all = append(all, p.ID)
	}
	return all
}

// The service accepts every Link that it sends, also if the first request has headers of
// 32 KiB and escapes only what it must.
func TestPagingWithLongTag(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for i, c := range []struct {
		unit, sent string // a character of the tag, and how the client sends it
	}{
		{"a", "a"},
		{"?", "?"}, // three bytes, if escaped
		{"%", "%25"},
		{"é", "é"}, // six bytes, if escaped
		{"🌵", "🌵"}, // twelve
	} {
		tag, first := strings.Repeat(c.unit, 256), int64(10*i)
		want := []int64{first, first + 1, first + 2}
		for _, id := range want {
			must.NoError(t, s.store.Create(t.Context(), plant.Plant{ID: id, Name: "n", Tag: &tag}))
		}
		path := "/plants?limit=1&tag=" + strings.Repeat(c.sent, 256)
		filler := header("X-Filler", strings.Repeat("x", 32<<10-len(path)-500)) // the other headers have less than 500 bytes
		var got []int64
		for path != "" && len(got) < 10 {
			a := s.call(http.MethodGet, path, "", filler).wantStatus(t, http.StatusOK)
			got = append(got, ids(t, a)...)
			path = nextLink(a)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("a walk by 256 times %q finds %d, want %d", c.unit, got, want)
		}
	}
}
