package values

import (
	"slices"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// The variants of what is in an object or an array are variants of the whole: all else in it is the plainest.

// innerVariants returns the variants of the items and members of a schema, each within an array or object that is
// otherwise plain.
func (g *Generator) innerVariants(wanted *openapi3.Schema) (all []Variant) {
	if wanted.Type.Is("array") {
		for _, variant := range g.variants(schema.Of(wanted.Items)) {
			all = append(all, g.inArray(wanted, variant))
		}
	}
	if !schema.IsObject(wanted) {
		return all
	}
	for _, name := range PropertyNames(wanted) {
		// A service may ignore a readOnly member or refuse it.
		if property := wanted.Properties[name].Value; !g.IsAbsent(property) {
			all = append(all, g.presence(wanted, name, property)...)
			all = append(all, g.memberVariants(wanted, name, property)...)
		}
	}
	return append(all, g.additionalVariants(wanted)...)
}

// inArray puts a variant of an item into an array. One that is broken comes second, where it can: a service
// may check the first one only.
//
//	[{"size": 1}, {"size": "x"}]
func (g *Generator) inArray(wanted *openapi3.Schema, variant Variant) Variant {
	if variant.Demand {
		return variant.below("/0", nil)
	}
	array := g.Many(wanted, wanted.MinItems, variant.Value)
	if variant.Valid || orMost(wanted.MaxItems) < 2 {
		return variant.below("/0", array)
	}
	rest := array[min(2, len(array)):]
	return variant.below("/1", append([]any{g.Base(schema.Of(wanted.Items)), variant.Value}, rest...))
}

// presence are objects with and without a member.
//
//	{"name": "Ficus", "size": 1}   both members
//	{"size": 1}                    without name: refused if it is required
func (g *Generator) presence(wanted *openapi3.Schema, name string, property *openapi3.Schema) []Variant {
	all := []Variant{{
		Pointer: jsonvalue.Pointer(name),
		Keyword: "required",
		Value:   g.with(wanted, name, g.baseOf(name, property)),
		Valid:   true,
	}}
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
func (g *Generator) memberVariants(wanted *openapi3.Schema, name string, property *openapi3.Schema) (all []Variant) {
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
func (g *Generator) additionalVariants(wanted *openapi3.Schema) []Variant {
	broken := Variant{Pointer: "/" + schema.UnknownMember, Keyword: "additionalProperties"}
	more := wanted.AdditionalProperties.Schema
	hasRoom := uint64(len(g.with(wanted, schema.UnknownMember, nil))) <= orMost(wanted.MaxProps)
	switch {
	case schema.IsClosed(wanted):
		broken.Value = g.with(wanted, schema.UnknownMember, int64(1))
		return []Variant{broken}
	case more == nil || !hasRoom:
		return nil
	}
	all := g.memberVariants(wanted, schema.UnknownMember, more.Value)
	if first := slices.IndexFunc(all, Variant.isBroken); first >= 0 {
		broken.Value = all[first].Value
		all = append(all, broken)
	}
	return all
}
