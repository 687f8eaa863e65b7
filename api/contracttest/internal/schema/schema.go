// Package schema says whether a schema of a document allows a value, and if not, which keyword forbids
// it. It knows neither operations nor requests.
//
// santhosh-tekuri/jsonschema judges ([Validator], validator.go). kin-openapi, which reads the document, has
// a judge, too, but that makes float64 of numbers and has the patterns of Go. Where the two differed on real
// services, it was never the service that was wrong, so it was removed. jsonschema.go writes the schemas
// of kin-openapi as JSON Schema.
//
// What a verdict is used for decides how it errs. A schema that cannot be compiled allows anything: a right
// service must not be accused because of it, and the reader of the document has reported what it left out.
//
// formats.go and pattern.go have the formats and patterns that a schema may ask for. unnamed.go finds what
// a schema allows and a strict reader does not: members without a name. This file looks into schemas
// that are composed of others.
package schema

import (
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

// anything is the schema that allows any value. It is one for all, because each schema is compiled once.
var anything = &openapi3.Schema{}

// Of returns the schema of a reference. One that is absent allows any value.
func Of(reference *openapi3.SchemaRef) *openapi3.Schema {
	if reference == nil || reference.Value == nil {
		return anything
	}
	return reference.Value
}

// IsObject reports whether a schema is one of objects: by its type, or without a type by its properties.
func IsObject(schema *openapi3.Schema) bool {
	untyped := schema.Type == nil && len(schema.Properties) > 0
	return untyped || schema.Type.Is("object")
}

// IsNumber reports whether a schema is one of numbers, whole or not.
func IsNumber(schema *openapi3.Schema) bool { return isOfType(schema, "integer", "number") }

// IsNull reports whether a schema allows null only. The reader makes an enumeration of the type null of OpenAPI 3.1, because
// OpenAPI 3.0 has no such type.
func IsNull(schema *openapi3.Schema) bool {
	isOnlyValue := len(schema.Enum) == 1 && schema.Enum[0] == nil
	return isOnlyValue && schema.Type == nil
}

// IsScalar reports whether a schema is not one of arrays, nor of objects.
func IsScalar(schema *openapi3.Schema) bool { return !isOfType(schema, "array", "object") }

// isOfType reports whether a schema has one type only, which is one of some.
func isOfType(schema *openapi3.Schema, types ...string) bool {
	return slices.ContainsFunc(types, schema.Type.Is)
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

// Parts adds to schemas those that they are composed of, each once: a schema may be a part of its parts. A value that
// matches the first ones may have members of each of them. A schema that is nil says nothing.
func Parts(schemas ...*openapi3.Schema) []*openapi3.Schema { return withParts(nil, schemas...) }

// withParts adds schemas and their parts to those that were seen before.
func withParts(seen []*openapi3.Schema, schemas ...*openapi3.Schema) []*openapi3.Schema {
	for _, schema := range schemas {
		if schema == nil || slices.Contains(seen, schema) {
			continue
		}
		seen = append(seen, schema)
		for _, part := range slices.Concat(schema.AllOf, schema.AnyOf, schema.OneOf) {
			seen = withParts(seen, part.Value)
		}
	}
	return seen
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
