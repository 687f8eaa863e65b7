package document

import (
	"encoding/json"
	"slices"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
)

// modernToOld writes what a schema of OpenAPI 3.1 says as OpenAPI 3.0 says it.
//
//	{"const": "a"}                         {"enum": ["a"]}
//	{"type": "integer", "examples": [1]}   {"type": "integer", "example": 1}
func modernToOld(schema map[string]any) {
	delete(schema, "nullable") // it has no meaning any more
	if value, has := schema["const"]; has {
		schema["enum"] = []any{value}
		delete(schema, "const")
	}
	oldBound(schema, "exclusiveMinimum", "minimum", func(bound, exclusive float64) bool {
		return bound > exclusive
	})
	oldBound(schema, "exclusiveMaximum", "maximum", func(bound, exclusive float64) bool {
		return bound < exclusive
	})
	if examples := jsonvalue.List(schema["examples"]); len(examples) > 0 && schema["example"] == nil {
		schema["example"] = examples[0]
	}
	delete(schema, "examples")
	oldTypes(schema)
}

// oldBound writes an exclusive bound, which is a number, as a bound that is exclusive. Of two bounds
// the stricter one is kept.
//
//	{"exclusiveMinimum": 0}                {"minimum": 0, "exclusiveMinimum": true}
func oldBound(schema map[string]any, exclusive, inclusive string, isStricter func(bound, exclusive float64) bool) {
	limit, isNumber := schema[exclusive].(json.Number)
	if !isNumber {
		return
	}
	if other, has := schema[inclusive].(json.Number); has {
		excluded, _ := limit.Float64() // one that is too large is infinite
		included, _ := other.Float64()
		if isStricter(included, excluded) {
			delete(schema, exclusive)
			return
		}
	}
	schema[inclusive] = limit
	schema[exclusive] = true
}

// oldTypes writes several types as a choice, and the type null as nullable.
//
//	{"type": ["string", "null"]}           {"type": "string", "nullable": true}
//	{"type": ["string", "integer"]}        {"anyOf": [{"type": "string"}, {"type": "integer"}]}
func oldTypes(schema map[string]any) {
	types := typesOf(schema)
	if len(types) == 0 {
		untypedNull(schema)
		return
	}
	allowsNull := slices.Contains(types, "null")
	types = slices.DeleteFunc(types, func(name any) bool { return name == "null" })
	delete(schema, "type")
	switch {
	case len(types) == 0:
		schema["enum"] = []any{nil}
	case len(types) == 1:
		schema["type"] = types[0]
	case schema["anyOf"] == nil:
		schema["anyOf"] = choices(types)
	}
	if allowsNull && !forbidsNull(schema) {
		schema["nullable"] = true
	}
}

// typesOf are the types of a schema, if it has a list of them. Null alone is one, too.
func typesOf(schema map[string]any) []any {
	if schema["type"] == "null" {
		return []any{"null"}
	}
	return jsonvalue.List(schema["type"])
}

// untypedNull writes that a schema without a type allows null, because it has null among its values.
func untypedNull(schema map[string]any) {
	values := jsonvalue.List(schema["enum"])
	if schema["type"] == nil && slices.Contains(values, nil) {
		schema["nullable"] = true
	}
}

// forbidsNull reports whether a schema has values, and null is none of them.
func forbidsNull(schema map[string]any) bool {
	values := jsonvalue.List(schema["enum"])
	return schema["enum"] != nil && !slices.Contains(values, nil)
}

// choices are schemas that have a type each.
func choices(types []any) (all []any) {
	for _, name := range types {
		all = append(all, map[string]any{"type": name})
	}
	return all
}
