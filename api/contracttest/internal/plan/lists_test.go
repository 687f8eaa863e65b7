package plan

import (
	"net/url"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/draft"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// A page has as many items as its limit; one of an inferred list may have less, but not nothing, unless the list is of
// some things only, or says itself what follows.
func TestLimits(t *testing.T) {
	t.Parallel()
	p := planOf(t, Settings{})
	for _, c := range []struct {
		limit, size        int
		inferred, declared string // its beginning
	}{
		{2, 2, "kept", "kept"},
		{2, 1, "kept", "broken"},
		{2, 3, "broken", "broken"},
		{2, 0, "broken", "broken"},
	} {
		for _, next := range []string{"", "next"} {
			for _, isInferred := range []bool{true, false} {
				want := c.declared
				if isInferred {
					want = c.inferred
				}
				if isInferred && c.size == 0 && next != "" {
					want = "not tested"
				}
				list := &resources.List{ReadBy: p.Document.Operation("listPots"), IsInferred: isInferred, List: scenario.List{Limit: "limit", Next: next}}
				if got := said((&listTest{list: list}).checkLimit(c.limit, c.size)); !strings.HasPrefix(got, want) {
					t.Errorf("%d items of %d, inferred %v, with the member %q: %s, want %s", c.size, c.limit, isInferred, next, got, want)
				}
			}
		}
	}
}

// More may follow a page that is as long as the limit, and one of an inferred list with a size that services like.
func TestSeemsFull(t *testing.T) {
	t.Parallel()
	p := planOf(t, Settings{})
	for _, c := range []struct {
		limit, query string
		size         int
		inferred     bool
		want         bool
	}{
		{"limit", "3", 3, false, true},
		{"limit", "3", 2, false, false},
		{"limit", "3", 3, true, true},
		{"limit", "3", 2, true, false},
		{"limit", "", 3, true, false},
		{"", "", 0, false, false},
		{"", "", 3, true, false},
		{"", "", 10, true, true},
		{"", "", 10, false, false},
		{"limit", "3", 10, false, false},
	} {
		list := &resources.List{ReadBy: p.Document.Operation("listPots"), IsInferred: c.inferred, List: scenario.List{Limit: c.limit}}
		r := &reader{list: list, query: url.Values{"limit": {c.query}}}
		if got := r.seemsFull(c.size); got != c.want {
			t.Errorf("a page of %d with %q=%q, inferred %v, seems full: %v", c.size, c.limit, c.query, c.inferred, got)
		}
	}
}

// A list must have what exists: once, in its order, and no more than its limit.
func TestSearch(t *testing.T) {
	t.Parallel()
	pageOf := func(end pageEnd, ids ...string) page {
		found := page{end: end, ids: ids}
		for range ids {
			found.items = append(found.items, map[string]any{})
		}
		return found
	}
	for name, c := range map[string]struct {
		pages []page
		want  string
	}{
		"all on one page":    {[]page{pageOf(nothing, "1", "2")}, "kept"},
		"one on each page":   {[]page{pageOf(another, "1"), pageOf(nothing, "2")}, "kept"},
		"one twice":          {[]page{pageOf(another, "1"), pageOf(another, "1")}, "broken: the pages of the list have 1 twice"},
		"one is missing":     {[]page{pageOf(another, "1"), pageOf(nothing)}, "broken: the list ends after 1 resources, and lacks 2"},
		"too many on a page": {[]page{pageOf(another, "1", "2", "3")}, "broken: a page with limit=2 has 3 items"},
		"in another order":   {[]page{pageOf(nothing, "2", "1")}, "broken: a walk with limit=2 meets"},
		"no way to the next": {[]page{pageOf(unknown, "1")}, "not tested: the list has more items than a page"},
	} {
		p := planOf(t, Settings{})
		list := &resources.List{Resource: p.Resources.CreatedBy("createPot"), List: scenario.List{Limit: "limit", After: "after"}}
		got := checked(p, func(trial *draft.Trial) {
			s := search{listTest: &listTest{Trial: trial, list: list}, limit: 2, wanted: []string{"1", "2"}, seen: map[string]map[string]any{}}
			for _, found := range c.pages {
				s.visit(found)
			}
		})
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
