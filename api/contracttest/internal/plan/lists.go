package plan

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

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
			all = append(all, p.testOf(c.promise, func(t *draft.Trial) { c.run(&listTest{Trial: t, list: l}, c.promise.Place) }))
		}
	}
	return all
}

// listCase is a promise of a list with its test, which gets the parameter that the promise is about, if it is about one.
type listCase struct {
	promise scenario.Promise
	run     func(t *listTest, parameter string)
}

// casesOf are the promises of a list, those of its parameters first.
func casesOf(l *resources.List) (all []listCase) {
	all = filterCases(l)
	all = append(all, effectOf(l, l.Limit, (*listTest).limits)...)
	for _, way := range []string{l.After, l.Offset, l.Page} {
		all = append(all, effectOf(l, way, (*listTest).continues)...)
	}
	for _, name := range []string{l.Limit, l.Offset, l.Page} {
		all = append(all, defaultCaseOf(l, name)...)
	}
	if l.HasLink() {
		all = append(all, listCase{scenario.Promise{Kind: scenario.WalkByLink}, (*listTest).walkByLink})
	}
	return append(all, listCase{scenario.Promise{Operation: l.Operation, Kind: scenario.ListShowsAll}, (*listTest).showsAll})
}

// effectOf is the case of what a parameter does; none, if the document does not have it: the options may name any.
func effectOf(l *resources.List, parameter string, run func(*listTest, string)) []listCase {
	if l.Parameter(parameter) == nil {
		return nil
	}
	return []listCase{{scenario.Effect(l.Operation, parameter), run}}
}

// defaultCaseOf is the case of what a list has without a parameter; none, if the document gives that no default.
func defaultCaseOf(l *resources.List, name string) []listCase {
	parameter := l.Parameter(name)
	if parameter == nil || schema.DefaultOf(parameter.Schema) == nil {
		return nil
	}
	return []listCase{{scenario.Default(l.Operation, name), (*listTest).defaultOf}}
}

// listTest is a test of a list in one run.
type listTest struct {
	*draft.Trial
	list   *resources.List
	things []*scenario.Thing    // that it has created, one after the other
	last   scenario.Interaction // the last page that was read
}

// mostOfInferred is how many resources a test creates for an inferred list.
const mostOfInferred = 102

// fill creates n resources with consecutive identities, one after the other, because that is what their order in the
// list depends on.
func (t *listTest) fill(n int) {
	most := values.Most + 1
	if t.list.IsInferred {
		most = mostOfInferred
	}
	if n > most {
		t.NotTested("a page or the default of the limit has more than a test creates")
	}
	for range n {
		t.things = append(t.things, t.CreateOf(t.list.Resource))
	}
}

// idsOf are the identities of some things, as those of a page are written.
func idsOf(things []*scenario.Thing) (ids []string) {
	for _, thing := range things {
		ids = append(ids, fmt.Sprint(thing.ID))
	}
	return ids
}

// first begins a query before the first thing, so that not all that others have created must be read.
func (t *listTest) first() url.Values { return t.list.From(t.things[0].ID) }

// withLimit is first with a limit, if the list has a parameter for one.
func (t *listTest) withLimit(limit int) url.Values {
	query := t.first()
	if t.list.Limit != "" {
		query.Set(t.list.Limit, strconv.Itoa(limit))
	}
	return query
}

// page reads one page.
func (t *listTest) page(query url.Values) (first page) {
	for found := range t.pages(query, false) {
		first = found
		break
	}
	return first
}

// all reads the list, page by page, until it has met some things, the first of which is the first of the test. It returns the
// items that it has met, by identity. It fails if the list lacks one of the things, has an item twice, or is not in the order
// of the things although it has one. With byAfter, each page is asked for by the last item of the one before.
func (t *listTest) all(limit int, byAfter bool, things ...*scenario.Thing) map[string]map[string]any {
	s := search{listTest: t, limit: limit, wanted: idsOf(things), seen: map[string]map[string]any{}}
	for found := range t.pages(t.withLimit(limit), byAfter) {
		if s.visit(found) {
			break
		}
	}
	return s.seen
}

// limits lists with limits below the number of resources that exist. A page of an inferred list
// may have less than its limit, but not nothing.
//
//	GET /tools?limit=2           must have 2 items of 3
func (t *listTest) limits(string) {
	least := t.list.PageSize(1)
	t.fill(least + 2)
	for limit := least; limit <= t.list.PageSize(least+2); limit++ {
		t.Check(t.checkLimit(limit, len(t.page(t.withLimit(limit)).items)))
	}
}

// checkLimit says whether a page has as many items as its limit. That of an inferred list may have less, because only the
// service knows what it leaves out; but it may have nothing only if the list is of some things, or a response says what
// follows.
func (t *listTest) checkLimit(limit, size int) error {
	isRight := size == limit
	if t.list.IsInferred {
		isRight = 0 < size && size <= limit
	}
	mayBeEmpty := t.list.IsInferred && (t.list.IsPartial() || t.list.Next != "")
	if mayBeEmpty && size == 0 {
		return scenario.NotTested("a page of the list is empty")
	}
	return scenario.Require(isRight, "a list of at least %d with %s=%d has %d items", len(t.things), t.list.Limit, limit, size)
}

// continues lists what follows resources. In a list in their order, that is compared for each of them. In other lists, a walk
// through all pages must meet the resources, and the parameter must have been a part of the walk.
func (t *listTest) continues(way string) {
	size := t.list.PageSize(2)
	t.fill(size + 1)
	if t.list.InOrder() {
		for i := range t.things {
			t.follows(i)
		}
		return
	}
	followsLink := t.list.IsInferred && t.list.HasLink()
	isIdentity := way == t.list.After && t.list.Next == "" // and not what a response says
	if isIdentity && !followsLink {
		t.all(size, true, t.things...)
		return
	}
	// The short pages come last: a long one may hold all.
	t.all(t.list.LongestPage(), false, t.things...)
	t.all(size, false, t.things...)
	if address, err := t.last.ParsedURL(); err != nil || !address.Query().Has(way) {
		t.NotTested("no page leads to the next one with it")
	}
}

// follows lists what follows one of the things: those that were created later, and not the thing itself.
func (t *listTest) follows(i int) {
	ids := idsOf(t.things)
	found := t.page(url.Values{t.list.After: {ids[i]}})
	for j, other := range ids {
		isRight := slices.Contains(found.ids, other) == (j > i)
		t.Require(isRight, "a list with %s=%v and the resources %v has %v", t.list.After, ids[i], ids, found.ids)
	}
}

// defaultOf lists without a parameter, which must be as with the default. As many items exist as the default of the limit,
// and one more, or else any larger default would do. Of an inferred list only the sizes are compared.
func (t *listTest) defaultOf(name string) {
	parameter := t.list.Parameter(name)
	number, err := strconv.Atoi(fmt.Sprint(schema.DefaultOf(parameter.Schema)))
	// Some documents say that there is no limit by -1.
	if err != nil || number < 0 {
		t.NotTested("the default is not a number of items")
	}
	exist := 2
	isLimit := parameter.Name == t.list.Limit
	if isLimit {
		exist = min(number, values.Most+1) + 1 // the largest integer has none after it
	}
	t.fill(exist)
	without := t.page(t.first())
	query := t.first()
	query.Set(parameter.Name, strconv.Itoa(number))
	with := t.page(query)
	isSame := len(with.ids) == len(without.ids)
	if !t.list.IsInferred {
		isFull := !isLimit || len(without.ids) == number
		isSame = isFull && slices.Equal(with.ids, without.ids)
	}
	t.Require(isSame, "a list without %s has %d items, with the default %d it has %d", parameter.Name, len(without.ids), number, len(with.ids))
}

// walkByLink creates resources and walks to them with pages of every size, because items are lost at the ends of pages. Where
// the walk begins with what others have created, there are two sizes only: it would take long.
//
//	GET /tools?limit=2           200 [7, 8], Link: </tools?limit=2&after=8>; rel="next"
//	GET /tools?limit=2&after=8   200 [9]
func (t *listTest) walkByLink(string) {
	t.fill(5)
	sizes := []int{1, 2, 3, 4, 5}
	if !t.list.InOrder() {
		sizes = []int{2, t.list.LongestPage()}
	}
	for _, limit := range sizes {
		t.all(t.list.PageSize(limit), false, t.things...)
	}
}

// showsAll creates, changes and deletes resources. The list must show what reads show. A list that is kept
// beside the resources, as a cache is, goes wrong here.
func (t *listTest) showsAll(string) {
	t.fill(3)
	changed := t.things[0]
	deleted := t.things[1]
	kept := t.things[2]
	before := t.all(t.list.LongestPage(), false, t.things...)
	x := t.list.Resource
	if x.Operations[http.MethodPut] != nil {
		changeThing(t.Trial, http.MethodPut, changed)
	}
	canDelete := x.Operations[http.MethodDelete] != nil
	if canDelete {
		deleteNow(t.Trial, deleted)
	}
	items := t.all(t.list.LongestPage(), false, changed, kept)
	if canDelete {
		t.isNotListed(deleted, items[fmt.Sprint(deleted.ID)], before[fmt.Sprint(deleted.ID)])
	}
	t.showsSame(changed, items, before[fmt.Sprint(changed.ID)])
	t.showsSame(kept, items, nil)
}

// isNotListed fails if the list has something that no longer exists. It reads the thing once more: a service may
// keep what was deleted, and show it in both places. If nothing reads it, the list must at least show it otherwise.
func (t *listTest) isNotListed(deleted *scenario.Thing, item, before map[string]any) {
	if item == nil {
		return
	}
	after, isRead := t.Read(deleted)
	exists := after.Status != http.StatusNotFound
	if !isRead {
		exists = !jsonvalue.Same(item, before)
	}
	t.Require(exists, "%v was deleted, but the list has %v", deleted.ID, item)
}

// showsSame fails if a read shows a thing otherwise than the list does.
func (t *listTest) showsSame(thing *scenario.Thing, items map[string]map[string]any, before map[string]any) {
	if got, isRead := t.Read(thing); isRead {
		t.Check(t.checkItem(thing, t.list.Resource.Shown(got), items[fmt.Sprint(thing.ID)], before))
	}
}

// checkItem compares an item of the list with what a read shows. If the document gives them different schemas, they may
// differ: then only what is still as it was in the list before a change is wrong.
func (t *listTest) checkItem(thing *scenario.Thing, read, item, before map[string]any) error {
	for _, name := range t.Values.Names(t.list.Resource.Create.ThingSchema()) {
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
	item := schema.At(result, t.list.ItemsAt()+"/0"+t.list.Item.Members)
	return schema.IsSame(item, get.ThingResult())
}
