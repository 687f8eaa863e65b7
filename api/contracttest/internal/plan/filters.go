package plan

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// How a filter is tested: three resources are created, of which the first and the third have one value and
// the second has another. Both values are drawn, so that nothing else has them. A list by the first value
// must have two of the three, a list by the second one must have the other.
//
// The first value is lower than all others where the schema allows that. So a parameter that selects what
// is at least as large, or at most, leaks on one side only, and is told from one that selects nothing at
// all.

// filter is a test of a parameter that selects items by a member. It creates resources with two values
// of the member, the first one twice, and lists by each value.
//
// Of an inferred filter only what fits no meaning of its name is wrong: that it finds both lower and
// higher values, or that it finds some items with a value and lacks others.
//
//	POST /tools {"kind": "a"}, {"kind": "b"}, {"kind": "a"}   201 with the ids 7, 8, 9
//	GET /tools?kind=a                                         must have 7 and 9, and not 8
type filter struct {
	*listTest
	parameter, member string
	values            []any // of the things

	leaksLower, leaksHigher string    // an item with another value
	lacks                   [2]string // an item that it should have
	found                   int       // how many of the things
}

// filter returns a filter, and creates three resources for it.
func (t *listTest) filter(parameter string) *filter {
	f := &filter{listTest: t, parameter: parameter, member: t.list.Filters[parameter]}
	for i := range 3 {
		f.create(i)
	}
	return f
}

// filters tests a filter.
func (t *listTest) filters(parameter string) {
	f := t.filter(parameter)
	for i := range 2 {
		for _, limit := range []int{t.list.PageSize(1), t.list.LongestPage()} {
			f.search(i, limit)
		}
	}
	f.verdict()
	if !f.list.IsInferred {
		f.all(f.list.LongestPage(), false, f.things...)
	}
}

// property is the schema of the member in the body of a create, from which the values are drawn: a list may show
// the member with another schema.
func (f *filter) property() *schema.Schema {
	return f.Draft.Values.WithoutNull(f.Draft.Values.Property(f.list.Resource.Create.ThingSchema(), f.member))
}

// create creates the i-th resource, and sees which value the service has for it. An inferred resource may
// be shown with other values than it was sent, and a filter then goes by those.
func (f *filter) create(i int) {
	value := f.choose(i)
	f.values = append(f.values, value)
	thing := f.list.Resource.Thing(nil)
	thing.Sent = f.Varied(f.list.Resource, thing)
	thing.Sent[f.member] = f.sent(i, value)
	f.things = append(f.things, thing)
	f.Create(thing)
	if !f.list.IsInferred || schema.TypeOf(f.property()) == "array" {
		return
	}
	got, isRead := f.Read(thing)
	if !isRead {
		return
	}
	f.values[i] = f.list.Resource.Shown(got)[f.member]
	isSame := i == 1 && jsonvalue.Same(f.values[1], f.values[0])
	if f.values[i] == nil || isSame {
		f.NotTested(scenario.NotTested("the service has other values of " + f.member + " than a create sends"))
	}
}

// choose returns the value of the i-th resource: the third one has that of the first.
func (f *filter) choose(i int) any {
	if i == 2 {
		return f.values[0]
	}
	element := f.Draft.Values.Scalar(f.property())
	value := f.Draft.Values.Fresh(element, f.values)
	if low, ok := f.Draft.Values.FreshLow(element); ok && i == 0 {
		return low // less than all others
	}
	if i == 1 && jsonvalue.Same(value, f.values[0]) {
		f.NotTested("a test has only one value for it")
	}
	return value
}

// sent is what a create has for a value: an array of it, if the member is one. An array of two shows that a
// filter looks at more than the first item.
func (f *filter) sent(i int, value any) any {
	property := f.property()
	mayHaveMore := property.MaxItems == nil || *property.MaxItems > 1
	switch {
	case schema.TypeOf(property) != "array":
		return value
	case i == 2 && mayHaveMore:
		return []any{f.Draft.Values.Fresh(f.Draft.Values.Scalar(property), f.values), value}
	}
	return f.Draft.Values.Many(property, values.OrNone(property.MinItems), value)
}

// search lists by the i-th value. The things with the value must be found, wherever they are in the list.
func (f *filter) search(i, limit int) {
	query := f.first()
	maps.Copy(query, f.selection(f.values[i]))
	if f.list.Limit != "" {
		query.Set(f.list.Limit, strconv.Itoa(limit))
	}
	s := &filtered{
		filter: f,
		number: i,
		limit:  limit,
		wanted: map[string]bool{fmt.Sprint(f.things[i].ID): true},
		read:   map[string]bool{},
	}
	if i == 0 {
		s.wanted[fmt.Sprint(f.things[2].ID)] = true
	}
	for found := range f.pages(query, false) {
		if s.visit(found) {
			return
		}
	}
}

// selection is the parameter with a value. A parameter that takes several values gets one: whether several mean
// all of them or any, OpenAPI does not say.
func (f *filter) selection(value any) url.Values {
	parameter := f.list.Parameter(f.parameter)
	described, _ := document.ParameterSchema(parameter)
	if shape := f.Draft.Values.WithoutNull(f.Draft.Values.Flatten(described)); schema.TypeOf(shape) == "array" {
		value = []any{value}
	}
	// What cannot be written selects nothing.
	text, _ := document.Written(parameter, value)
	pairs, _ := url.ParseQuery(text)
	return pairs
}

// filtered is a list that is read with a value of the filter.
type filtered struct {
	*filter
	number, limit int
	wanted        map[string]bool // that were not found yet
	read          map[string]bool
	pagesRead     int
}

// fewPages is how many pages with the least limit are read.
const fewPages = 20

// visit looks at a page, until the things that have the value are found, or it is clear what is wrong.
func (s *filtered) visit(found page) (enough bool) {
	for i, item := range found.items {
		s.note(item[s.member])
		s.meet(found.ids[i])
	}
	hasAll := len(s.wanted) == 0
	if !hasAll && found.end == nothing {
		missing := slices.Sorted(maps.Keys(s.wanted))
		s.lacks[s.number] = fmt.Sprintf("a list with %s=%v lacks %v, which has it", s.parameter, s.values[s.number], missing)
	}
	s.pagesRead++
	isDone := hasAll || s.leaksBoth()
	return isDone || s.pagesRead > s.mostPages()
}

// meet notes an item. A declared list must not have it twice; in an inferred one, pages may move while they are
// read.
func (s *filtered) meet(id string) {
	isAgain := s.read[id] && !s.list.IsInferred
	s.Require(!isAgain, "a walk with %s=%d meets %s twice", s.list.Limit, s.limit, id)
	s.read[id] = true
	if s.wanted[id] {
		delete(s.wanted, id)
		s.found++
	}
}

// mostPages is how many pages are read. Short ones show how a filter and pages go together, and few do that.
func (s *filtered) mostPages() int {
	if s.limit < s.list.LongestPage() {
		return fewPages
	}
	return values.Most
}

// note notes that the list has an item which the filter may not select.
func (s *filtered) note(have any) {
	want := s.values[s.number]
	if s.selects(have, want) {
		return
	}
	leak := fmt.Sprintf("a list with %s=%v has an item with %s %v", s.parameter, want, s.member, have)
	if isLess(have, want) {
		s.leaksLower = leak
	} else {
		s.leaksHigher = leak
	}
}

// leaksBoth reports whether the filter has no meaning at all: it finds lower and higher values.
func (f *filter) leaksBoth() bool { return f.leaksLower != "" && f.leaksHigher != "" }

// verdict says what is wrong with the filter. It waits for all lists, because one alone does not tell a filter
// that selects nothing from one with another meaning.
func (f *filter) verdict() {
	wrong := cmp.Or(f.leaksLower, f.leaksHigher, f.lacks[0], f.lacks[1])
	leaksNothing := f.leaksLower+f.leaksHigher == ""
	findsSome := leaksNothing && f.found > 0
	isCertain := f.leaksBoth() || findsSome
	if f.list.IsInferred && !isCertain { // then something is wrong
		f.NotTested(scenario.NotTested(wrong + ": it may have another meaning"))
	}
	f.Require(wrong == "", "%s", wrong)
}

// selects reports whether a filter may select an item that has a value. An inferred one may also look for a
// part of it, in any case. An array has a value if one of its items does.
func (f *filter) selects(have, want any) bool {
	if all, isArray := have.([]any); isArray {
		return slices.ContainsFunc(all, func(have any) bool { return f.selects(have, want) })
	}
	one := fmt.Sprint(have)
	other := fmt.Sprint(want)
	if !f.list.IsInferred {
		return one == other
	}
	return strings.Contains(strings.ToLower(one), strings.ToLower(other))
}

// isLess reports whether a value, or one of an array, is less than another one: as a number where both are
// numbers, else as text.
func isLess(have, want any) bool {
	if all, isArray := have.([]any); isArray {
		return slices.ContainsFunc(all, func(have any) bool { return isLess(have, want) })
	}
	one := fmt.Sprint(have)
	other := fmt.Sprint(want)
	number, err := strconv.ParseFloat(one, 64)
	otherNumber, otherErr := strconv.ParseFloat(other, 64)
	if err == nil && otherErr == nil {
		return number < otherNumber
	}
	return one < other
}
