package values

import (
	"fmt"
	"slices"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// The variants of what is in an object or an array are variants of the whole: all else in it is the plainest.

// innerVariants returns the variants of the items and members of a schema, each within an array or object that is
// otherwise plain.
func (g *Generator) innerVariants(wanted *schema.Schema) (all []Variant) {
	if schema.TypeOf(wanted) == "array" {
		for i, item := range wanted.PrefixItems {
			for _, variant := range g.variants(item) {
				all = append(all, g.inArray(wanted, i, variant))
			}
		}
		for _, variant := range g.variants(schema.Of(wanted.Items2020)) {
			all = append(all, g.inArray(wanted, len(wanted.PrefixItems), variant))
		}
	}
	if !schema.IsObject(wanted) {
		return all
	}
	for _, name := range PropertyNames(wanted) {
		// A service may ignore a readOnly member or refuse it.
		if property := wanted.Properties[name]; !g.IsAbsent(property) {
			all = append(all, g.presence(wanted, name, property)...)
			all = append(all, g.memberVariants(wanted, name, property)...)
		}
	}
	return append(all, g.additionalVariants(wanted)...)
}

// inArray puts a variant of the i-th item into an array. One of the items that are all alike comes later if it is broken,
// where it can: a service may check the first one only.
//
//	[{"size": 1}, {"size": "x"}]
func (g *Generator) inArray(wanted *schema.Schema, i int, variant Variant) Variant {
	isAlike := i == len(wanted.PrefixItems)
	if variant.isBroken() && isAlike && orMost(wanted.MaxItems) > i+1 {
		i++
	}
	place := fmt.Sprint("/", i)
	if variant.Demand {
		return variant.below(place, nil)
	}
	var begin []any
	for before := range i {
		begin = append(begin, g.Base(itemAt(wanted, before)))
	}
	return variant.below(place, g.Many(wanted, OrNone(wanted.MinItems), append(begin, variant.Value)...))
}

// presence are objects with and without a member.
//
//	{"name": "Ficus", "size": 1}   both members
//	{"size": 1}                    without name: refused if it is required
func (g *Generator) presence(wanted *schema.Schema, name string, property *schema.Schema) []Variant {
	all := []Variant{{
		Pointer: jsonvalue.Pointer(name),
		Keyword: "required",
		Value:   g.with(wanted, name, g.baseOf(name, property)),
		Valid:   true,
	}}
	if g.IsGiven(name) && !isRequired(wanted, name) {
		return all // an option gives it because the service needs it
	}
	without := g.with(wanted, name, nil)
	delete(without, name)
	return append(all, Variant{
		Pointer: jsonvalue.Pointer(name),
		Keyword: "required",
		Value:   without,
		Valid:   !isRequired(wanted, name),
	})
}

// memberVariants are objects with the variants of a member.
func (g *Generator) memberVariants(wanted *schema.Schema, name string, property *schema.Schema) (all []Variant) {
	for _, variant := range g.onlyGiven(name, property, g.variants(property)) {
		var whole any
		if !variant.Demand {
			whole = g.with(wanted, name, variant.Value)
		}
		all = append(all, variant.below(jsonvalue.Pointer(name), whole))
	}
	return all
}

// additionalVariants are objects with a member that no property names.
//
//	{"name": "Ficus", "unknown": 1}   refused, where the schema says "additionalProperties: false"
func (g *Generator) additionalVariants(wanted *schema.Schema) []Variant {
	broken := Variant{Pointer: "/" + schema.UnknownMember, Keyword: "additionalProperties"}
	more := schema.More(wanted)
	hasRoom := len(g.with(wanted, schema.UnknownMember, nil)) <= orMost(wanted.MaxProperties)
	switch {
	case schema.IsClosed(wanted):
		broken.Value = g.with(wanted, schema.UnknownMember, int64(1))
		return []Variant{broken}
	case more == nil || !hasRoom:
		return nil
	}
	all := g.memberVariants(wanted, schema.UnknownMember, more)
	if first := slices.IndexFunc(all, Variant.isBroken); first >= 0 {
		broken.Value = all[first].Value
		all = append(all, broken)
	}
	return all
}
