package contracttest

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/getkin/kin-openapi/openapi3"
)

// A parameter that a service accepts and ignores keeps no promise, so each one
// also has the promise that its effect is seen.

func effectPromise(r *route, parameter string) string {
	return fmt.Sprintf("%s, effect of parameter %s", r.operation.OperationID, parameter)
}

func defaultPromise(r *route, parameter string) string {
	return fmt.Sprintf("%s, default of parameter %s", r.operation.OperationID, parameter)
}

// effects returns the tests of what parameters do: conditions by RFC 9110, and
// those of lists as the options say.
func (s *suite) effects() (all []Case) {
	for _, x := range s.resources {
		get := x.uses[http.MethodGet]
		if get == nil || !sendsETag(get) {
			continue
		}
		for _, method := range slices.Sorted(maps.Keys(x.uses)) {
			r := x.uses[method]
			for _, p := range r.parameters {
				if p.In == "header" && (p.Name == "If-Match" || p.Name == "If-None-Match") {
					promise, id := effectPromise(r, p.Name), s.gen.identity(x.schema)
					all = append(all, Case{Name: promise, promises: []string{promise}, try: func(v *Session) { v.condition(x, r, p.Name, id) }})
				}
			}
		}
	}
	for _, list := range s.contract.options.Lists {
		r, create := s.document.operation(list.Operation), s.document.operation(list.Create)
		i := slices.IndexFunc(s.resources, func(x *resource) bool { return x.create == create })
		if r != nil && i >= 0 {
			all = append(all, s.listEffects(lister{list, r, s.resources[i]})...)
		}
	}
	for _, f := range s.feeds {
		all = append(all, f.effects()...)
	}
	return all
}

func sendsETag(r *route) bool {
	response := r.response(http.StatusOK)
	return response != nil && hasHeader(response.Headers, "ETag")
}

// version reads a resource and its ETag, which two reads must agree on.
func (v *Session) version(x *resource, id any) (body []byte, etag string) {
	got := v.read(x, id)
	if etag = got.Header.Get("ETag"); etag == "" {
		v.Failf("a read has no ETag")
	}
	if again := v.read(x, id).Header.Get("ETag"); again != etag {
		v.Failf("two reads of one resource have the ETags %s and %s", etag, again)
	}
	return got.Body, etag
}

// condition tests what a conditional header does (RFC 9110, section 13.1) with
// the version that is current, one that is not any more, another one, and *.
func (v *Session) condition(x *resource, r *route, header string, id any) {
	_, id = v.create(x, id)
	otherLife := ""
	if x.uses[http.MethodDelete] != nil && !x.assigned {
		_, otherLife = v.version(x, id)
		v.remove(x, id)
		v.create(x, id)
	}
	_, stale := v.version(x, id)
	if x.uses[http.MethodPut] != nil {
		v.change(x, id)
		if _, now := v.version(x, id); now == stale {
			v.Failf("a change has left the ETag at %s", stale)
		}
	} else {
		stale = `"stale"`
	}
	for _, c := range []struct {
		value   func(current string) string
		matches bool
	}{
		{func(string) string { return stale }, false},
		{func(string) string { return otherLife }, false},
		{func(current string) string { return current }, true},
		{func(current string) string { return stale + ", " + current }, true},
		{func(string) string { return "*" }, true},
	} {
		before, current := v.version(x, id)
		value := c.value(current)
		if value == "" {
			continue
		}
		got := v.on(r, id, http.Header{header: {value}}, v.plainBody(r))
		switch proceeds := c.matches == (header == "If-Match"); {
		case proceeds && got.Status >= 300:
			v.Failf("%s with %s: %s must proceed, the status is %d: %.300s", r.operation.OperationID, header, value, got.Status, got.Body)
		case proceeds && r.method == http.MethodDelete:
			v.create(x, id)
		case proceeds:
		case r.method == http.MethodGet && header == "If-None-Match":
			if got.Status != http.StatusNotModified {
				v.Failf("%s with %s: %s must be 304, the status is %d", r.operation.OperationID, header, value, got.Status)
			}
		default:
			v.Refused(got, Violation{Kind: PreconditionFailed})
			if after := v.read(x, id); !bytes.Equal(before, after.Body) {
				v.Failf("%s was refused, but the resource has changed from %s to %s", r.operation.OperationID, before, after.Body)
			}
		}
	}
	if r.method == http.MethodPut && x.uses[http.MethodDelete] != nil && !x.assigned {
		v.remove(x, id)
		got := v.on(r, id, http.Header{header: {"*"}}, v.plainBody(r))
		if header == "If-Match" && got.Status == http.StatusNotFound {
			return // it only replaces
		} else if header == "If-Match" {
			v.Refused(got, Violation{Kind: PreconditionFailed})
			if after := v.read(x, id); after.Status != http.StatusNotFound {
				v.Failf("%s was refused, but it has created %s", r.operation.OperationID, after.Body)
			}
		} else if got.Status >= 300 && got.Status != http.StatusNotFound {
			v.Failf("%s with %s: * must create what does not exist, the status is %d", r.operation.OperationID, header, got.Status)
		}
	}
}

// lister is a list operation with what it lists.
type lister struct {
	List
	route    *route
	resource *resource
}

func (s *suite) listEffects(l lister) (all []Case) {
	add := func(parameter, promise string, try func(v *Session)) {
		if parameter != "" && l.route.operation.Parameters.GetByInAndName("query", parameter) != nil {
			all = append(all, Case{Name: promise, promises: []string{promise}, try: try})
		}
	}
	for _, parameter := range slices.Sorted(maps.Keys(l.Filters)) {
		add(parameter, effectPromise(l.route, parameter), func(v *Session) { v.filters(l, parameter, l.Filters[parameter]) })
	}
	add(l.Limit, effectPromise(l.route, l.Limit), func(v *Session) { v.limits(l) })
	add(l.After, effectPromise(l.route, l.After), func(v *Session) { v.continues(l) })
	if p := l.route.operation.Parameters.GetByInAndName("query", l.Limit); p != nil && schemaOf(p.Schema).Default != nil {
		add(l.Limit, defaultPromise(l.route, l.Limit), func(v *Session) { v.defaultLimit(l, p) })
	}
	if l.hasLink() {
		promise := "sequence, a walk by Link meets every resource once"
		all = append(all, Case{Name: promise, promises: []string{promise}, try: func(v *Session) { v.walkByLink(l) }})
	}
	return all
}

// hasLink reports whether the list has pages that are connected by Link.
func (l lister) hasLink() bool {
	response := l.route.response(http.StatusOK)
	return response != nil && hasHeader(response.Headers, "Link") && l.Limit != ""
}

// fill creates n resources with consecutive identities and returns these.
func (v *Session) fill(l lister, n int) (ids []any) {
	for range n {
		_, id := v.create(l.resource, v.suite.gen.identity(l.resource.schema))
		ids = append(ids, id)
	}
	return ids
}

// list lists with a query and returns the items and their identities.
func (v *Session) list(l lister, query url.Values) (items []map[string]any, ids []string) {
	got := v.send(l.route, l.route.template, []string{query.Encode()}, http.Header{}, nil)
	v.Accepted(got)
	return v.items(l, got)
}

func (v *Session) items(l lister, x Interaction) (items []map[string]any, ids []string) {
	value, _ := decode(x.Body)
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
	return l.After != "" && !l.resource.assigned && l.resource.schema.Type.Is("integer")
}

// all reads the list, page by page, to resources that were created one after the other. It
// fails if the list lacks one, has one twice, or does not have consecutive numbers in their
// order. Pages follow each other by After if there is no Link, or if byAfter is set.
func (v *Session) all(l lister, limit int, byAfter bool, ids []any) {
	query, seen, met := l.from(ids[0]), map[string]bool{}, []string{}
	if l.Limit != "" {
		query.Set(l.Limit, strconv.Itoa(limit))
	}
	for path, pairs := l.route.template, []string{query.Encode()}; ; {
		got := v.send(l.route, path, pairs, http.Header{}, nil)
		v.Accepted(got)
		_, found := v.items(l, got)
		if l.Limit != "" && len(found) > limit {
			v.Failf("a page with %s=%d has %d items", l.Limit, limit, len(found))
		}
		for _, id := range found {
			if seen[id] {
				v.Failf("the pages of the list have %s twice: %v", id, found)
			}
			seen[id] = true
		}
		met = append(met, found...)
		lacks := slices.IndexFunc(ids, func(id any) bool { return !seen[fmt.Sprint(id)] })
		link := linkTarget.FindStringSubmatch(got.Header.Get("Link"))
		switch {
		case lacks < 0:
			if want := fmt.Sprint(ids); l.inOrder() && fmt.Sprint(met[:len(ids)]) != want {
				v.Failf("a walk with %s=%d meets %v, want %s", l.Limit, limit, met, want)
			}
			return
		case link != nil && !byAfter && len(found) > 0:
			path, pairs = v.leadsTo(got, link[1])
		case (byAfter || !l.hasLink()) && l.After != "" && len(found) > 0:
			query.Set(l.After, found[len(found)-1])
			pairs = []string{query.Encode()}
		case l.Limit != "" && len(found) == limit && l.After == "" && !l.hasLink():
			panic(untried("the list has more items than a page, and there is no way to the next one"))
		default:
			v.Failf("the list ends after %d resources, and lacks %v", len(seen), ids[lacks])
		}
		if len(met) > 100*most {
			panic(untried("the list is longer than a test reads"))
		}
	}
}

// longestPage is the largest limit of a list.
func (l lister) longestPage() int {
	if p := l.route.operation.Parameters.GetByInAndName("query", l.Limit); p != nil {
		_, high := limits(schemaOf(p.Schema))
		return int(min(high, most))
	}
	return most
}

// filters creates resources with two values of a member and lists by each value.
func (v *Session) filters(l lister, parameter, member string) {
	_, schema := l.resource.create.body()
	property := v.suite.gen.flatten(schema).Properties[member].Value
	ids, values := []any{}, []any{}
	for i := range 3 {
		body, _ := v.plainBody(l.resource.create).(map[string]any)
		id := v.suite.gen.identity(l.resource.schema)
		if i == 2 {
			body[member] = values[0]
		} else {
			body[member] = v.suite.gen.fresh(property, values)
		}
		values = append(values, body[member])
		_, id = v.createAs(l.resource, id, body)
		ids = append(ids, id)
	}
	wantAll := func(items []map[string]any, value any) {
		for _, item := range items {
			if fmt.Sprint(item[member]) != fmt.Sprint(value) {
				v.Failf("a list with %s=%v has an item with %s %v", parameter, value, member, item[member])
			}
		}
	}
	for i, value := range values {
		query := l.from(ids[0])
		query.Set(parameter, fmt.Sprint(value))
		items, found := v.list(l, query)
		wantAll(items, value)
		if !slices.Contains(found, fmt.Sprint(ids[i])) {
			v.Failf("a list with %s=%v lacks %v, which has it: %v", parameter, value, ids[i], found)
		}
	}
	v.all(l, l.longestPage(), false, ids)
	if !l.hasLink() {
		return
	}
	query := l.from(ids[0])
	query.Set(parameter, fmt.Sprint(values[0]))
	query.Set(l.Limit, "1")
	met := map[string]bool{}
	for got := range v.Walk(l.Operation, query) {
		items, found := v.items(l, got)
		wantAll(items, values[0])
		if len(found) != 1 || met[found[0]] {
			v.Failf("a walk by Link with %s=1 meets %v after %v", l.Limit, found, slices.Collect(maps.Keys(met)))
		}
		if met[found[0]] = true; met[fmt.Sprint(ids[0])] && met[fmt.Sprint(ids[2])] {
			return
		}
	}
	v.Failf("a walk by Link with %s=%v, which %v and %v have, ends after %v", parameter, values[0], ids[0], ids[2], slices.Collect(maps.Keys(met)))
}

// limits lists with limits below the number of resources that exist.
func (v *Session) limits(l lister) {
	ids := v.fill(l, 3)
	for limit := 1; limit <= 3; limit++ {
		query := l.from(ids[0])
		query.Set(l.Limit, strconv.Itoa(limit))
		if items, _ := v.list(l, query); len(items) != limit {
			v.Failf("a list of at least 3 with %s=%d has %d items", l.Limit, limit, len(items))
		}
	}
}

// continues lists what follows each of three resources.
func (v *Session) continues(l lister) {
	ids := v.fill(l, 3)
	if !l.inOrder() {
		v.all(l, 2, true, ids)
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

// defaultLimit lists without a limit: it must be as with the default.
func (v *Session) defaultLimit(l lister, p *openapi3.Parameter) {
	n, err := strconv.Atoi(fmt.Sprint(p.Schema.Value.Default))
	if err != nil || n > most {
		panic(untried("the default is more than a test creates"))
	}
	ids := v.fill(l, n+1)
	items, found := v.list(l, l.from(ids[0]))
	query := l.from(ids[0])
	query.Set(l.Limit, strconv.Itoa(n))
	if _, same := v.list(l, query); len(items) != n || !slices.Equal(found, same) {
		v.Failf("a list without %s has %d items, with the default %d it has %d", l.Limit, len(items), n, len(same))
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
		v.all(l, limit, false, ids)
	}
}
