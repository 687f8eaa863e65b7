package values

import (
	"cmp"
	"slices"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// Some keywords are about several members or items together: if, contains, dependentRequired, not. No value is made for
// them. A value that the other keywords allow is changed in few ways until the schema allows it, or until it breaks just
// that keyword. A schema for which that finds nothing is not tested.

// related are these keywords, without those that compose schemas, such as not.
var related = []string{
	"if", "contains", "propertyNames", "patternProperties", "dependentRequired", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems",
}

// isHard reports whether a schema may forbid what its simple keywords allow.
func isHard(wanted *schema.Schema) bool {
	return schema.IsComposed(wanted) || isRelated(wanted)
}

// isRelated reports whether a schema has one of these keywords, or not. It reads the fields themselves, because it is
// asked for each member of each value.
func isRelated(wanted *schema.Schema) bool {
	single := cmp.Or(wanted.Not, wanted.If, wanted.Contains, wanted.PropertyNames, wanted.UnevaluatedProperties, wanted.UnevaluatedItems)
	count := len(wanted.PatternProperties) + len(wanted.DependentRequired) + len(wanted.DependentSchemas)
	return single != nil || count > 0
}

// relations returns values on both sides of each keyword about several members or items.
func (g *Generator) relations(wanted *schema.Schema) (all []Variant) {
	for _, keyword := range related {
		if schema.Has(wanted, keyword) {
			base := g.simpleBase(wanted, false)
			all = append(all, demands(keyword)...)
			all = append(all, Variant{Keyword: keyword, Value: base, Valid: true})
			all = append(all, g.breakingOnly(keyword, wanted, g.near(wanted, base))...)
		}
	}
	return all
}

// breakingOnly returns the first value that breaks one keyword of a schema and no other one, if there is one.
func (g *Generator) breakingOnly(keyword string, wanted *schema.Schema, values []any) []Variant {
	allOthers := *wanted
	schema.Keyword(&allOthers, keyword).SetZero()
	for _, value := range values {
		if g.Fits(&allOthers, value) && !g.Fits(wanted, value) {
			return []Variant{{Keyword: keyword, Value: value}}
		}
	}
	return nil
}

// repaired returns a value that a schema allows, if one is found, instead of one that it forbids: the example, or a value
// near the forbidden one. flat is where such values come from: the schema, or a branch of it.
func (g *Generator) repaired(wanted, flat *schema.Schema, forbidden any) any {
	var others []any
	if example := schema.Example(flat); example != nil {
		others = append(others, jsonvalue.Normal(example))
	}
	others = slices.Concat(others, g.conditional(flat), g.near(flat, forbidden), plainValues)
	if value, isFound := g.FirstFit(wanted, others...); isFound {
		return value
	}
	return forbidden
}

// conditional are bases of a schema together with what it demands under a condition, whether the condition holds or not.
func (g *Generator) conditional(flat *schema.Schema) (all []any) {
	conditions := []*schema.Schema{flat.Then, flat.Else}
	for _, name := range jsonvalue.Names(flat.DependentSchemas) {
		conditions = append(conditions, flat.DependentSchemas[name])
	}
	for _, condition := range conditions {
		if condition != nil {
			all = append(all, g.roughBase(g.merged(flat, condition), false))
		}
	}
	return all
}

// plainValues are the last ones to be tried: a schema that forbids all others may allow one of them.
var plainValues = []any{"another", int64(2), true, map[string]any{}, []any{}, jsonvalue.Normal(1.5)}

// near are values that differ from an object in a few members, or from an array in a few items. For any other value they
// are those of the enumeration.
func (g *Generator) near(flat *schema.Schema, value any) []any {
	switch value := value.(type) {
	case map[string]any:
		return g.nearObject(flat, value)
	case []any:
		return g.nearArray(flat, value)
	}
	var all []any
	for _, other := range schema.ValuesOf(flat) {
		all = append(all, jsonvalue.Normal(other))
	}
	return all
}

// nearObject are objects without one or more members that are optional, or with one more. Of {a, b, c}, if b is required:
//
//	{b, c}   {b, c}   {a, b}   {b}   {a, b, c, unknown-member} …
func (g *Generator) nearObject(flat *schema.Schema, object map[string]any) (all []any) {
	fewer := object
	for _, name := range jsonvalue.Names(object) {
		if isRequired(flat, name) {
			continue
		}
		all = append(all, without(object, name))
		fewer = without(fewer, name)
		all = append(all, fewer)
	}
	for _, name := range []string{schema.UnknownMember, "a", "A", "0"} {
		more := jsonvalue.Object(jsonvalue.Normal(object))
		more[name] = g.additional(flat)
		all = append(all, more)
	}
	return all
}

// without is an object without a member.
func without(object map[string]any, name string) map[string]any {
	fewer := jsonvalue.Object(jsonvalue.Normal(object))
	delete(fewer, name)
	return fewer
}

// nearArray are the beginnings and the ends of an array, and arrays with more items: with more of those that "contains"
// asks for, until there are too many, and with one of another type.
func (g *Generator) nearArray(flat *schema.Schema, array []any) (all []any) {
	for i := range array {
		all = append(all, array[:i], array[i+1:])
	}
	more := array
	for range 2 + OrNone(flat.MaxContains) {
		more = append(slices.Clip(more), g.contained(flat)...) // clipped, so that it is copied
		all = append(all, more)
	}
	return append(all, append(slices.Clip(array), "another"))
}

// contained are the items that an array must have for the sake of "contains": as many as minContains says, or else one.
func (g *Generator) contained(wanted *schema.Schema) (items []any) {
	if wanted.Contains == nil {
		return nil
	}
	item := schema.AllOf(wanted.Contains, schema.Of(wanted.Items2020))
	for range min(boundOr(wanted.MinContains, 1), Most) {
		items = append(items, g.Base(item))
	}
	return items
}
