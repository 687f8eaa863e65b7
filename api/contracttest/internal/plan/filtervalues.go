package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// The values of a test of a filter are such that a wrong filter takes one for another: see drawn.

// property is the schema of the member in the body of a create, from which the values are drawn: a list may show the member
// with another schema.
func (f *filter) property(by resources.Filter) *schema.Schema {
	return f.Values.WithoutNull(f.Values.Property(f.list.Resource.Create.ThingSchema(), by.Member))
}

// scalar is the schema of one value of the member: of an item, if it is an array.
func (f *filter) scalar(by resources.Filter) *schema.Schema { return f.Values.Scalar(f.property(by)) }

// taken is the schema of what the parameter takes.
func (f *filter) taken(by resources.Filter) *schema.Schema {
	described, _ := document.ParameterSchema(f.list.Parameter(by.Parameter))
	return f.Values.WithoutNull(f.Values.Flatten(described))
}

// mostOfEnum is how many values of an enumeration are tried.
const mostOfEnum = 8

// drawn are values that a wrong filter takes for each other, of which the first one is asked for in any case: those of an
// enumeration; a number or a time, then one below it and one above it; a text, then others that have it at one end, at both,
// or in the other case, and at last a text that has nothing of it. It is nil if there are too few that both the member and
// the parameter take.
func (f *filter) drawn(by resources.Filter) (all []any) {
	of := f.scalar(by)
	switch {
	case len(schema.ValuesOf(of)) > 0:
		all = schema.ValuesOf(of)
	case schema.TypeOf(of) == "boolean":
		all = []any{true, false}
	case schema.FormatOf(of) == "date", schema.FormatOf(of) == "date-time":
		all = f.drawnTimes(of)
	case schema.IsNumber(of):
		all = f.drawnNumbers(of)
	default:
		all = f.drawnTexts(of)
	}
	taken := f.Values.Scalar(f.taken(by))
	var fitting []any
	for _, value := range all {
		value = jsonvalue.Normal(value)
		isValid := value != nil && f.Values.Fits(of, value) && f.Values.Fits(taken, value)
		if isValid && !isAmong(fitting, value) {
			fitting = append(fitting, value)
		}
	}
	least := 2
	if by.Meaning.IsOrder() { // it needs one below, and one above
		least = 3
	}
	if len(fitting) < least {
		return nil
	}
	return fitting[:min(len(fitting), mostOfEnum)]
}

// isAmong reports whether a value is written like one of some others.
func isAmong(all []any, value any) bool {
	return slices.ContainsFunc(all, func(other any) bool { return jsonvalue.Same(value, other) })
}

// drawnTimes are a day, the day before it, and the day after it.
func (f *filter) drawnTimes(of *schema.Schema) (all []any) {
	form := time.DateOnly
	if schema.FormatOf(of) == "date-time" {
		form = time.RFC3339
	}
	noon := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC).AddDate(0, 0, f.Values.Below(3000))
	for _, days := range []int{0, -1, 1} {
		all = append(all, noon.AddDate(0, 0, days).Format(form))
	}
	return all
}

// drawnNumbers are a number, the least one that is allowed, but not less than 0, and one above the number. They differ by a
// step that the schema allows, as of a multipleOf. They are nil if there is no room for three.
func (f *filter) drawnNumbers(of *schema.Schema) []any {
	low, high := values.Limits(of)
	low = max(low, 0)
	for _, step := range []int64{1, 5, 10, 100} {
		places := int(min((high-low)/step, 1000))
		if places < 2 {
			continue
		}
		number := low + step*int64(1+f.Values.Below(places-1))
		if f.Values.Fits(of, number) && f.Values.Fits(of, number+step) {
			return []any{number, low, number + step}
		}
	}
	return nil
}

// drawnTexts are a text, others that have it, and one that has nothing of it. Of a text with a format, only two are drawn.
func (f *filter) drawnTexts(of *schema.Schema) []any {
	first := f.Values.Fresh(of, nil)
	text, isText := first.(string)
	other := f.Values.Fresh(of, []any{first})
	if schema.FormatOf(of) != "" || !isText {
		return []any{first, other}
	}
	// The one of these that is the text itself is left out.
	return []any{text, text + "x", "x" + text, "x" + text + "x", strings.ToUpper(text), strings.ToLower(text), other}
}

// sent is what a create has for a value. If the member is an array, it is one with the value: after the values before, if
// there is room for all, or else as the first item of an array that is long enough.
func (f *filter) sent(by resources.Filter, value any, before ...any) any {
	property := f.property(by)
	if schema.TypeOf(property) != "array" {
		return value
	}
	if mayHaveMore := property.MaxItems == nil || *property.MaxItems > len(before); mayHaveMore && len(before) > 0 {
		return append(before, value)
	}
	return f.Values.Many(property, values.OrNone(property.MinItems), value)
}

// notSelected is a drawn value that a filter does not select if it is asked for the first one: of a bound the one below or above.
func notSelected(by resources.Filter, drawn []any) any {
	if by.Meaning == resources.Least {
		return drawn[1]
	}
	return drawn[len(drawn)-1]
}

// totalNames are members that say how many items a list has on all pages.
var totalNames = []string{"total", "totalcount", "totalitems", "totalresults"}

// totalIn is how many items a page says that there are on all pages, in a member beside the items, or -1.
func totalIn(l *resources.List, got scenario.Interaction) int {
	value, _ := got.Value()                                                // what is no JSON has none
	above := l.ItemsAt()[:max(0, strings.LastIndexByte(l.ItemsAt(), '/'))] // "/data/items": "/data"
	around := jsonvalue.Object(jsonvalue.Lookup(value, "#"+above))
	for _, name := range jsonvalue.Names(around) {
		total, err := strconv.Atoi(fmt.Sprint(around[name]))
		if slices.Contains(totalNames, resources.PlainName(name)) && err == nil {
			return total
		}
	}
	return -1
}
