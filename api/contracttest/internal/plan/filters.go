package plan

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"

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

// filter is a test of one filter or more in one run.
type filter struct {
	*listTest
	shown []map[string]any // what the service shows of the things
}

// wanted is a filter with the value that a list is asked for.
type wanted struct {
	resources.Filter
	value any
}

// selection is what a list has for some values.
type selection struct {
	asked   []wanted
	items   []map[string]any
	ids     []string
	isWhole bool                 // the list was read to its end
	total   int                  // how many the first page says that there are; -1: nothing
	shows   scenario.Interaction // the last page
}

// filterCases are the promises of the filters of a list, and of two together.
func filterCases(l *resources.List) (all []listCase) {
	var certain []resources.Filter
	for _, by := range l.Selects {
		all = append(all, effectOf(l, by.Parameter, func(t *listTest, _ string) { t.selects(by) })...)
		if l.Parameter(by.Parameter) != nil && by.IsCertain() {
			certain = append(certain, by)
		}
	}
	if len(certain) > 1 {
		promise := scenario.Promise{Operation: l.Operation, Kind: scenario.FiltersTogether}
		all = append(all, listCase{promise, func(t *listTest, _ string) { t.together(certain) }})
	}
	return all
}

// selects tests a filter.
func (t *listTest) selects(by resources.Filter) {
	f, asked := t.filterBy(by, min(t.list.PageSize(1), mostAlike))
	var all []*selection
	for _, value := range asked {
		all = append(all, f.search(t.list.LongestPage(), wanted{by, value}))
	}
	if t.list.Limit != "" && !by.Meaning.IsOrder() {
		// Short pages show how a filter and pages go together.
		all = append(all, f.search(t.list.PageSize(1), all[0].asked[0]))
	}
	wrong := f.wrong(by.Meaning, all)
	if wrong != nil && by.IsGuess {
		f.guess(by, all)
	}
	f.accuse(wrong)
	if !by.IsGuess && all[0].total >= 0 {
		f.countsOnly(all[0])
	}
}

// filterBy creates things for a filter, and returns the values to ask for. The first one is that of some things more.
func (t *listTest) filterBy(by resources.Filter, more int) (f *filter, asked []any) {
	f = &filter{listTest: t}
	drawn := f.drawn(by)
	if drawn == nil {
		f.NotTested("a test has too few values for it")
	}
	for _, value := range drawn {
		if f.create(map[string]any{by.Member: f.sent(by, value)}) {
			asked = append(asked, f.askedFor(by, len(f.things)-1, value))
		}
	}
	for range more {
		// The first item of an array is another one.
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

// create creates a thing with some members, and reports false if the service refuses it. Only of the first one is that a failure.
func (f *filter) create(members map[string]any) bool {
	x := f.list.Resource
	thing := x.Thing(nil)
	thing.Sent = f.Varied(x, thing)
	maps.Copy(thing.Sent, members)
	if len(f.things) == 0 {
		f.Create(thing)
	} else if f.CreateIfPossible(thing); thing.Missing {
		return false
	}
	shown := maps.Clone(members)
	if f.list.IsInferred {
		if got, isRead := f.Read(thing); isRead {
			shown = x.Shown(got)
		}
	}
	f.things, f.shown = append(f.things, thing), append(f.shown, shown)
	return true
}

// askedFor is what to ask for to find a thing that was created with a value. An inferred resource may be shown with another
// one, and a filter then goes by that.
func (f *filter) askedFor(by resources.Filter, i int, drawn any) any {
	if _, isArray := f.shown[i][by.Member].([]any); isArray || !f.list.IsInferred {
		return drawn
	}
	return f.shown[i][by.Member]
}

// search lists what some values select, until it has all things that it must have.
func (f *filter) search(limit int, asked ...wanted) *selection {
	s := &selection{asked: asked}
	query := f.first()
	for _, one := range asked {
		maps.Copy(query, f.query(one))
	}
	if f.list.Limit != "" {
		query.Set(f.list.Limit, strconv.Itoa(limit))
	}
	pages := 0
	for found := range f.pages(query, false) {
		for i, id := range found.ids {
			s.ids, s.items = append(s.ids, id), append(s.items, found.items[i])
		}
		if pages++; pages == 1 {
			s.total = totalIn(f.list, f.last)
		}
		s.shows, s.isWhole = f.last, found.end == nothing
		if f.lacking(s) == nil || pages == mostPages {
			break
		}
	}
	if pages == 1 && !s.isWhole && f.lacking(s) != nil {
		s.isWhole = f.hasLonger(limit, len(s.ids))
	}
	return s
}

// hasLonger reports whether a page without the filter has more items. Then a page of a size that seems full has ended before.
func (f *filter) hasLonger(limit, size int) bool {
	query := f.first()
	if f.list.Limit != "" {
		query.Set(f.list.Limit, strconv.Itoa(limit))
	}
	return len(f.page(query).ids) > size
}

// mostPages is how many pages are read. Even a few short ones show how a filter and pages go together.
const mostPages = 20

// query is the parameter with a value. A parameter that takes several values gets one: whether several mean all of them or
// any, OpenAPI does not say.
func (f *filter) query(asked wanted) url.Values {
	value := asked.value
	if schema.TypeOf(f.taken(asked.Filter)) == "array" {
		value = []any{value}
	}
	// What cannot be written selects nothing.
	text, _ := document.Written(f.list.Parameter(asked.Parameter), value)
	pairs, _ := url.ParseQuery(text)
	return pairs
}

// selectsAll reports whether all values that were asked for select members, or that this is open.
func (s *selection) selectsAll(members map[string]any) (selects, isOpen bool) {
	selects = true
	for _, one := range s.asked {
		isSelected, mayBe := one.Meaning.Selects(members[one.Member], one.value)
		if !isSelected && !mayBe {
			return false, false
		}
		selects, isOpen = selects && isSelected, isOpen || mayBe
	}
	return selects, isOpen
}

// lacking is a thing that a list must have, and has not shown, or nil.
func (f *filter) lacking(s *selection) *scenario.Thing {
	for i, thing := range f.things {
		isListed := slices.Contains(s.ids, fmt.Sprint(thing.ID))
		if selects, _ := s.selectsAll(f.shown[i]); selects && !isListed {
			return thing
		}
	}
	return nil
}

// leak is an item that a list must not have, or nil. A thing of the test need not show the members.
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
		selects, isOpen := s.selectsAll(members)
		if isRight := selects || isOpen; !isRight && !slices.ContainsFunc(s.asked, isUnknown) {
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

// wrong is what is wrong with what a list has if its only filter has a meaning, or nil.
func (f *filter) wrong(meaning resources.Meaning, all []*selection) *mistake {
	for _, s := range all {
		other := *s
		other.asked = []wanted{s.asked[0]}
		other.asked[0].Meaning = meaning
		if found := f.judge(&other); found != nil {
			return found
		}
	}
	return nil
}

// judge is what is wrong with a selection, or nil.
func (f *filter) judge(s *selection) *mistake {
	text := "a list with"
	for _, one := range s.asked {
		text += fmt.Sprintf(" %s=%v", one.Parameter, one.value)
	}
	lacking := f.lacking(s)
	if leak := f.leak(s); leak != nil {
		text += " has an item with"
		for _, one := range s.asked {
			text += fmt.Sprintf(" %s %v", one.Member, leak[one.Member])
		}
		return &mistake{s, text, nil}
	}
	if s.isWhole && lacking != nil {
		return &mistake{s, fmt.Sprintf("%s lacks %v, which has it", text, lacking.ID), lacking}
	}
	return nil
}

// countsOnly fails if a page counts items on all pages that the filter does not select: those of the test are among all others.
func (f *filter) countsOnly(s *selection) {
	others := 0
	for _, shown := range f.shown {
		if selects, isOpen := s.selectsAll(shown); !selects && !isOpen {
			others++
		}
	}
	f.page(f.first())
	total, all := s.total, totalIn(f.list, f.last)
	f.Require(total+others <= all, "a list with %s=%v says that there are %d of %d, but %d have another value", s.asked[0].Parameter, s.asked[0].value, total, all, others)
}

// accuse ends the test if something is wrong. What the list lacks without the filter, too, is not for the filter to find.
func (f *filter) accuse(wrong *mistake) {
	if wrong == nil {
		return
	}
	if wrong.lacking != nil && !listedTo(f.Trial, f.list, wrong.lacking).hasEffect {
		f.NotTested("the list lacks it without the filter, too")
	}
	f.Check(scenario.Broken{Rank: scenario.Behaviour, Message: wrong.message, Shown: &wrong.shows})
}

// guess ends the test of a guess that is wrong if another meaning is right, or if the filter selects nothing.
func (f *filter) guess(by resources.Filter, all []*selection) {
	for _, meaning := range resources.Meanings {
		if f.wrong(meaning, all) == nil {
			by.Meaning = meaning
			f.NotTested(scenario.NotTested(fmt.Sprintf("%s may have another meaning; if it is right, the options need %s", by.Parameter, f.declared(by))))
		}
	}
	if !slices.ContainsFunc(all, func(s *selection) bool { return len(s.ids) > 0 }) {
		f.NotTested(scenario.NotTested(by.Parameter + " selects nothing: it may have another meaning"))
	}
}

// declared is the list as the options have it, with a filter that has another meaning.
func (f *filter) declared(by resources.Filter) string {
	list := f.list.List
	list.Filters = maps.Clone(list.Filters)
	list.Filters[by.Parameter] = by.String()
	return string(jsonvalue.Encode(map[string]any{"Lists": []scenario.List{list}}))
}

// mostTogether is how many filters of a list are tested together with each other one.
const mostTogether = 12

// together asks for each two of some filters at the same time. One thing has all values that are asked for, one for each
// filter has another value of its member, and one has other values of all.
//
//	GET /tools?kind=a&size=1     must have only what has both
func (t *listTest) together(filters []resources.Filter) {
	f := &filter{listTest: t}
	drawn, all, none := map[string][]any{}, map[string]any{}, map[string]any{}
	var usable []resources.Filter
	for _, by := range filters[:min(len(filters), mostTogether)] {
		if drawn[by.Member] == nil {
			drawn[by.Member] = f.drawn(by)
		}
		if values := drawn[by.Member]; values != nil {
			all[by.Member] = f.sent(by, values[0])
			usable = append(usable, by)
		}
	}
	f.create(all)
	var asked []wanted
	for _, by := range usable {
		value, unwanted := bothSides(by, drawn[by.Member])
		none[by.Member] = f.sent(by, unwanted)
		one := maps.Clone(all)
		one[by.Member] = none[by.Member]
		f.create(one)
		if !by.Meaning.IsOrder() {
			value = f.askedFor(by, 0, value)
		}
		asked = append(asked, wanted{by, value})
	}
	f.create(none)
	for i, one := range asked {
		for _, other := range asked[i+1:] {
			f.areBoth(one, other)
		}
	}
}

// areBoth fails if a list with two filters has not what both select, unless one of them is wrong alone: another test finds that.
func (f *filter) areBoth(one, other wanted) {
	limit := f.list.LongestPage()
	wrong := f.judge(f.search(limit, one, other))
	if wrong == nil {
		return
	}
	for _, alone := range []wanted{one, other} {
		if f.judge(f.search(limit, alone)) != nil {
			f.NotTested(scenario.NotTested(alone.Parameter + " alone is wrong"))
		}
	}
	f.accuse(wrong)
}
