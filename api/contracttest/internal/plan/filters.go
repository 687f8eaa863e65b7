package plan

import (
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// How filters are tested: things are created with values that a wrong filter takes for each other (filtervalues.go), and the
// list is asked for some of them. The meaning of the filter says which things the list then must have, and which it must
// not have. Items that others have created show their values themselves.
//
//	POST /tools {"kind": "a"}, {"kind": "ab"}, {"kind": "A"}   201 with the ids 7, 8, 9
//	GET /tools?kind=a                                          must have 7, and neither 8 nor 9
//
// If a filter is a guess, and what the list has fits another meaning, the filter is not tested. If no meaning fits, something
// is wrong.

// filter is a test of one filter, or of several together, in one run.
type filter struct {
	*listTest
	shown []map[string]any // for each of the things: the members that the filters go by
}

// wanted is a filter with the value that a list is asked for.
type wanted struct {
	resources.Filter
	value any
}

// selection is what a list has if it is asked for some values.
type selection struct {
	asked   []wanted
	items   []map[string]any
	ids     []string             // of the items
	isWhole bool                 // the list was read to its end
	total   int                  // how many items the first page says that there are on all pages; -1: nothing
	shows   scenario.Interaction // the last page
}

// filterCases are the promises of the filters of a list, and of two together.
func filterCases(l *resources.List) (all []listCase) {
	for _, by := range l.Selects {
		all = append(all, effectOf(l, by.Parameter, func(t *listTest, _ string) { t.selects(by) })...)
	}
	if len(certainFilters(l)) > 1 {
		all = append(all, listCase{scenario.Promise{Operation: l.Operation, Kind: scenario.FiltersTogether}, (*listTest).together})
	}
	return all
}

// certainFilters are the filters of a list of which it is known what they select. The options may name a parameter that the
// document does not have.
func certainFilters(l *resources.List) (certain []resources.Filter) {
	for _, by := range l.Selects {
		if by.IsCertain() && l.Parameter(by.Parameter) != nil {
			certain = append(certain, by)
		}
	}
	return certain
}

// selects tests a filter alone. Enough things have the first value that they are on several short pages, which show how a
// filter and pages go together.
func (t *listTest) selects(by resources.Filter) {
	f, asked := t.filterBy(by, min(t.list.PageSize(1), mostAlike))
	var all []*selection
	for _, value := range asked {
		all = append(all, f.search(t.list.LongestPage(), wanted{by, value}))
	}
	if t.list.Limit != "" && !by.Meaning.IsOrder() {
		all = append(all, f.search(t.list.PageSize(1), wanted{by, asked[0]}))
	}
	if wrong := f.mistakeWith(by.Meaning, all); wrong != nil {
		if by.IsGuess {
			f.excuseGuess(by, all)
		}
		f.accuse(wrong)
	}
	if !by.IsGuess && all[0].total >= 0 {
		f.countsOnly(all[0])
	}
}

// filterBy creates a thing with each of the values that are drawn for a filter, and some more things with the first one. It
// returns the values to ask for: of a bound only the first one, which is between the others. If the values are of no use, the
// test ends.
func (t *listTest) filterBy(by resources.Filter, more int) (f *filter, asked []any) {
	f = &filter{listTest: t}
	drawn := f.drawn(by)
	if drawn == nil {
		f.NotTested("a test has too few values for it")
	}
	for _, value := range drawn {
		if shown, isCreated := f.create(map[string]any{by.Member: f.sent(by, value)}); isCreated {
			asked = append(asked, f.askedFor(by, shown, value))
		}
	}
	for range more {
		// If the member is an array, the value comes after another one: a filter must not look at the first item alone.
		f.create(map[string]any{by.Member: f.sent(by, drawn[0], f.Values.Fresh(f.scalar(by), drawn))})
	}
	isOther := func(shown map[string]any) bool { return !jsonvalue.Same(shown[by.Member], f.shown[0][by.Member]) }
	isUnusable := func(value any) bool { return value == nil || !f.Values.Fits(f.Values.Scalar(f.taken(by)), value) }
	if !slices.ContainsFunc(f.shown, isOther) || slices.ContainsFunc(asked, isUnusable) {
		f.NotTested(scenario.NotTested("the service has other values of " + by.Member + " than a create sends"))
	}
	if by.Meaning.IsOrder() {
		return f, asked[:1]
	}
	return f, asked
}

// mostAlike is how many things with one value are created beside the first one, to be on several pages.
const mostAlike = 10

// create creates a thing with some members, and returns what the service shows of it, or false if it refuses the thing. To
// refuse the first thing is a failure. A declared resource shows what was sent; what an inferred one shows, a read says.
func (f *filter) create(members map[string]any) (shown map[string]any, isCreated bool) {
	x := f.list.Resource
	thing := x.Thing(nil)
	thing.Sent = f.Varied(x, thing)
	maps.Copy(thing.Sent, members)
	if len(f.things) == 0 {
		f.Create(thing)
	} else if f.CreateIfPossible(thing); thing.Missing {
		return nil, false
	}
	shown = maps.Clone(members)
	if f.list.IsInferred {
		if got, isRead := f.Read(thing); isRead {
			shown = x.Shown(got)
		}
	}
	f.things, f.shown = append(f.things, thing), append(f.shown, shown)
	return shown, true
}

// askedFor is what to ask for to find a thing that was created with a value: the value that is shown, by which a filter goes.
// Of an array that would be all items, so there it is the value itself.
func (f *filter) askedFor(by resources.Filter, shown map[string]any, drawn any) any {
	if _, isArray := shown[by.Member].([]any); isArray || !f.list.IsInferred {
		return drawn
	}
	return shown[by.Member]
}

// search reads what a list has for some values, until it has all things that it must have, or some pages were read.
func (f *filter) search(limit int, asked ...wanted) *selection {
	s := &selection{asked: asked}
	query := f.withLimit(limit)
	for _, one := range asked {
		maps.Copy(query, f.queryFor(one))
	}
	pages := 0
	for found := range f.pages(query, false) {
		s.ids, s.items = append(s.ids, found.ids...), append(s.items, found.items...)
		if pages++; pages == 1 {
			s.total = totalIn(f.list, f.last)
		}
		s.shows, s.isWhole = f.last, found.end == nothing
		if f.lacking(s) == nil || pages == mostPages {
			break
		}
	}
	if pages == 1 && !s.isWhole && f.lacking(s) != nil {
		// The page has a size that seems full. If a page without the filter has more items, it was not full.
		s.isWhole = len(f.page(f.withLimit(limit)).ids) > len(s.ids)
	}
	return s
}

// mostPages is how many pages are read. Even a few short ones show how a filter and pages go together.
const mostPages = 20

// queryFor is the parameter of a filter with its value. A parameter that takes several values gets one: whether several mean
// all of them or any, OpenAPI does not say.
func (f *filter) queryFor(asked wanted) url.Values {
	value := asked.value
	if schema.TypeOf(f.taken(asked.Filter)) == "array" {
		value = []any{value}
	}
	// What cannot be written selects nothing.
	text, _ := document.Written(f.list.Parameter(asked.Parameter), value)
	pairs, _ := url.ParseQuery(text)
	return pairs
}

// mustHave reports whether the list must have an item with some members: each value that was asked for selects it.
func (s *selection) mustHave(members map[string]any) bool {
	for _, one := range s.asked {
		if selects, _ := one.Meaning.Selects(members[one.Member], one.value); !selects {
			return false
		}
	}
	return true
}

// mayHave reports whether the list may have an item with some members: each value that was asked for selects it, or that is open.
func (s *selection) mayHave(members map[string]any) bool {
	for _, one := range s.asked {
		if selects, isOpen := one.Meaning.Selects(members[one.Member], one.value); !selects && !isOpen {
			return false
		}
	}
	return true
}

// lacking is a thing that a list must have, and has not shown, or nil.
func (f *filter) lacking(s *selection) *scenario.Thing {
	for i, thing := range f.things {
		isListed := slices.Contains(s.ids, fmt.Sprint(thing.ID))
		if s.mustHave(f.shown[i]) && !isListed {
			return thing
		}
	}
	return nil
}

// leak has the members of an item that a list must not have, or is nil. Of an item that the test has created, the members are
// known also if the list does not show them. An item of which a member is unknown is no leak.
func (f *filter) leak(s *selection) map[string]any {
	known := map[string]map[string]any{}
	for i, thing := range f.things {
		known[fmt.Sprint(thing.ID)] = f.shown[i]
	}
	for i, item := range s.items {
		members := map[string]any{}
		maps.Copy(members, known[s.ids[i]])
		maps.Copy(members, item)
		isUnknown := func(one wanted) bool { return members[one.Member] == nil }
		if !s.mayHave(members) && !slices.ContainsFunc(s.asked, isUnknown) {
			return members
		}
	}
	return nil
}

// mistake is what is wrong with a selection.
type mistake struct {
	*selection
	message string
	lacking *scenario.Thing // that the list lacks; nil: something else is wrong
}

// mistakeWith is the first mistake in selections of one filter each, if that filter has a meaning, or nil.
func (f *filter) mistakeWith(meaning resources.Meaning, all []*selection) *mistake {
	for _, s := range all {
		asked := s.asked[0]
		asked.Meaning = meaning
		other := *s
		other.asked = []wanted{asked}
		if found := f.mistakeIn(&other); found != nil {
			return found
		}
	}
	return nil
}

// mistakeIn is what is wrong with a selection, or nil. An item that it must not have comes before a thing that it lacks.
func (f *filter) mistakeIn(s *selection) *mistake {
	text := "a list with"
	for _, one := range s.asked {
		text += fmt.Sprintf(" %s=%v", one.Parameter, one.value)
	}
	if leak := f.leak(s); leak != nil {
		text += " has an item with"
		for _, one := range s.asked {
			text += fmt.Sprintf(" %s %v", one.Member, leak[one.Member])
		}
		return &mistake{selection: s, message: text}
	}
	if lacking := f.lacking(s); lacking != nil && s.isWhole {
		return &mistake{selection: s, message: fmt.Sprintf("%s lacks %v, which has it", text, lacking.ID), lacking: lacking}
	}
	return nil
}

// countsOnly fails if the total that a filtered page says counts items that the filter does not select. Without the filter,
// the list must have at least the things of the test more that have another value; if no page says how many there are then,
// nothing is known.
func (f *filter) countsOnly(s *selection) {
	others := 0
	for _, shown := range f.shown {
		if !s.mayHave(shown) {
			others++
		}
	}
	f.page(f.first())
	asked, all := s.asked[0], totalIn(f.list, f.last)
	isRight := all < 0 || s.total+others <= all
	f.Require(isRight, "a list with %s=%v says that there are %d of %d, but %d have another value",
		asked.Parameter, asked.value, s.total, all, others)
}

// accuse ends the test with a mistake. What the list lacks without the filter, too, is not the mistake of the filter.
func (f *filter) accuse(wrong *mistake) {
	if wrong.lacking != nil && !listedTo(f.Trial, f.list, wrong.lacking).hasEffect {
		f.NotTested("the list lacks it without the filter, too")
	}
	f.Check(scenario.Broken{Rank: scenario.Behaviour, Message: wrong.message, Shown: &wrong.shows})
}

// excuseGuess ends the test of a filter whose guessed meaning is wrong, if another meaning is right, or if the filter selects
// nothing.
func (f *filter) excuseGuess(by resources.Filter, all []*selection) {
	for _, meaning := range resources.Meanings {
		if f.mistakeWith(meaning, all) == nil {
			by.Meaning = meaning
			why := fmt.Sprintf("%s may have another meaning; if it is right, the options need %s", by.Parameter, f.declared(by))
			f.NotTested(scenario.NotTested(why))
		}
	}
	if !slices.ContainsFunc(all, func(s *selection) bool { return len(s.ids) > 0 }) {
		f.NotTested(scenario.NotTested(by.Parameter + " selects nothing: it may have another meaning"))
	}
}

// declared is what the options need to declare the list with the meaning that a filter has here.
func (f *filter) declared(by resources.Filter) string {
	list := f.list.List
	list.Filters = maps.Clone(list.Filters)
	list.Filters[by.Parameter] = by.String()
	return string(jsonvalue.Encode(map[string]any{"Lists": []scenario.List{list}}))
}

// mostTogether is how many filters of a list are tested together with each other one.
const mostTogether = 12

// together asks for the values of each two filters at the same time.
//
//	GET /tools?kind=a&size=1     must have only what has both
func (t *listTest) together(string) {
	filters := certainFilters(t.list)
	f := &filter{listTest: t}
	asked := f.createMixed(filters[:min(len(filters), mostTogether)])
	for i, one := range asked {
		for _, other := range asked[i+1:] {
			f.areBoth(one, other)
		}
	}
}

// createMixed creates things for several filters, and returns what to ask for. The first thing has all values that are asked
// for, one for each filter has another value of its member, and the last one has other values of all. Filters of one member,
// as bounds are, share the values. A filter for which there are too few is left out.
//
//	kind, size: {"kind": "a", "size": 1}, {"kind": "b", "size": 1}, {"kind": "a", "size": 2}, {"kind": "b", "size": 2}
func (f *filter) createMixed(filters []resources.Filter) (asked []wanted) {
	drawn, all, none := map[string][]any{}, map[string]any{}, map[string]any{}
	for _, by := range filters {
		if drawn[by.Member] == nil {
			drawn[by.Member] = f.drawn(by)
		}
		if some := drawn[by.Member]; some != nil {
			all[by.Member] = f.sent(by, some[0])
		}
	}
	shown, _ := f.create(all)
	for _, by := range filters {
		some := drawn[by.Member]
		if some == nil {
			continue
		}
		none[by.Member] = f.sent(by, notSelected(by, some))
		one := maps.Clone(all)
		one[by.Member] = none[by.Member]
		f.create(one)
		value := some[0]
		if !by.Meaning.IsOrder() {
			value = f.askedFor(by, shown, value)
		}
		asked = append(asked, wanted{by, value})
	}
	f.create(none)
	return asked
}

// areBoth fails if a list with two filters does not have what both select. If one of them is wrong alone, another test finds
// that.
func (f *filter) areBoth(one, other wanted) {
	limit := f.list.LongestPage()
	wrong := f.mistakeIn(f.search(limit, one, other))
	if wrong == nil {
		return
	}
	for _, alone := range []wanted{one, other} {
		if f.mistakeIn(f.search(limit, alone)) != nil {
			f.NotTested(scenario.NotTested(alone.Parameter + " alone is wrong"))
		}
	}
	f.accuse(wrong)
}
