package plan

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/contracttest/internal/draft"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// How a list is tested: a test creates some resources of its own and looks for them. It never counts what
// the list has, because other tests and other clients of the service create things at the same time. Where
// the list is in the order of identities that a test chooses, it begins just before its own ones; all other
// lists are read from their beginning, page by page, until the wanted ones have been met.

// listTests returns the tests of what the parameters of lists do, and of what lists show.
func (p *Planner) listTests() (all []Test) {
	for _, l := range p.Resources.Lists {
		for _, c := range append(casesOf(l), p.countsOf(l)...) {
			all = append(all, p.testOf(c.promise, func(d *draft.Draft) []scenario.Step {
				return c.steps(&listTest{Draft: d, list: l})
			}))
		}
	}
	return all
}

// listCase is a promise of a list, and what shows it.
type listCase struct {
	promise scenario.Promise
	steps   func(*listTest) []scenario.Step
}

// casesOf are the promises of a list, those of its parameters first.
func casesOf(l *resources.List) (all []listCase) {
	for _, filter := range slices.Sorted(maps.Keys(l.Filters)) {
		all = append(all, effectOf(l, filter, func(t *listTest) []scenario.Step { return t.filters(filter) })...)
	}
	all = append(all, effectOf(l, l.Limit, (*listTest).limits)...)
	for _, way := range []string{l.After, l.Offset, l.Page} {
		all = append(all, effectOf(l, way, func(t *listTest) []scenario.Step { return t.continues(way) })...)
	}
	for _, name := range []string{l.Limit, l.Offset, l.Page} {
		all = append(all, defaultCaseOf(l, name)...)
	}
	if l.HasLink() {
		all = append(all, listCase{scenario.Promise{Kind: scenario.WalkByLink}, (*listTest).walkByLink})
	}
	return append(all, listCase{scenario.Promise{Operation: l.Operation, Kind: scenario.ListShowsAll}, (*listTest).showsAll})
}

// effectOf is what a parameter does, if the document has it: the options may name one that it does not have.
func effectOf(l *resources.List, parameter string, steps func(*listTest) []scenario.Step) []listCase {
	if l.Parameter(parameter) == nil {
		return nil
	}
	return []listCase{{scenario.Effect(l.Operation, parameter), steps}}
}

// defaultCaseOf is what a list is without a parameter, if the document says which default it has.
func defaultCaseOf(l *resources.List, name string) []listCase {
	parameter := l.Parameter(name)
	if parameter == nil || schema.Of(parameter.Schema).Default == nil {
		return nil
	}
	steps := func(t *listTest) []scenario.Step { return t.defaultOf(parameter) }
	return []listCase{{scenario.Default(l.Operation, name), steps}}
}

// listTest is a test of a list in one run.
type listTest struct {
	*draft.Draft
	list   *resources.List
	things []*scenario.Thing // that it has created, one after the other
}

// mostOfInferred is how many resources a test creates for an inferred list.
const mostOfInferred = 102

// fill creates n resources with consecutive identities. They are created when the step is executed, one
// after the other, because that is what their order in the list depends on.
func (t *listTest) fill(n int) (steps []scenario.Step) {
	most := values.Most + 1
	if t.list.IsInferred {
		most = mostOfInferred
	}
	if n > most {
		return draft.Untried("a page or the default of the limit has more than a test creates")
	}
	for range n {
		thing := t.list.Resource.Thing(nil)
		t.things = append(t.things, thing)
		steps = append(steps, scenario.Step{Create: thing})
	}
	return steps
}

// ids are the identities of the things.
func (t *listTest) ids() (ids []any) {
	for _, thing := range t.things {
		ids = append(ids, thing.ID)
	}
	return ids
}

// first begins a query before the first thing, so that not all that others have created must be read.
func (t *listTest) first() url.Values { return t.list.From(t.things[0].ID) }

// one is a step that reads one page. The query is made when the step is executed, because it may need the
// identities of things that are created before.
func (t *listTest) one(query func() url.Values, visit func(page) error) scenario.Step {
	return scenario.Later(func() []scenario.Step {
		return []scenario.Step{t.pages(t.list, query(), false, func(found page) (bool, error) {
			return true, visit(found)
		})}
	})
}

// all is a step that reads the list, page by page, to some things. It fails if the list lacks one, has
// one twice, or does not have consecutive numbers in their order. seen is called with what the list has, if
// it is not nil.
func (t *listTest) all(limit int, byAfter bool, things []*scenario.Thing, seen func(map[string]map[string]any) error) scenario.Step {
	return scenario.Later(func() []scenario.Step {
		query := t.list.From(things[0].ID)
		if t.list.Limit != "" {
			query.Set(t.list.Limit, strconv.Itoa(limit))
		}
		s := search{
			listTest: t,
			limit:    limit,
			seen:     map[string]map[string]any{},
			done:     seen,
		}
		for _, thing := range things {
			s.wanted = append(s.wanted, fmt.Sprint(thing.ID))
		}
		return []scenario.Step{t.pages(t.list, query, byAfter, s.visit)}
	})
}

// limits lists with limits below the number of resources that exist. A page of an inferred list
// may have less than its limit, but not nothing.
//
//	GET /tools?limit=2           must have 2 items of 3
func (t *listTest) limits() []scenario.Step {
	least := t.list.PageSize(1)
	steps := t.fill(least + 2)
	for limit := least; limit <= t.list.PageSize(least+2); limit++ {
		query := func() url.Values {
			query := t.first()
			query.Set(t.list.Limit, strconv.Itoa(limit))
			return query
		}
		steps = append(steps, t.one(query, func(found page) error {
			return t.checkLimit(limit, len(found.items))
		}))
	}
	return steps
}

// checkLimit says whether a page has as many items as its limit. That of an inferred list may have less: what
// it leaves out, only the service knows.
func (t *listTest) checkLimit(limit, size int) error {
	if t.list.IsInferred && size == 0 {
		return t.checkEmpty(limit)
	}
	isRight := size == limit
	if t.list.IsInferred {
		isRight = size <= limit
	}
	return scenario.Require(isRight, "a list of at least %d with %s=%d has %d items", len(t.things), t.list.Limit, limit, size)
}

// checkEmpty says whether a page of an inferred list may have nothing.
func (t *listTest) checkEmpty(limit int) error {
	if t.list.IsPartial() || t.list.Next != "" {
		return scenario.Untried("a page of the list is empty")
	}
	return scenario.Brokenf("a list of at least %d with %s=%d has 0 items", len(t.things), t.list.Limit, limit)
}

// continues lists what follows resources, page by page. Where nothing is in order, a walk through all pages must
// meet the resources, and the parameter must have been a part of it.
func (t *listTest) continues(way string) []scenario.Step {
	size := t.list.PageSize(2)
	steps := t.fill(size + 1)
	if t.list.InOrder() {
		for i := range t.things {
			steps = append(steps, t.follows(i))
		}
		return steps
	}
	byLink := t.list.IsInferred && t.list.HasLink()
	if !byLink && t.list.Next == "" && way == t.list.After {
		return append(steps, t.all(size, true, t.things, nil))
	}
	// The short pages come last: a long one may hold all.
	steps = append(steps, t.all(t.list.LongestPage(), false, t.things, nil), t.all(size, false, t.things, nil))
	return append(steps, scenario.Step{Check: func(last scenario.Interaction) error {
		if address, err := last.ParsedURL(); err == nil && address.Query().Has(way) {
			return nil
		}
		return scenario.Untried("no page leads to the next one with it")
	}})
}

// follows lists what follows one of the things: those that were created later, and not the thing itself.
func (t *listTest) follows(i int) scenario.Step {
	query := func() url.Values { return url.Values{t.list.After: {fmt.Sprint(t.things[i].ID)}} }
	return t.one(query, func(found page) error {
		for j, other := range t.ids() {
			if slices.Contains(found.ids, fmt.Sprint(other)) != (j > i) {
				return scenario.Brokenf("a list with %s=%v and the resources %v has %v", t.list.After, t.things[i].ID, t.ids(), found.ids)
			}
		}
		return nil
	})
}

// defaultOf lists without a parameter: it must be as with the default. As many items exist as the default,
// and one more, or else any larger default would do.
func (t *listTest) defaultOf(parameter *openapi3.Parameter) []scenario.Step {
	number, err := strconv.Atoi(fmt.Sprint(parameter.Schema.Value.Default))
	// Some documents say that there is no limit by -1.
	if err != nil || number < 0 {
		return draft.Untried("the default is not a number of items")
	}
	exist := 2
	isLimit := parameter.Name == t.list.Limit
	if isLimit {
		exist = number + 1
	}
	var without page
	steps := append(t.fill(exist), t.one(t.first, func(found page) error {
		without = found
		return nil
	}))
	with := func() url.Values {
		query := t.first()
		query.Set(parameter.Name, strconv.Itoa(number))
		return query
	}
	return append(steps, t.one(with, func(found page) error {
		isSame := len(found.ids) == len(without.ids)
		if !t.list.IsInferred {
			isFull := !isLimit || len(without.ids) == number
			isSame = isFull && slices.Equal(found.ids, without.ids)
		}
		return scenario.Require(isSame, "a list without %s has %d items, with the default %d it has %d", parameter.Name, len(without.ids), number, len(found.ids))
	}))
}

// walkByLink creates resources and walks to them, with every size of page. Every size of a page is tried,
// because ends of pages are where items are lost.
//
//	GET /tools?limit=2           200 [7, 8], Link: </tools?limit=2&after=8>; rel="next"
//	GET /tools?limit=2&after=8   200 [9]
func (t *listTest) walkByLink() []scenario.Step {
	steps := t.fill(5)
	sizes := []int{1, 2, 3, 4, 5}
	if !t.list.InOrder() { // the walk begins with all the others
		sizes = []int{2, t.list.LongestPage()}
	}
	for _, limit := range sizes {
		steps = append(steps, t.all(t.list.PageSize(limit), false, t.things, nil))
	}
	return steps
}

// showsAll creates, changes and deletes resources. The list must show what reads show. A list that is kept
// beside the resources, as a cache is, goes wrong here.
func (t *listTest) showsAll() []scenario.Step {
	steps := t.fill(3)
	changed := t.things[0]
	deleted := t.things[1]
	kept := t.things[2]
	x := t.list.Resource
	var before map[string]any
	var items map[string]map[string]any
	steps = append(steps, t.all(t.list.LongestPage(), false, t.things, func(seen map[string]map[string]any) error {
		before = seen[fmt.Sprint(changed.ID)]
		return nil
	}))
	if x.Operations[http.MethodPut] != nil {
		steps = append(steps, scenario.Later(func() []scenario.Step {
			return changeThing(t.Draft, http.MethodPut, changed)
		}))
	}
	if x.Operations[http.MethodDelete] != nil {
		steps = append(steps, t.CallAccepted(http.MethodDelete, deleted, nil))
	}
	steps = append(steps, t.all(t.list.LongestPage(), false, []*scenario.Thing{changed, kept}, func(seen map[string]map[string]any) error {
		items = seen
		return nil
	}))
	if x.Operations[http.MethodDelete] != nil {
		steps = append(steps, scenario.Later(func() []scenario.Step {
			return t.isNotListed(deleted, items[fmt.Sprint(deleted.ID)])
		}))
	}
	for _, thing := range []*scenario.Thing{changed, kept} {
		steps = append(steps, t.Read(thing, func(got scenario.Interaction) error {
			old := before
			if thing != changed {
				old = nil
			}
			return t.isShown(thing, got.Object(), items[fmt.Sprint(thing.ID)], old)
		})...)
	}
	return steps
}

// isNotListed fails if the list has something that no longer exists. It reads the thing once more: a service may
// keep what was deleted, and show it in both places.
func (t *listTest) isNotListed(deleted *scenario.Thing, item map[string]any) []scenario.Step {
	if item == nil {
		return nil
	}
	return t.Read(deleted, func(after scenario.Interaction) error {
		exists := after.Status != http.StatusNotFound
		return scenario.Require(exists, "%v was deleted, but the list has %v", deleted.ID, item)
	})
}

// isShown compares an item of the list with what a read shows. If they have different schemas, only what
// is as it was before a change is wrong.
func (t *listTest) isShown(thing *scenario.Thing, read, item, before map[string]any) error {
	for _, name := range t.Values.Names(t.list.Resource.Create.BodySchema()) {
		have, isListed := item[name]
		want, isRead := read[name]
		isComparable := isListed && isRead
		if !isComparable || jsonvalue.Same(have, want) {
			continue
		}
		old, wasListed := before[name]
		isStale := wasListed && jsonvalue.Same(have, old)
		if isStale || t.showsWhole() {
			return scenario.Brokenf("%v has %s = %v, but in the list it is %v", thing.ID, name, want, have)
		}
	}
	return nil
}

// showsWhole reports whether a list shows resources as reads show them: the document gives both the same schema.
func (t *listTest) showsWhole() bool {
	result := t.list.ReadBy.Result()
	get := t.list.Resource.Operations[http.MethodGet]
	if result == nil || get == nil {
		return false
	}
	array := t.Values.Flatten(result)
	if t.list.Items != "" {
		array = t.Values.Property(array, t.list.Items)
	}
	hasItems := array != nil && array.Items != nil
	return hasItems && array.Items.Value == get.Result()
}
