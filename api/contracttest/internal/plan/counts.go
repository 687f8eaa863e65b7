package plan

import (
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// GET /tickets/count says how many tickets GET /tickets lists with the same filters. A count that other clients change
// cannot be compared with anything, so it is taken with a filter by a value that nothing else has, twice, around a list
// with the same filter.

// countPaths are the ends of paths that count what is listed above them.
var countPaths = []string{"/count", "/total"}

// countsOf returns the tests of operations that count what a list has, one for each filter that both take.
func (p *Planner) countsOf(l *resources.List) (all []listCase) {
	for _, end := range countPaths {
		operation := p.Document.At(http.MethodGet, document.Shape(l.ReadBy.Template)+end)
		if !p.Resources.Infers(operation) || p.Resources.IsLeftOut(operation) {
			continue
		}
		for _, by := range l.Selects {
			if operation.Parameter("query", by.Parameter) != nil {
				counts := func(t *listTest, _ string) { t.countsAsListed(operation, by) }
				all = append(all, listCase{scenario.Effect(operation.ID, by.Parameter), counts})
			}
		}
	}
	return all
}

// countsAsListed creates resources, two of which have the same value, lists them by it, and counts them by it.
//
//	GET /tickets?state=s1         200 [{"id": 1}, {"id": 3}]
//	GET /tickets/count?state=s1   must be 2, or {"count": 2}
func (t *listTest) countsAsListed(operation *document.Operation, by resources.Filter) {
	f, asked := t.filterBy(by, 1)
	query := f.queryFor(wanted{by, asked[0]})
	listed := listedBy(t.page(maps.Clone(query)))
	call := scenario.Call{Operation: operation.ID, Query: query}
	if use := t.Resources.UseOf(operation); use != nil {
		call.Of = f.things[0].Parent
	}
	counted := countIn(t.Do(call, scenario.Accepted))
	isKnown := counted != "" && listed >= 0
	if !isKnown {
		t.NotTested("the response has no count, or the list is longer than a page")
	}
	isSame := counted == fmt.Sprint(listed)
	t.Require(isSame, "with %s the list has %d items, but the count is %s", by.Parameter, listed, counted)
}

// listedBy is how many things a list has that ends with a page, or -1 if it goes on.
func listedBy(found page) int {
	if found.end == another {
		return -1
	}
	return len(found.ids)
}

// countIn is the number in a response, or that of its only member with a name such as count; else nothing.
func countIn(x scenario.Interaction) string {
	value, _ := x.Value() // what is no JSON has no number
	if jsonvalue.IsInteger(value) {
		return fmt.Sprint(value)
	}
	var counts []any
	for name, member := range jsonvalue.Object(value) {
		isCount := strings.Contains(resources.PlainName(name), "count") || strings.Contains(resources.PlainName(name), "total")
		if isCount && jsonvalue.IsInteger(member) {
			counts = append(counts, member)
		}
	}
	if len(counts) != 1 {
		return ""
	}
	return fmt.Sprint(counts[0])
}
