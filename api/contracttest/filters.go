package contracttest

import (
	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"

	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// filters creates resources with two values of a member and lists by each value. Of an inferred
// filter only what fits no meaning of its name is wrong: that it finds both lower and higher values,
// or that it finds some items with a value and lacks others.
func (v *Session) filters(l lister, parameter, member string) {
	g := v.suite.gen
	_, schema := l.resource.create.Body()
	property := v.suite.property(schema, member)
	element := v.suite.scalar(property)
	ids, values := []any{}, []any{}
	for i := range 3 {
		body, _ := g.varied(schema).(map[string]any)
		value := g.fresh(element, values)
		if low := fmt.Sprint("0", g.next.Add(1)); i == 0 && element.Type.Is("string") && g.valid(element, low) {
			value = low // less than all others
		}
		if i == 2 {
			value = values[0]
		} else if i == 1 && jsonvalue.Same(value, values[0]) {
			panic(untried("a test has only one value for it"))
		}
		switch body[member] = value; {
		case property.Type.Is("array") && i == 2 && orMost(property.MaxItems) > 1:
			body[member] = []any{g.fresh(element, values), value}
		case property.Type.Is("array"):
			body[member] = g.many(property, property.MinItems, value)
		}
		_, id := v.createAs(l.resource, g.identity(l.resource.schema), body)
		if shown := v.read(l.resource, id); l.inferred && shown != nil && !property.Type.Is("array") {
			if value = shown.Object()[member]; value == nil || i == 1 && jsonvalue.Same(value, values[0]) {
				panic(untried("the service has other values of " + member + " than a create sends"))
			}
		}
		ids, values = append(ids, id), append(values, value)
	}
	leaks, lacks, found := [2]string{}, [2]string{}, 0 // leaks: of lower and higher values
	for i, value := range values[:2] {
		for _, limit := range []int{l.pageSize(1), l.longestPage()} {
			query := l.from(ids[0])
			sent := value
			p := l.parameter(parameter)
			if schema, _ := document.ParameterSchema(p); g.flatten(schema).Type.Is("array") {
				sent = []any{value}
			}
			text, _ := document.Written(p, sent)
			pairs, _ := url.ParseQuery(text)
			maps.Copy(query, pairs)
			if l.Limit != "" {
				query.Set(l.Limit, strconv.Itoa(limit))
			}
			want, read, n := map[string]bool{fmt.Sprint(ids[i]): true}, map[string]bool{}, 0
			if i == 0 {
				want[fmt.Sprint(ids[2])] = true
			}
			for page := range v.pages(l, query, false) {
				for j, item := range page.items {
					if !l.selects(item[member], value) {
						leaks[max(compare(item[member], value), 0)] = fmt.Sprintf("a list with %s=%v has an item with %s %v", parameter, value, member, item[member])
					}
					if read[page.ids[j]] && !l.inferred {
						v.Failf("a walk with %s=%d meets %s twice", l.Limit, limit, page.ids[j])
					}
					read[page.ids[j]] = true
					if want[page.ids[j]] {
						delete(want, page.ids[j])
						found++
					}
				}
				if len(want) > 0 && page.end == nothing {
					lacks[i] = fmt.Sprintf("a list with %s=%v lacks %v, which has it", parameter, value, slices.Sorted(maps.Keys(want)))
				}
				if n++; len(want) == 0 || leaks[0] != "" && leaks[1] != "" || n > 20 && limit < l.longestPage() || n > most {
					break
				}
			}
		}
	}
	wrong := cmp.Or(leaks[0], leaks[1], lacks[0], lacks[1])
	switch certain := leaks[0] != "" && leaks[1] != "" || leaks[0]+leaks[1] == "" && found > 0; {
	case wrong != "" && l.inferred && !certain:
		panic(untried(wrong + ": it may have another meaning"))
	case wrong != "":
		v.Failf("%s", wrong)
	case !l.inferred:
		v.all(l, l.longestPage(), false, ids)
	}
}

// selects reports whether a filter may select an item that has a value. An inferred one may also
// look for a part of it, in any case.
func (l lister) selects(have, want any) bool {
	if all, ok := have.([]any); ok {
		return slices.ContainsFunc(all, func(have any) bool { return l.selects(have, want) })
	}
	a, b := fmt.Sprint(have), fmt.Sprint(want)
	return a == b || l.inferred && strings.Contains(strings.ToLower(a), strings.ToLower(b))
}

// compare is -1 if a value, or one of an array, is less than another one, as a number or as text, or
// else 1.
func compare(a, b any) int {
	if all, ok := a.([]any); ok {
		if slices.ContainsFunc(all, func(a any) bool { return compare(a, b) < 0 }) {
			return -1
		}
		return 1
	}
	one, other := fmt.Sprint(a), fmt.Sprint(b)
	x, errX := strconv.ParseFloat(one, 64)
	y, errY := strconv.ParseFloat(other, 64)
	if errX == nil && errY == nil && x < y || (errX != nil || errY != nil) && one < other {
		return -1
	}
	return 1
}
