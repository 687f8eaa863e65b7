package values

import (
	"cmp"
	"slices"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// Some keywords are about several members or items together: if, contains, dependentRequired, not. No value is made for
// them. One that the others allow is changed in few ways until the schema allows it, or until it breaks just that keyword.
// A schema for which that finds nothing is not tested.

// related are all of them but for those that compose schemas.
var related = []string{
	"if", "contains", "propertyNames", "patternProperties", "dependentRequired", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems",
}

// isHard reports whether a schema may forbid what its simple keywords allow.
func isHard(wanted *schema.Schema) bool {
	return schema.IsComposed(wanted) || isRelated(wanted)
}

// isRelated reports whether a schema has a keyword for which no value is made.
func isRelated(wanted *schema.Schema) bool {
	one := cmp.Or(wanted.Not, wanted.If, wanted.Contains, wanted.PropertyNames, wanted.UnevaluatedProperties, wanted.UnevaluatedItems)
	several := len(wanted.PatternProperties) + len(wanted.DependentRequired) + len(wanted.DependentSchemas)
	return one != nil || several > 0
}

// relations returns values on both sides of each keyword about several members or items.
func (g *Generator) relations(wanted *schema.Schema) (all []Variant) {
	if !isRelated(wanted) {
		return nil
	}
	for _, keyword := range related {
		if !schema.Has(wanted, keyword) {
			continue
		}
		base := g.simpleBase(wanted, false)
		all = append(all, demands(keyword)...)
		all = append(all, Variant{Keyword: keyword, Value: base, Valid: true})
		without := *wanted
		schema.Keyword(&without, keyword).SetZero()
		near := g.near(wanted, base)
		isBroken := func(value any) bool { return g.Fits(&without, value) && !g.Fits(wanted, value) }
		if i := slices.IndexFunc(near, isBroken); i >= 0 {
			all = append(all, Variant{Keyword: keyword, Value: near[i]})
		}
	}
	return all
}

// repaired returns a value that a schema allows, if one is found near a value that it forbids, or else that value.
func (g *Generator) repaired(wanted, flat *schema.Schema, forbidden any) any {
	fits := func(value any) bool { return g.Fits(wanted, value) }
	others := slices.Concat(g.conditional(flat), g.near(flat, forbidden), plainValues)
	if example := schema.Example(flat); example != nil {
		others = append([]any{jsonvalue.Normal(example)}, others...)
	}
	if i := slices.IndexFunc(others, fits); i >= 0 {
		return others[i]
	}
	return forbidden
}

// conditional are bases of a schema together with what it demands under a condition.
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

// plainValues are values that a schema may allow which forbids others.
var plainValues = []any{"another", int64(2), true, map[string]any{}, []any{}, jsonvalue.Normal(1.5)}

// near are values that differ from one in a member or an item.
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

// nearObject are objects without one or more members that are optional, or with one more.
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

// nearArray are arrays with fewer items, or with some more.
func (g *Generator) nearArray(flat *schema.Schema, array []any) (all []any) {
	for i := range array {
		all = append(all, array[:i], array[i+1:])
	}
	more := array
	for range 2 + OrNone(flat.MaxContains) {
		more = append(slices.Clip(more), g.contained(flat)...)
		all = append(all, more)
	}
	return append(all, append(slices.Clip(array), "another"))
}

// contained are the items that an array must have for the sake of "contains".
func (g *Generator) contained(wanted *schema.Schema) (items []any) {
	if wanted.Contains == nil {
		return nil
	}
	item := schema.AllOf(wanted.Contains, schema.Of(wanted.Items2020))
	count := 1
	if wanted.MinContains != nil {
		count = *wanted.MinContains
	}
	for range min(count, Most) {
		items = append(items, g.Base(item))
	}
	return items
}
