package values

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

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
	flattened  map[*openapi3.Schema]*openapi3.Schema
	branched   map[*openapi3.Schema][]*openapi3.Schema
	merging    map[*openapi3.Schema]bool
	identities map[*openapi3.Schema]bool
	bases      map[baseKey]any // see Generator.Base
}

// newShapes returns shapes that know no schema yet.
func newShapes() *Shapes {
	return &Shapes{
		flattened:  map[*openapi3.Schema]*openapi3.Schema{},
		branched:   map[*openapi3.Schema][]*openapi3.Schema{},
		merging:    map[*openapi3.Schema]bool{},
		identities: map[*openapi3.Schema]bool{},
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

// Flatten returns a schema without allOf that allows the same, or nearly: values
// made from it are tried on the original.
func (s *Shapes) Flatten(composed *openapi3.Schema) *openapi3.Schema {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flatten(composed)
}

// flatten is Flatten with the lock held.
func (s *Shapes) flatten(composed *openapi3.Schema) *openapi3.Schema {
	if len(composed.AllOf) == 0 {
		return composed
	}
	if flat := s.flattened[composed]; flat != nil {
		return flat
	}
	flat := *composed
	flat.AllOf = nil
	flat.Properties = maps.Clone(composed.Properties)
	if !s.merging[composed] { // else it is composed of itself
		s.merging[composed] = true
		for _, part := range composed.AllOf {
			merge(&flat, s.flatten(part.Value))
		}
		delete(s.merging, composed)
	}
	s.flattened[composed] = &flat
	return &flat
}

// Branches returns what a schema with oneOf or anyOf may be: the schema merged with each of them. Null is
// allowed by a choice if any of its branches allows it.
func (s *Shapes) Branches(choice *openapi3.Schema) []*openapi3.Schema {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(choice.OneOf)+len(choice.AnyOf) == 0 {
		return nil
	}
	if known, is := s.branched[choice]; is {
		return known
	}
	var branches []*openapi3.Schema
	for _, part := range slices.Concat(choice.OneOf, choice.AnyOf) {
		merged := *choice
		merged.OneOf = nil
		merged.AnyOf = nil
		merged.Properties = maps.Clone(choice.Properties)
		merged.Nullable = choice.Nullable || part.Value.Nullable
		merge(&merged, s.flatten(part.Value))
		// A part that is composed of the choice has it again.
		if slices.Equal(merged.OneOf, choice.OneOf) {
			merged.OneOf = nil
		}
		if slices.Equal(merged.AnyOf, choice.AnyOf) {
			merged.AnyOf = nil
		}
		branches = append(branches, &merged)
	}
	s.branched[choice] = branches
	return branches
}

// withoutNot returns a schema that allows what another one would allow but for its "not", and that matches "not".
func (s *Shapes) withoutNot(flat *openapi3.Schema) *openapi3.Schema {
	merged := *flat
	merged.Not = nil
	merged.Properties = maps.Clone(flat.Properties)
	merge(&merged, s.Flatten(flat.Not.Value))
	return &merged
}

// Property returns the schema of a member, without allOf, or nil.
func (s *Shapes) Property(of *openapi3.Schema, name string) *openapi3.Schema {
	if of == nil {
		return nil
	}
	property := s.Flatten(of).Properties[name]
	if property == nil {
		return nil
	}
	return s.Flatten(property.Value)
}

// Names returns the names of the members of a schema, sorted.
func (s *Shapes) Names(of *openapi3.Schema) []string {
	if of == nil {
		return nil
	}
	return PropertyNames(s.Flatten(of))
}

// WithoutNull is the only branch of a choice that allows more than null, or the schema itself. Pydantic writes each member
// and parameter that may be left out as such a choice.
func (s *Shapes) WithoutNull(of *openapi3.Schema) *openapi3.Schema {
	if of == nil {
		return nil
	}
	only := of
	for _, branch := range s.Branches(of) {
		switch {
		case schema.IsNull(branch):
			continue
		case only != of:
			return of
		}
		only = branch
	}
	return only
}

// Scalar is the schema of the items of an array, or the schema itself. Parameters often take several of what
// a member has one of.
func (s *Shapes) Scalar(of *openapi3.Schema) *openapi3.Schema {
	if !of.Type.Is("array") {
		return of
	}
	if of.Items == nil || of.Items.Value == nil {
		return &openapi3.Schema{}
	}
	return s.Flatten(of.Items.Value)
}

// merge makes a schema allow only what another one allows, too. Where there is no common keyword, as of two
// patterns, the first one is kept: the original schema decides later.
func merge(into, other *openapi3.Schema) {
	into.Type = cmp.Or(into.Type, other.Type)
	into.Items = cmp.Or(into.Items, other.Items)
	into.Not = cmp.Or(into.Not, other.Not)
	into.Format = cmp.Or(into.Format, other.Format)
	into.Pattern = cmp.Or(into.Pattern, other.Pattern)
	into.MultipleOf = cmp.Or(into.MultipleOf, other.MultipleOf)
	into.Enum = commonValues(into.Enum, other.Enum)
	mergeBounds(into, other)
	into.UniqueItems = into.UniqueItems || other.UniqueItems
	into.ReadOnly = into.ReadOnly || other.ReadOnly
	into.WriteOnly = into.WriteOnly || other.WriteOnly
	into.Nullable = into.Nullable && other.Nullable
	if len(into.OneOf) == 0 {
		into.OneOf = other.OneOf
	}
	if len(into.AnyOf) == 0 {
		into.AnyOf = other.AnyOf
	}
	saysNothing := into.AdditionalProperties.Has == nil && into.AdditionalProperties.Schema == nil
	if saysNothing {
		into.AdditionalProperties = other.AdditionalProperties
	}
	into.Required = slices.Concat(into.Required, other.Required)
	slices.Sort(into.Required)
	into.Required = slices.Compact(into.Required)
	mergeProperties(into, other)
}

// commonValues are those that two enumerations have; one that is empty is none.
func commonValues(values, others []any) []any {
	if len(values) == 0 {
		return others
	}
	if len(others) == 0 {
		return values
	}
	return slices.DeleteFunc(slices.Clone(values), func(value any) bool {
		isSame := func(other any) bool { return jsonvalue.Same(value, other) }
		return !slices.ContainsFunc(others, isSame)
	})
}

// mergeBounds keeps the stricter one of two bounds. Whether a bound of a number is exclusive goes with it.
func mergeBounds(into, other *openapi3.Schema) {
	if other.Min != nil && (into.Min == nil || *other.Min > *into.Min) {
		into.Min = other.Min
		into.ExclusiveMin = other.ExclusiveMin
	}
	if other.Max != nil && (into.Max == nil || *other.Max < *into.Max) {
		into.Max = other.Max
		into.ExclusiveMax = other.ExclusiveMax
	}
	into.MinLength = max(into.MinLength, other.MinLength)
	into.MaxLength = smaller(into.MaxLength, other.MaxLength)
	into.MinItems = max(into.MinItems, other.MinItems)
	into.MaxItems = smaller(into.MaxItems, other.MaxItems)
	into.MinProps = max(into.MinProps, other.MinProps)
	into.MaxProps = smaller(into.MaxProps, other.MaxProps)
}

// smaller is the smaller one of two bounds that may be absent.
func smaller(bound, other *uint64) *uint64 {
	switch {
	case bound == nil:
		return other
	case other == nil:
		return bound
	case *other < *bound:
		return other
	}
	return bound
}

// mergeProperties makes one that both schemas have a property that must match both: an allOf of them, which is
// flattened when it is needed, because a property may lead to its own object.
func mergeProperties(into, other *openapi3.Schema) {
	for name, property := range other.Properties {
		if into.Properties == nil {
			into.Properties = openapi3.Schemas{}
		}
		if mine := into.Properties[name]; mine != nil && mine.Value != property.Value {
			property = openapi3.NewSchemaRef("", &openapi3.Schema{AllOf: openapi3.SchemaRefs{mine, property}})
		}
		into.Properties[name] = property
	}
}
