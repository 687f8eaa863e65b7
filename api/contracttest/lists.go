package contracttest

import (
	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	sch "github.com/plantstore/plantstore/api/contracttest/internal/schema"

	"cmp"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// lister is a list operation with what it lists.
type lister struct {
	List
	route    *document.Operation
	resource *resource
	inferred bool
}

// findLists finds the lists that the options declare, and infers others.
func (s *suite) findLists() {
	for _, list := range s.contract.options.Lists {
		r := s.document.Operation(list.Operation)
		if x := s.resourceOf(s.document.Operation(list.Create)); r != nil && x != nil {
			s.lists = append(s.lists, lister{list, r, x, false})
		}
	}
	s.inferLists()
}

func (s *suite) listEffects(l lister) (all []Case) {
	add := func(parameter, promise string, try func(v *Session)) {
		if l.parameter(parameter) != nil {
			all = append(all, newCase(promise, try))
		}
	}
	for _, parameter := range slices.Sorted(maps.Keys(l.Filters)) {
		add(parameter, effectPromise(l.route, parameter), func(v *Session) { v.filters(l, parameter, l.Filters[parameter]) })
	}
	add(l.Limit, effectPromise(l.route, l.Limit), func(v *Session) { v.limits(l) })
	for _, way := range []string{l.After, l.Offset, l.Page} {
		add(way, effectPromise(l.route, way), func(v *Session) { v.continues(l, way) })
	}
	for _, parameter := range []string{l.Limit, l.Offset, l.Page} {
		if p := l.parameter(parameter); p != nil && sch.Of(p.Schema).Default != nil {
			add(parameter, l.Operation+", default of parameter "+parameter, func(v *Session) { v.defaultOf(l, p) })
		}
	}
	if l.hasLink() {
		walk := func(v *Session) { v.walkByLink(l) }
		all = append(all, newCase("sequence, a walk by Link meets every resource once", walk))
	}
	all = append(all, newCase("sequence, "+l.Operation+" shows what exists", func(v *Session) { v.showsAll(l) }))
	return all
}

func (l lister) parameter(name string) *openapi3.Parameter { return l.route.Parameter("query", name) }

// hasLink reports whether the list has pages that are connected by Link.
func (l lister) hasLink() bool {
	return l.Limit != "" && l.route.Sends("Link")
}

// fill creates n resources with consecutive identities and returns these.
func (v *Session) fill(l lister, n int) (ids []any) {
	if n > most+1 || l.inferred && n > 102 {
		panic(untried("a page or the default of the limit has more than a test creates"))
	}
	for range n {
		_, id := v.create(l.resource, v.suite.gen.identity(l.resource.schema))
		ids = append(ids, id)
	}
	return ids
}

// list lists with a query and returns the items and their identities.
func (v *Session) list(l lister, query url.Values) (items []map[string]any, ids []string) {
	got := v.send(l.route, l.route.Template, v.pairs(l, query), http.Header{}, nil)
	v.Accepted(got)
	return v.items(l, got)
}

// pairs is a query with what the operation requires.
func (v *Session) pairs(l lister, query url.Values) (pairs []string) {
	for _, pair := range v.required(l.route, http.Header{}) {
		if name, _, _ := strings.Cut(pair, "="); !query.Has(name) {
			pairs = append(pairs, pair)
		}
	}
	if len(query) > 0 {
		pairs = append(pairs, query.Encode())
	}
	return pairs
}

func (v *Session) items(l lister, x Interaction) (items []map[string]any, ids []string) {
	value, _ := jsonvalue.Decode(x.Body)
	if object, ok := value.(map[string]any); ok && l.Items != "" {
		value = object[l.Items]
	}
	array, ok := value.([]any)
	if !ok {
		v.Failf("the response is not a list: %.300s", x.Body)
	}
	for _, item := range array {
		object, ok := item.(map[string]any)
		if !ok {
			v.Failf("the list has an item that is not an object: %.300s", x.Body)
		}
		items, ids = append(items, object), append(ids, fmt.Sprint(object[l.ID]))
	}
	return items, ids
}

// from begins a query before an identity, where the list can do that: where it is a number
// that the test has chosen. All others may be anywhere in the list: see all.
func (l lister) from(id any) url.Values {
	query := url.Values{}
	if n, ok := id.(int64); ok && l.inOrder() {
		query.Set(l.After, strconv.FormatInt(n-1, 10))
	}
	return query
}

// inOrder reports whether resources that a test creates follow each other in the list.
func (l lister) inOrder() bool {
	return !l.inferred && l.After != "" && l.Next == "" && !l.resource.assigned && l.resource.schema.Type.Is("integer")
}

// page is a part of a list.
type page struct {
	items []map[string]any
	ids   []string
	end   pageEnd
}

// pageEnd says what follows a page.
type pageEnd int

const (
	another pageEnd = iota
	nothing
	unknown // there may be more, and no way leads there
)

// pages reads a list page by page. It goes on as Link or Next say; without them, or if byAfter is
// set, after the last item, or by Offset or Page.
func (v *Session) pages(l lister, query url.Values, byAfter bool) iter.Seq[page] {
	return func(yield func(page) bool) {
		limit, _ := strconv.Atoi(query.Get(l.Limit))
		number, offset := 1, 0
		if p := l.parameter(l.Page); p != nil {
			if n, err := strconv.Atoi(fmt.Sprint(sch.Of(p.Schema).Default)); err == nil {
				number = n
			}
		}
		for path, pairs := l.route.Template, v.pairs(l, query); ; {
			got := v.send(l.route, path, pairs, http.Header{}, nil)
			v.Accepted(got)
			items, ids := v.items(l, got)
			var value any = got.Object()
			for name := range strings.SplitSeq(l.Next, "/") {
				value = jsonvalue.Object(value)[name]
			}
			next := fmt.Sprint(cmp.Or(value, any("")))
			link, leadsTo, end := linkTarget.FindStringSubmatch(got.Header.Get("Link")), "", another
			switch {
			case link != nil && !byAfter && len(ids) > 0:
				leadsTo = link[1]
			case l.Next != "" && (strings.HasPrefix(next, "/") || strings.HasPrefix(next, "http")):
				leadsTo = next
			case l.Next != "" && l.After != "" && next != "":
				query.Set(l.After, next)
			case l.Next != "" && l.After != "", len(ids) == 0:
				end = nothing
			case (byAfter || !l.hasLink()) && l.After != "":
				query.Set(l.After, ids[len(ids)-1])
			case l.Offset != "":
				offset += len(ids)
				query.Set(l.Offset, strconv.Itoa(offset))
			case l.Page != "":
				number++
				query.Set(l.Page, strconv.Itoa(number))
			case l.Limit != "" && len(ids) == limit && !l.hasLink(), l.inferred && len(ids)%5 == 0: // as if a page were full
				end = unknown
			default:
				end = nothing
			}
			if pairs = v.pairs(l, query); leadsTo != "" {
				path, pairs = v.leadsTo(got, leadsTo)
			}
			if !yield(page{items, ids, end}) || end != another {
				return
			}
		}
	}
}

// all reads the list, page by page, to resources that were created one after the other. It
// fails if the list lacks one, has one twice, or does not have consecutive numbers in their
// order. It returns the items by identity.
func (v *Session) all(l lister, limit int, byAfter bool, ids []any) map[string]map[string]any {
	query, seen, met := l.from(ids[0]), map[string]map[string]any{}, []string{}
	if l.Limit != "" {
		query.Set(l.Limit, strconv.Itoa(limit))
	}
	for p := range v.pages(l, query, byAfter) {
		if l.Limit != "" && len(p.ids) > limit {
			v.Failf("a page with %s=%d has %d items", l.Limit, limit, len(p.ids))
		}
		for i, id := range p.ids {
			if seen[id] != nil {
				v.Failf("the pages of the list have %s twice: %v", id, p.ids)
			}
			seen[id] = p.items[i]
		}
		met = append(met, p.ids...)
		lacks := slices.IndexFunc(ids, func(id any) bool { return seen[fmt.Sprint(id)] == nil })
		switch {
		case lacks < 0:
			if want := fmt.Sprint(ids); l.inOrder() && fmt.Sprint(met[:len(ids)]) != want {
				v.Failf("a walk with %s=%d meets %v, want %s", l.Limit, limit, met, want)
			}
			return seen
		case p.end == unknown:
			panic(untried("the list has more items than a page, and there is no way to the next one"))
		case p.end == nothing && l.inferred && l.partly():
			panic(untried("its description leaves open whether it has everything"))
		case p.end == nothing:
			v.Failf("the list ends after %d resources, and lacks %v", len(seen), ids[lacks])
		case len(met) > 100*most:
			panic(untried("the list is longer than a test reads"))
		}
	}
	return seen
}

// partly reports whether the document leaves open if the list has all resources.
func (l lister) partly() bool {
	if partly.MatchString(l.route.Spec.Summary + " " + l.route.Spec.Description) {
		return true
	}
	return slices.ContainsFunc(l.route.Parameters, func(p *openapi3.Parameter) bool {
		return p.In == "query" && sch.Of(p.Schema).Default != nil && !slices.Contains([]string{l.Limit, l.After, l.Offset, l.Page}, p.Name)
	})
}

// pageSize is a limit that the list allows, as near as can be.
func (l lister) pageSize(want int) int {
	if p := l.parameter(l.Limit); p != nil {
		low, high := limits(sch.Of(p.Schema))
		return int(min(max(low, int64(want)), high))
	}
	return want
}

// longestPage is the largest limit of a list.
func (l lister) longestPage() int { return l.pageSize(most) }

// limits lists with limits below the number of resources that exist. A page of an inferred list
// may have less than its limit, but not nothing.
func (v *Session) limits(l lister) {
	least := l.pageSize(1)
	ids := v.fill(l, least+2)
	for limit := least; limit <= l.pageSize(least+2); limit++ {
		query := l.from(ids[0])
		query.Set(l.Limit, strconv.Itoa(limit))
		items, _ := v.list(l, query)
		if len(items) == 0 && l.inferred && (l.partly() || l.Next != "") {
			panic(untried("a page of the list is empty"))
		}
		if len(items) != limit && (!l.inferred || len(items) > limit || len(items) == 0) {
			v.Failf("a list of at least %d with %s=%d has %d items", len(ids), l.Limit, limit, len(items))
		}
	}
}

// continues lists what follows resources, page by page.
func (v *Session) continues(l lister, way string) {
	size := l.pageSize(2)
	ids := v.fill(l, size+1)
	if !l.inOrder() {
		if byLink := l.inferred && l.hasLink(); byLink || l.Next != "" || way != l.After {
			v.all(l, l.longestPage(), false, ids)
			v.all(l, size, false, ids) // last: a long page may hold all
			if at, _ := v.last.ParsedURL(); !at.Query().Has(way) {
				panic(untried("no page leads to the next one with it"))
			}
			return
		}
		v.all(l, size, true, ids)
		return
	}
	for i, id := range ids {
		_, found := v.list(l, url.Values{l.After: {fmt.Sprint(id)}})
		for j, other := range ids {
			if slices.Contains(found, fmt.Sprint(other)) != (j > i) {
				v.Failf("a list with %s=%v and the resources %v has %v", l.After, id, ids, found)
			}
		}
	}
}

// defaultOf lists without a parameter: it must be as with the default.
func (v *Session) defaultOf(l lister, p *openapi3.Parameter) {
	n, err := strconv.Atoi(fmt.Sprint(p.Schema.Value.Default))
	if err != nil {
		panic(untried("the default is not a number"))
	}
	exist := 2
	if p.Name == l.Limit {
		exist = n + 1
	}
	ids := v.fill(l, exist)
	items, found := v.list(l, l.from(ids[0]))
	query := l.from(ids[0])
	query.Set(p.Name, strconv.Itoa(n))
	_, same := v.list(l, query)
	if len(found) != len(same) || !l.inferred && !slices.Equal(found, same) || p.Name == l.Limit && len(items) != n && !l.inferred {
		v.Failf("a list without %s has %d items, with the default %d it has %d", p.Name, len(items), n, len(same))
	}
}

// walkByLink creates resources and walks to them, with every size of page.
func (v *Session) walkByLink(l lister) {
	ids := v.fill(l, 5)
	sizes := []int{1, 2, 3, 4, 5}
	if !l.inOrder() { // the walk begins with all the others
		sizes = []int{2, l.longestPage()}
	}
	for _, limit := range sizes {
		v.all(l, l.pageSize(limit), false, ids)
	}
}

// showsAll creates, changes and deletes resources. The list must show what reads show.
func (v *Session) showsAll(l lister) {
	ids := v.fill(l, 3)
	before := v.all(l, l.longestPage(), false, ids)[fmt.Sprint(ids[0])]
	x := l.resource
	if x.uses[http.MethodPut] != nil {
		v.change(x.uses[http.MethodPut], ids[0])
	}
	if x.uses[http.MethodDelete] != nil {
		v.Accepted(v.on(x.uses[http.MethodDelete], ids[1], nil, nil))
	}
	items := v.all(l, l.longestPage(), false, []any{ids[0], ids[2]})
	if x.uses[http.MethodDelete] != nil && items[fmt.Sprint(ids[1])] != nil {
		if after := v.read(x, ids[1]); after.Status == http.StatusNotFound {
			v.Failf("%v was deleted, but the list has %v", ids[1], items[fmt.Sprint(ids[1])])
		}
	}
	_, body := x.create.Body()
	whole := v.suite.sameSchema(l)
	for _, id := range []any{ids[0], ids[2]} {
		read, item := v.read(x, id).Object(), items[fmt.Sprint(id)]
		for _, name := range v.suite.names(body) {
			have, there := item[name]
			stale := id == ids[0] && jsonvalue.Same(have, before[name])
			if want, known := read[name]; there && known && !jsonvalue.Same(have, want) && (whole || stale) {
				v.Failf("%v has %s = %v, but in the list it is %v", id, name, want, have)
			}
		}
	}
}

// sameSchema reports whether a list shows resources as reads show them.
func (s *suite) sameSchema(l lister) bool {
	array := s.gen.flatten(s.result(l.route))
	if l.Items != "" {
		array = s.property(array, l.Items)
	}
	return array.Items != nil && array.Items.Value == s.result(l.resource.uses[http.MethodGet])
}
