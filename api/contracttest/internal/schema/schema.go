// Package schema says whether a schema of a document allows a value, and if not, which keyword forbids
// it. It knows neither operations nor requests.
//
// There is one language of schemas: JSON Schema 2020-12, as santhosh-tekuri/jsonschema has compiled it. A [Library]
// collects the schemas of a document and writes those of OpenAPI 3.0 in that language (library.go, lift.go), once.
// compile.go compiles them, for requests and for responses, and cycles.go cuts those that lead to themselves. All other
// packages walk the result, and [Faults] judges by it (faults.go).
//
// What a verdict is used for decides how it errs. A schema that cannot be compiled allows anything: a right
// service must not be accused because of it, and the library reports it.
//
// formats.go and pattern.go have the formats and patterns that a schema may ask for. unnamed.go finds members that a schema
// allows, but does not name. place.go finds where in the document a value is described. This file looks into schemas.
package schema

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
)

// Schema is a compiled schema. Its Location is a JSON Pointer to it in the document, and no schema of it refers to another
// one: a reference was replaced by what it leads to.
type Schema = jsonschema.Schema

// draft is the version of JSON Schema.
const draft = 2020

var isTrue = true

// anything is the schema that allows any value.
var anything = &Schema{Bool: &isTrue, DraftVersion: draft}

// Of returns a schema, or one that allows any value if it is absent.
func Of(schema *Schema) *Schema {
	if schema == nil {
		return anything
	}
	return schema
}

// typesOf are the types of a schema but null.
func typesOf(schema *Schema) (names []string) {
	if schema.Types == nil {
		return nil
	}
	return slices.DeleteFunc(schema.Types.ToStrings(), func(name string) bool { return name == "null" })
}

// TypeOf is the only type of a schema, which may allow null beside it. It is empty if the schema has several types, or
// none.
func TypeOf(schema *Schema) string {
	if names := typesOf(schema); len(names) == 1 {
		return names[0]
	}
	return ""
}

// HasType reports whether a schema says which types it allows.
func HasType(schema *Schema) bool { return schema.Types != nil }

// AllowsType reports whether a schema that has types allows one of them.
func AllowsType(schema *Schema, name string) bool {
	return schema.Types != nil && slices.Contains(schema.Types.ToStrings(), name)
}

// IsObject reports whether a schema is one of objects: by its type, or without a type by its properties.
func IsObject(schema *Schema) bool {
	untyped := schema.Types == nil && len(schema.Properties) > 0
	return untyped || TypeOf(schema) == "object"
}

// IsNumber reports whether a schema is one of numbers, whole or not.
func IsNumber(schema *Schema) bool {
	return slices.Contains([]string{"integer", "number"}, TypeOf(schema))
}

// IsNull reports whether a schema allows null only.
func IsNull(schema *Schema) bool {
	if schema.Types != nil {
		return len(typesOf(schema)) == 0
	}
	values := ValuesOf(schema)
	return len(values) == 1 && values[0] == nil
}

// IsScalar reports whether a schema is not one of arrays, nor of objects.
func IsScalar(schema *Schema) bool {
	return !slices.Contains([]string{"array", "object"}, TypeOf(schema))
}

// IsForbidden reports whether a schema allows no value because its member is not sent in the direction: it is readOnly
// in a request, or writeOnly in a response.
func IsForbidden(schema *Schema) bool { return schema.Bool != nil && !*schema.Bool }

// IsClosed reports whether a schema forbids members that it does not name.
func IsClosed(schema *Schema) bool { return schema.AdditionalProperties == false }

// More is the schema of members that a schema does not name, or nil if it says nothing of them.
func More(schema *Schema) *Schema {
	more, _ := schema.AdditionalProperties.(*Schema)
	return more
}

// IsComposed reports whether a schema consists of others.
func IsComposed(schema *Schema) bool {
	return len(schema.AllOf)+len(schema.OneOf)+len(schema.AnyOf) > 0 || schema.Not != nil
}

// ValuesOf are the values of an enumeration, or none.
func ValuesOf(schema *Schema) []any {
	if schema.Enum == nil {
		return nil
	}
	return schema.Enum.Values
}

// Example is the example of a schema, or nil.
func Example(schema *Schema) any {
	if len(schema.Examples) == 0 {
		return nil
	}
	return schema.Examples[0]
}

// FormatOf is the format that the document gives a schema, or nothing.
func FormatOf(schema *Schema) string {
	if schema.Format == nil {
		return ""
	}
	return strings.TrimPrefix(schema.Format.Name, hidden)
}

// DefaultOf is the default of a schema, or nil.
func DefaultOf(schema *Schema) any {
	if schema.Default == nil {
		return nil
	}
	return *schema.Default
}

// Parts adds to schemas those that they are composed of, each once: a schema may be a part of its parts. A value that
// matches the first ones may have members of each of them. A schema that is nil says nothing.
func Parts(schemas ...*Schema) []*Schema { return withParts(nil, partsOf, schemas...) }

// partsOf are the schemas that a schema is composed of, of which each or some must allow a value.
func partsOf(schema *Schema) []*Schema {
	return slices.Concat(schema.AllOf, schema.AnyOf, schema.OneOf)
}

// withParts adds schemas, and the parts that these have, to those that were seen before.
func withParts(seen []*Schema, parts func(*Schema) []*Schema, schemas ...*Schema) []*Schema {
	for _, schema := range schemas {
		if schema == nil || slices.Contains(seen, schema) {
			continue
		}
		seen = withParts(append(seen, schema), parts, parts(schema)...)
	}
	return seen
}

// Items are the schemas of the items of arrays.
func Items(schemas []*Schema) []*Schema {
	return innerOf(schemas, func(schema *Schema) *Schema { return schema.Items2020 })
}

// Members are the schemas of a member of objects. One that no schema names has those of additional
// properties.
func Members(schemas []*Schema, name string) []*Schema {
	properties := innerOf(schemas, func(schema *Schema) *Schema { return schema.Properties[name] })
	if len(properties) > 0 {
		return properties
	}
	return innerOf(schemas, More)
}

// innerOf are the schemas within some others, of those that have one.
func innerOf(schemas []*Schema, inner func(*Schema) *Schema) (all []*Schema) {
	for _, schema := range schemas {
		if found := inner(schema); found != nil {
			all = append(all, found)
		}
	}
	return all
}

// Each calls visit with a schema, and with all schemas in it, each once.
func Each(schema *Schema, visit func(*Schema)) {
	seen := map[*Schema]bool{}
	var enter func(*Schema) *Schema
	enter = func(schema *Schema) *Schema {
		if !seen[schema] {
			seen[schema] = true
			visit(schema)
			replaceInner(schema, enter)
		}
		return schema
	}
	enter(schema)
}

// replaceInner replaces each schema in another one, in an order that is the same each time.
func replaceInner(schema *Schema, replace func(*Schema) *Schema) {
	for _, named := range []map[string]*Schema{schema.Properties, schema.DependentSchemas} {
		for _, name := range jsonvalue.Names(named) {
			named[name] = replace(named[name])
		}
	}
	for _, pattern := range slices.SortedFunc(maps.Keys(schema.PatternProperties), comparePatterns) {
		schema.PatternProperties[pattern] = replace(schema.PatternProperties[pattern])
	}
	if more := More(schema); more != nil {
		schema.AdditionalProperties = replace(more)
	}
	for _, parts := range [][]*Schema{schema.AllOf, schema.AnyOf, schema.OneOf, schema.PrefixItems} {
		for i, part := range parts {
			parts[i] = replace(part)
		}
	}
	for _, single := range []**Schema{
		&schema.Items2020, &schema.Not, &schema.If, &schema.Then, &schema.Else, &schema.Contains, &schema.PropertyNames,
		&schema.UnevaluatedItems, &schema.UnevaluatedProperties,
	} {
		if *single != nil {
			*single = replace(*single)
		}
	}
}

// comparePatterns orders patterns by their text.
func comparePatterns(one, other jsonschema.Regexp) int {
	return cmp.Compare(one.String(), other.String())
}

// Keyword is the value of a keyword of a schema, which is zero where the schema does not have it. It can be set. It is the
// field of the same name: MinItems for minItems.
func Keyword(schema *Schema, name string) reflect.Value {
	if name == "items" {
		name = "items2020"
	}
	return reflect.ValueOf(schema).Elem().FieldByName(strings.ToUpper(name[:1]) + name[1:])
}

// Has reports whether a schema has a keyword.
func Has(schema *Schema, name string) bool { return !Keyword(schema, name).IsZero() }

// NewEnum returns an enumeration of some values. Package jsonschema makes one only while it compiles a schema.
func NewEnum(values []any) *jsonschema.Enum {
	const address = "contract://enum"
	compiler := jsonschema.NewCompiler()
	_ = compiler.AddResource(address, map[string]any{"enum": values}) // MustCompile panics without it
	return compiler.MustCompile(address).Enum
}

// AllOf is a schema that allows what some others allow together.
func AllOf(schemas ...*Schema) *Schema { return &Schema{AllOf: schemas, DraftVersion: draft} }

// IsSame reports whether two schemas, which may be nil, are one in the document, maybe for values in different directions.
func IsSame(schema, other *Schema) bool {
	return schema != nil && other != nil && schema.Location != "" && schema.Location == other.Location
}
