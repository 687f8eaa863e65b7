package values

import (
	"cmp"
	"maps"
	"math/big"
	"slices"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// A schema of allOf is merged into one, and one of oneOf or anyOf into several. Merging cannot be exact:
// two patterns have no common one that could be written down. So the result is only where values come from,
// and the original decides about each of them.

// Shapes are schemas without allOf, oneOf and anyOf. The result for a schema is the same each time, so
// that a recursion is seen. Several goroutines may use them.
type Shapes struct {
	mu         sync.Mutex
	flattened  map[*schema.Schema]*schema.Schema
	branched   map[*schema.Schema][]*schema.Schema
	merging    map[*schema.Schema]bool
	identities map[*schema.Schema]bool
	bases      map[baseKey]any // see Generator.Base
}

// newShapes returns shapes that know no schema yet.
func newShapes() *Shapes {
	return &Shapes{
		flattened:  map[*schema.Schema]*schema.Schema{},
		branched:   map[*schema.Schema][]*schema.Schema{},
		merging:    map[*schema.Schema]bool{},
		identities: map[*schema.Schema]bool{},
		bases:      map[baseKey]any{},
	}
}

// knownBase returns a base that was made before, by any generator of the run.
func (s *Shapes) knownBase(key baseKey) (value any, isKnown bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, isKnown = s.bases[key]
	return value, isKnown
}

// keepBase keeps a base: in a large document the same ones are needed for thousands of requests.
func (s *Shapes) keepBase(key baseKey, value any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bases[key] = value
}

// Flatten returns a schema that says itself what the parts of an allOf say, or nearly so: values made from it are tried on
// the original.
//
//	{"allOf": [{"minLength": 1}, {"maxLength": 5}]}   {"minLength": 1, "maxLength": 5, "allOf": …}
func (s *Shapes) Flatten(composed *schema.Schema) *schema.Schema {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flatten(composed)
}

// flatten is Flatten with the lock held. The result still has the allOf, because merging is not exact. To flatten the result
// again returns it as it is.
func (s *Shapes) flatten(composed *schema.Schema) *schema.Schema {
	if len(composed.AllOf) == 0 {
		return composed
	}
	if flat := s.flattened[composed]; flat != nil {
		return flat
	}
	flat := cloned(composed)
	if !s.merging[composed] { // else it is composed of itself
		s.merging[composed] = true
		for _, part := range composed.AllOf {
			merge(flat, s.flatten(part))
		}
		delete(s.merging, composed)
	}
	s.flattened[composed] = flat
	s.flattened[flat] = flat
	return flat
}

// cloned is a copy of a schema that others may be merged into. A copy of true is not true any more: it would allow
// anything, whatever is merged into it.
func cloned(of *schema.Schema) *schema.Schema {
	merged := *of
	merged.Properties = maps.Clone(of.Properties)
	if !schema.IsForbidden(of) {
		merged.Bool = nil
	}
	return &merged
}

// Branches returns what a schema with oneOf or anyOf may be: the schema merged with each of them. Of any other schema it
// returns none.
//
//	{"title": "a", "oneOf": [{"minimum": 1}, {"type": "null"}]}   {"title": "a", "minimum": 1}, {"title": "a", "type": "null"}
func (s *Shapes) Branches(choice *schema.Schema) []*schema.Schema {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(choice.OneOf)+len(choice.AnyOf) == 0 {
		return nil
	}
	if known, is := s.branched[choice]; is {
		return known
	}
	var branches []*schema.Schema
	for _, part := range slices.Concat(choice.OneOf, choice.AnyOf) {
		merged := cloned(choice)
		merged.OneOf = nil
		merged.AnyOf = nil
		merge(merged, s.flatten(part))
		// A part that is composed of the choice has it again.
		if slices.Equal(merged.OneOf, choice.OneOf) {
			merged.OneOf = nil
		}
		if slices.Equal(merged.AnyOf, choice.AnyOf) {
			merged.AnyOf = nil
		}
		merged.AllOf = slices.Concat(choice.AllOf, []*schema.Schema{part}) // because merging is not exact
		s.flattened[merged] = merged
		branches = append(branches, merged)
	}
	s.branched[choice] = branches
	return branches
}

// merged is a schema merged with another one. It allows what merging takes from them, and no allOf says more.
func (s *Shapes) merged(flat, other *schema.Schema) *schema.Schema {
	both := cloned(flat)
	both.AllOf = nil
	merge(both, s.Flatten(other))
	return both
}

// withoutNot returns a schema that allows what only the "not" of another one forbids.
func (s *Shapes) withoutNot(flat *schema.Schema) *schema.Schema {
	allowing := cloned(flat)
	allowing.Not = nil
	return s.merged(allowing, flat.Not)
}

// Property returns the schema of a member, without allOf, or nil.
func (s *Shapes) Property(of *schema.Schema, name string) *schema.Schema {
	if of == nil {
		return nil
	}
	property := s.Flatten(of).Properties[name]
	if property == nil {
		return nil
	}
	return s.Flatten(property)
}

// Names returns the names of the members of a schema, sorted.
func (s *Shapes) Names(of *schema.Schema) []string {
	if of == nil {
		return nil
	}
	return PropertyNames(s.Flatten(of))
}

// WithoutNull is the only branch of a choice that allows more than null, or the schema itself. Pydantic writes each member
// and parameter that may be left out as such a choice.
func (s *Shapes) WithoutNull(of *schema.Schema) *schema.Schema {
	if of == nil {
		return nil
	}
	branches := slices.DeleteFunc(slices.Clone(s.Branches(of)), schema.IsNull)
	if len(branches) == 1 {
		return branches[0]
	}
	return of
}

// Scalar is the schema of the items of an array, or the schema itself. Parameters often take several of what
// a member has one of.
func (s *Shapes) Scalar(of *schema.Schema) *schema.Schema {
	if schema.TypeOf(of) != "array" {
		return of
	}
	return s.Flatten(schema.Of(of.Items2020))
}

// merge makes a schema allow only what another one allows, too. A keyword of one of them is taken over. Where there is no
// common one, as of two patterns, the first one is kept: the original schema decides later.
func merge(into, other *schema.Schema) {
	into.Types = commonTypes(into.Types, other.Types)
	into.Enum = commonValues(into.Enum, other.Enum)
	into.Properties = commonMembers(into.Properties, other.Properties)
	into.Required = slices.Compact(slices.Sorted(slices.Values(slices.Concat(into.Required, other.Required))))
	for _, bound := range bounds {
		for _, keyword := range bound.keywords {
			if isStricter(keyword, other, into, bound.sign) {
				schema.Keyword(into, keyword).Set(schema.Keyword(other, keyword))
			}
		}
	}
	for _, keyword := range takenOver {
		if !schema.Has(into, keyword) {
			schema.Keyword(into, keyword).Set(schema.Keyword(other, keyword))
		}
	}
	if schema.IsForbidden(other) {
		into.Bool = other.Bool
	}
}

// takenOver are keywords that a schema has from another one if it does not have them itself.
var takenOver = []string{
	"format", "pattern", "multipleOf", "not", "oneOf", "anyOf", "if", "then", "else", "items", "prefixItems", "uniqueItems", "contains", "minContains",
	"maxContains", "additionalProperties", "propertyNames", "patternProperties", "dependentRequired", "dependentSchemas",
}

// bounds are the keywords of which the largest value is the strictest, and those of which the smallest one is.
var bounds = []struct {
	keywords []string
	sign     int
}{
	{[]string{"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"}, 1},
	{[]string{"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"}, -1},
}

// isStricter reports whether a schema has a stricter bound than another one, or has one and the other does not. sign is 1 if
// a larger bound is stricter, and -1 if a smaller one is.
func isStricter(keyword string, one, other *schema.Schema, sign int) bool {
	if !schema.Has(one, keyword) || !schema.Has(other, keyword) {
		return schema.Has(one, keyword)
	}
	switch bound := schema.Keyword(one, keyword).Interface().(type) {
	case *big.Rat:
		return bound.Cmp(schema.Keyword(other, keyword).Interface().(*big.Rat)) == sign
	case *int:
		return cmp.Compare(*bound, *schema.Keyword(other, keyword).Interface().(*int)) == sign
	}
	return false
}

// commonTypes are the types that two schemas have; one without types has all. An integer is a number, so integer is common
// to integer and number. If no type is common, they are those of the first schema.
func commonTypes(types, others *jsonschema.Types) *jsonschema.Types {
	if types == nil || others == nil {
		return cmp.Or(types, others)
	}
	common := *types & *others
	for _, pair := range [][2]*jsonschema.Types{{types, others}, {others, types}} {
		isWhole := slices.Contains(pair[0].ToStrings(), "integer")
		if isWhole && slices.Contains(pair[1].ToStrings(), "number") {
			common.Add("integer")
		}
	}
	if common.IsEmpty() {
		return types
	}
	return &common
}

// commonValues are those that two enumerations have; one that is absent has all.
func commonValues(values, others *jsonschema.Enum) *jsonschema.Enum {
	if values == nil || others == nil {
		return cmp.Or(values, others)
	}
	return schema.NewEnum(slices.DeleteFunc(slices.Clone(values.Values), func(value any) bool {
		isSame := func(other any) bool { return jsonvalue.Same(value, other) }
		return !slices.ContainsFunc(others.Values, isSame)
	}))
}

// commonMembers are the members of two schemas, also those that only one of them has. One that both have must match both: an allOf of them, which is
// flattened when it is needed, because a member may lead to its own object.
func commonMembers(members, others map[string]*schema.Schema) map[string]*schema.Schema {
	if members == nil {
		return maps.Clone(others)
	}
	common := maps.Clone(members)
	for name, property := range others {
		if mine := members[name]; mine != nil && mine != property {
			property = bothOf(mine, property)
		}
		common[name] = property
	}
	return common
}

// bothOf allows what two schemas of a member allow. If one of them says that the member is not sent, it is not.
func bothOf(one, other *schema.Schema) *schema.Schema {
	if schema.IsForbidden(one) {
		return one
	}
	if schema.IsForbidden(other) {
		return other
	}
	return schema.AllOf(one, other)
}
