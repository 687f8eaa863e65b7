package plan

import (
	"net/url"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/draft"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// A filter of which only the name is known is wrong if no meaning fits what it does.
func TestFilterVerdict(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		filter   filter
		inferred string // its beginning
		declared string
	}{
		"finds all":               {filter{found: 3}, "kept", "kept"},
		"leaks a lower value":     {filter{found: 3, leaksLower: "lower"}, "not tested: lower", "broken: lower"},
		"leaks a higher value":    {filter{found: 3, leaksHigher: "higher"}, "not tested: higher", "broken: higher"},
		"leaks both":              {filter{found: 3, leaksLower: "lower", leaksHigher: "higher"}, "broken: lower", "broken: lower"},
		"lacks one of some":       {filter{found: 2, lacks: [2]string{"lacks"}}, "broken: lacks", "broken: lacks"},
		"lacks one of the second": {filter{found: 2, lacks: [2]string{"", "lacks"}}, "broken: lacks", "broken: lacks"},
		"lacks all":               {filter{lacks: [2]string{"lacks"}}, "not tested: lacks", "broken: lacks"},
		"lacks one and leaks":     {filter{found: 2, leaksLower: "lower", lacks: [2]string{"lacks"}}, "not tested: lower", "broken: lower"},
	} {
		p := planOf(t, Settings{})
		for _, isInferred := range []bool{true, false} {
			want := c.declared
			if isInferred {
				want = c.inferred
			}
			tested := c.filter
			list := &resources.List{ReadBy: p.Document.Operation("listPots"), IsInferred: isInferred}
			got := checked(p, func(trial *draft.Trial) {
				tested.listTest = &listTest{Trial: trial, list: list}
				tested.verdict()
			})
			if !strings.HasPrefix(got, want) {
				t.Errorf("%s, inferred %v: %s, want %s", name, isInferred, got, want)
			}
		}
	}
}

// An item with another value is a leak, on the side on which its value is.
func TestFilterLeaks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		have, want    any
		inferred      bool
		lower, higher bool
	}{
		{"b", "b", false, false, false},
		{"a", "b", false, true, false},
		{"c", "b", false, false, true},
		{"abc", "b", false, true, false},
		{"abc", "b", true, false, false}, // it may look for a part
		{"ABC", "b", true, false, false},
		{9, 10, false, true, false}, // as numbers, not as texts
		{11, 10, true, false, true},
		{[]any{"a", "b"}, "b", false, false, false},
		{[]any{"c", "d"}, "b", false, false, true},
		{nil, "b", false, true, false},
		{"x", 10, false, false, true}, // as texts, if one of them is no number
		{11, "x", false, true, false},
	} {
		tested := &filtered{filter: &filter{listTest: &listTest{list: &resources.List{IsInferred: c.inferred}}, values: []any{c.want}}}
		tested.note(c.have)
		if lower, higher := tested.leaksLower != "", tested.leaksHigher != ""; lower != c.lower || higher != c.higher {
			t.Errorf("%v for %v, inferred %v, leaks lower %v, higher %v", c.have, c.want, c.inferred, lower, higher)
		}
	}
}

// The first value of a filter is less than the second one, and the third one is the first.
func TestChoose(t *testing.T) {
	t.Parallel()
	p := planOf(t, Settings{})
	tested := &filter{member: "size"}
	got := checked(p, func(trial *draft.Trial) {
		tested.listTest = &listTest{Trial: trial, list: p.Resources.Lists[0]}
		for i := range 3 {
			tested.values = append(tested.values, tested.choose(i))
		}
	})
	if got != "kept" {
		t.Fatal(got)
	}
	if !isLess(tested.values[0], tested.values[1]) || tested.values[2] != tested.values[0] {
		t.Errorf("the values are %v", tested.values)
	}
}

// A page of a filtered list is searched for what it should have.
func TestFilterPages(t *testing.T) {
	t.Parallel()
	items := func(ids ...string) (all page) {
		for _, id := range ids {
			all.ids = append(all.ids, id)
			all.items = append(all.items, map[string]any{"color": "red"})
		}
		return all
	}
	p := planOf(t, Settings{})
	list := &resources.List{ReadBy: p.Document.Operation("listPots")}
	tested := &filtered{
		filter: &filter{listTest: &listTest{list: list}, member: "color", values: []any{"red"}},
		limit:  values.Most, wanted: map[string]bool{"1": true, "2": true}, read: map[string]bool{},
	}
	visit := func(found page) (enough bool, verdict string) {
		verdict = checked(p, func(trial *draft.Trial) {
			tested.Trial = trial
			enough = tested.visit(found)
		})
		return enough, verdict
	}
	if enough, verdict := visit(items("1", "3")); enough || verdict != "kept" || tested.found != 1 {
		t.Errorf("after a page without 2: %v, %v, %d found", enough, verdict, tested.found)
	}
	if _, verdict := visit(items("3")); verdict == "kept" {
		t.Error("a list has 3 twice")
	}
	last := items("4")
	last.end = nothing
	if _, verdict := visit(last); verdict != "kept" || !strings.Contains(tested.lacks[0], "lacks [2]") {
		t.Errorf("the list has ended without 2: %v, %q", verdict, tested.lacks[0])
	}
	if enough, verdict := visit(items("2")); !enough || verdict != "kept" || tested.found != 2 {
		t.Errorf("after all: %v, %v, %d found", enough, verdict, tested.found)
	}
	endless := &filtered{filter: tested.filter, limit: 1, wanted: map[string]bool{"none": true}, read: map[string]bool{}}
	for enough := false; !enough; {
		enough = endless.visit(page{})
	}
	if endless.pagesRead != fewPages+1 {
		t.Errorf("of a list without an end %d pages are read", endless.pagesRead)
	}
}

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
