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

// property is the schema of the member in the body of a create, from which the values are drawn: a list may show the member
// with another schema.
func (f *filter) property(by resources.Filter) *schema.Schema {
	return f.Values.WithoutNull(f.Values.Property(f.list.Resource.Create.ThingSchema(), by.Member))
}

// scalar is the schema of one value of the member.
func (f *filter) scalar(by resources.Filter) *schema.Schema { return f.Values.Scalar(f.property(by)) }

// taken is the schema of what the parameter takes.
func (f *filter) taken(by resources.Filter) *schema.Schema {
	described, _ := document.ParameterSchema(f.list.Parameter(by.Parameter))
	return f.Values.WithoutNull(f.Values.Flatten(described))
}

// mostOfEnum is how many values of an enumeration are tried.
const mostOfEnum = 8

// drawn are values that a wrong filter takes for each other, of which the first one is asked for in any case: those of an
// enumeration; a number or a time with one below and one above it; a text with others that have it at one end, at both, or
// in the other case, and a text that has nothing of it. Nil: there are too few.
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
		isNew := !slices.ContainsFunc(fitting, func(other any) bool { return jsonvalue.Same(value, other) })
		if isNew && value != nil && f.Values.Fits(of, value) && f.Values.Fits(taken, value) {
			fitting = append(fitting, value)
		}
	}
	if isOne := len(fitting) < 2; isOne || by.Meaning.IsOrder() && len(fitting) < 3 {
		return nil
	}
	return fitting[:min(len(fitting), mostOfEnum)]
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

// drawnNumbers are a number, the least one that is allowed, which may be 0, and the next one.
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

// sent is what a create has for a value: an array of it, if the member is one, after others as far as there is room.
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

// bothSides are a value to ask for, and one that this does not select, where the first one is selected.
func bothSides(by resources.Filter, drawn []any) (asked, unwanted any) {
	if by.Meaning == resources.Least {
		return drawn[0], drawn[1]
	}
	return drawn[0], drawn[len(drawn)-1] // the one above, if it is a bound
}

// totalNames are members that say how many items a list has on all pages.
var totalNames = []string{"total", "totalcount", "totalitems", "totalresults"}

// totalIn is how many items a page says that there are, or -1.
func totalIn(l *resources.List, got scenario.Interaction) int {
	value, _ := got.Value() // what is no JSON has none
	beside := l.ItemsAt()[:max(0, strings.LastIndexByte(l.ItemsAt(), '/'))]
	around := jsonvalue.Object(jsonvalue.Lookup(value, "#"+beside))
	for _, name := range jsonvalue.Names(around) {
		total, err := strconv.Atoi(fmt.Sprint(around[name]))
		if slices.Contains(totalNames, resources.PlainName(name)) && err == nil {
			return total
		}
	}
	return -1
}
