package contracttest

import (
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"

	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

// flatten returns a schema without allOf that allows the same, or nearly: values
// made from it are tried on the original. The result is the same each time, so
// that a recursion is seen.
func (g *generator) flatten(s *openapi3.Schema) *openapi3.Schema {
	if len(s.AllOf) == 0 {
		return s
	}
	if flat := g.flattened[s]; flat != nil {
		return flat
	}
	flat := *s
	flat.AllOf = nil
	flat.Properties = maps.Clone(s.Properties)
	if g.enter(s) { // else it is composed of itself
		defer g.leave(s)
		for _, ref := range s.AllOf {
			g.merge(&flat, g.flatten(ref.Value))
		}
	}
	g.flattened[s] = &flat
	return &flat
}

// merge makes a schema allow only what another one allows, too.
func (g *generator) merge(s, other *openapi3.Schema) {
	s.Type, s.Items, s.Not = cmp.Or(s.Type, other.Type), cmp.Or(s.Items, other.Items), cmp.Or(s.Not, other.Not)
	s.Format, s.Pattern = cmp.Or(s.Format, other.Format), cmp.Or(s.Pattern, other.Pattern)
	s.MultipleOf = cmp.Or(s.MultipleOf, other.MultipleOf)
	if len(s.Enum) == 0 {
		s.Enum = other.Enum
	} else if len(other.Enum) > 0 {
		s.Enum = slices.DeleteFunc(slices.Clone(s.Enum), func(v any) bool {
			return !slices.ContainsFunc(other.Enum, func(w any) bool { return string(jsonvalue.Encode(v)) == string(jsonvalue.Encode(w)) })
		})
	}
	if other.Min != nil && (s.Min == nil || *other.Min > *s.Min) {
		s.Min, s.ExclusiveMin = other.Min, other.ExclusiveMin
	}
	if other.Max != nil && (s.Max == nil || *other.Max < *s.Max) {
		s.Max, s.ExclusiveMax = other.Max, other.ExclusiveMax
	}
	s.MinLength, s.MaxLength = max(s.MinLength, other.MinLength), smaller(s.MaxLength, other.MaxLength)
	s.MinItems, s.MaxItems = max(s.MinItems, other.MinItems), smaller(s.MaxItems, other.MaxItems)
	s.MinProps, s.MaxProps = max(s.MinProps, other.MinProps), smaller(s.MaxProps, other.MaxProps)
	s.UniqueItems = s.UniqueItems || other.UniqueItems
	s.ReadOnly, s.WriteOnly = s.ReadOnly || other.ReadOnly, s.WriteOnly || other.WriteOnly
	s.Nullable = s.Nullable && other.Nullable
	if len(s.OneOf) == 0 {
		s.OneOf = other.OneOf
	}
	if len(s.AnyOf) == 0 {
		s.AnyOf = other.AnyOf
	}
	if s.AdditionalProperties.Has == nil && s.AdditionalProperties.Schema == nil {
		s.AdditionalProperties = other.AdditionalProperties
	}
	s.Required = slices.Concat(s.Required, other.Required)
	slices.Sort(s.Required)
	s.Required = slices.Compact(s.Required)
	for name, property := range other.Properties {
		if s.Properties == nil {
			s.Properties = openapi3.Schemas{}
		}
		if mine := s.Properties[name]; mine != nil && mine.Value != property.Value {
			property = openapi3.NewSchemaRef("", &openapi3.Schema{AllOf: openapi3.SchemaRefs{mine, property}})
		}
		s.Properties[name] = property
	}
}

func smaller(a, b *uint64) *uint64 {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

// branches returns what a schema with oneOf or anyOf may be: the schema merged
// with each of them.
func (g *generator) branches(s *openapi3.Schema) (all []*openapi3.Schema) {
	for _, ref := range slices.Concat(s.OneOf, s.AnyOf) {
		if branch := g.flattened[ref.Value]; branch != nil && len(s.Properties) == 0 && s.Type == nil {
			all = append(all, branch)
			continue
		}
		merged := *s
		merged.OneOf, merged.AnyOf = nil, nil
		merged.Properties = maps.Clone(s.Properties)
		merged.Nullable = s.Nullable || ref.Value.Nullable
		g.merge(&merged, g.flatten(ref.Value))
		all = append(all, &merged)
	}
	return all
}

// fewer keeps one variant of each keyword at each place, where a schema is
// followed for a second time.
func (g *generator) fewer(all []variant) []variant {
	if !g.recursive() {
		return all
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(v variant) bool {
		key := fmt.Sprint(v.pointer, v.keyword, v.valid, v.demand)
		defer func() { seen[key] = true }()
		return seen[key]
	})
}
