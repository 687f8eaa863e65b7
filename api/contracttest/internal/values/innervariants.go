package values

import (
	"fmt"
	"slices"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// The variants of what is in an object or an array are variants of the whole: all else in it is the plainest.

// innerVariants returns the variants of the items or members of a schema, each within an array or object that is
// otherwise plain.
func (g *Generator) innerVariants(wanted *schema.Schema) []Variant {
	switch {
	case schema.TypeOf(wanted) == "array":
		return g.itemVariants(wanted)
	case schema.IsObject(wanted):
		return g.propertyVariants(wanted)
	}
	return nil
}

// itemVariants are arrays with the variants of an item: of each of the first ones that has a schema of its own, and of
// the one after them, in place of all others.
func (g *Generator) itemVariants(wanted *schema.Schema) (all []Variant) {
	for i := range len(wanted.PrefixItems) + 1 {
		for _, variant := range g.variants(itemAt(wanted, i)) {
			all = append(all, g.inArray(wanted, i, variant))
		}
	}
	return all
}

// propertyVariants are objects with and without each member, and with the variants of each.
func (g *Generator) propertyVariants(wanted *schema.Schema) (all []Variant) {
	for _, name := range PropertyNames(wanted) {
		// A service may ignore a readOnly member or refuse it.
		if property := wanted.Properties[name]; !g.IsAbsent(property) {
			all = append(all, g.presence(wanted, name, property)...)
			all = append(all, g.memberVariants(wanted, name, property)...)
		}
	}
	return append(all, g.additionalVariants(wanted)...)
}

// inArray puts a variant of the i-th item into an array. A broken one comes one later if the next item has the same
// schema, and there may be one: a service may check the first such item only.
//
//	[{"size": 1}, {"size": "x"}]
func (g *Generator) inArray(wanted *schema.Schema, i int, variant Variant) Variant {
	isNextAlike := i == len(wanted.PrefixItems) && i+1 < orMost(wanted.MaxItems)
	if variant.isBroken() && isNextAlike {
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
	others := g.with(wanted, name, nil)
	delete(others, name)
	return append(all, Variant{
		Pointer: jsonvalue.Pointer(name),
		Keyword: "required",
		Value:   others,
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

// additionalVariants are objects with a member that no property names. Where such members have a schema, they are its
// variants, and what breaks the schema breaks additionalProperties, too.
//
//	{"name": "Ficus", "unknown-member": 1}   refused, where the schema says "additionalProperties: false"
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
