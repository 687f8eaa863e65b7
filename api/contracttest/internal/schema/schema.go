// Package schema says whether a schema of a document allows a value, and if not, which keyword forbids
// it. It knows neither operations nor requests.
//
// Two libraries judge, because what one of them gets wrong, a test would not see:
//
//   - kin-openapi is the first judge ([Faults] and [Allows]). Services in Go validate with it, too, and
//     it names the keyword that is broken.
//   - santhosh-tekuri/jsonschema is the second one ([SecondJudge]). It reads the document as it was
//     published, so it shares no step with the first: neither the translation of OpenAPI 3.1 nor the
//     reading of numbers, which kin-openapi makes float64. Where the two differ, one of them is wrong,
//     or the document is unclear; that is a failure of its own kind, and no fault of the service.
//
// formats.go and pattern.go have the formats and patterns that both judges know. exact.go finds what a
// schema allows and a strict reader does not: members without a name, and integers that are written
// as fractions. This file looks into schemas that are composed of others.
package schema

import (
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

// Of returns the schema of a reference, which may be absent.
func Of(reference *openapi3.SchemaRef) *openapi3.Schema {
	if reference == nil || reference.Value == nil {
		return &openapi3.Schema{}
	}
	return reference.Value
}

// IsObject reports whether a schema is one of objects: by its type, or without a type by its properties.
func IsObject(schema *openapi3.Schema) bool {
	untyped := schema.Type == nil && len(schema.Properties) > 0
	return untyped || schema.Type.Is("object")
}

// IsNumber reports whether a schema is one of numbers, whole or not.
func IsNumber(schema *openapi3.Schema) bool {
	return schema.Type.Is("integer") || schema.Type.Is("number")
}

// IsClosed reports whether a schema forbids members that it does not name.
func IsClosed(schema *openapi3.Schema) bool {
	has := schema.AdditionalProperties.Has
	return has != nil && !*has
}

// IsComposed reports whether a schema consists of others.
func IsComposed(schema *openapi3.Schema) bool {
	return len(schema.AllOf)+len(schema.OneOf)+len(schema.AnyOf) > 0 || schema.Not != nil
}

// Parts adds to schemas those that they are composed of. A value that matches the first ones may have
// members of each of them.
func Parts(schemas ...*openapi3.Schema) (all []*openapi3.Schema) {
	for _, schema := range schemas {
		if slices.Contains(all, schema) {
			continue
		}
		all = append(all, schema)
		for _, part := range slices.Concat(schema.AllOf, schema.AnyOf, schema.OneOf) {
			all = append(all, Parts(part.Value)...)
		}
	}
	return all
}

// Items are the schemas of the items of arrays.
func Items(schemas []*openapi3.Schema) (all []*openapi3.Schema) {
	for _, schema := range schemas {
		if schema.Items != nil {
			all = append(all, schema.Items.Value)
		}
	}
	return all
}

// Members are the schemas of a member of objects. One that no schema names has those of additional
// properties.
func Members(schemas []*openapi3.Schema, name string) (all []*openapi3.Schema) {
	for _, schema := range schemas {
		if property := schema.Properties[name]; property != nil {
			all = append(all, property.Value)
		}
	}
	if len(all) > 0 {
		return all
	}
	for _, schema := range schemas {
		if more := schema.AdditionalProperties.Schema; more != nil {
			all = append(all, more.Value)
		}
	}
	return all
}

// IsWriteOnly reports whether a response leaves out what has one of some schemas.
func IsWriteOnly(schemas []*openapi3.Schema) bool {
	return slices.ContainsFunc(schemas, func(s *openapi3.Schema) bool { return s.WriteOnly })
}
