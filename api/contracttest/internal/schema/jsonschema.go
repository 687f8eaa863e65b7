package schema

import (
	"fmt"
	"net/url"
	"slices"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
)

// jsonSchemas makes JSON Schema 2020-12 of schemas of a document.
type jsonSchemas struct {
	root   map[string]any
	modern bool
}

// whole is a schema with all those that it refers to.
func (j jsonSchemas) whole(node any, direction Direction) map[string]any {
	definitions := map[string]any{}
	schema := j.translate(node, direction, definitions)
	return map[string]any{"$defs": definitions, "allOf": []any{schema}}
}

// The keywords whose value is a schema, or a list of schemas or schemas by name. Others that mean the
// same in JSON Schema are copied.
var (
	withSchema  = []string{"items", "additionalProperties", "not", "contains", "if", "then", "else", "propertyNames", "unevaluatedItems", "unevaluatedProperties"}
	withSchemas = []string{"allOf", "anyOf", "oneOf", "prefixItems", "properties", "patternProperties", "dependentSchemas"}
	meaningSame = []string{
		"type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
		"pattern", "format", "minItems", "maxItems", "uniqueItems", "minContains", "maxContains", "required", "dependentRequired",
		"minProperties", "maxProperties",
	}
)

// translate makes a JSON Schema of a schema of the document. What it refers to it adds to definitions.
func (j jsonSchemas) translate(node any, direction Direction, definitions map[string]any) any {
	schema, isObject := node.(map[string]any)
	if !isObject {
		return node
	}
	inner := func(_ string, part any) any { return j.translate(part, direction, definitions) }
	made := map[string]any{}
	if reference, refers := schema["$ref"].(string); refers {
		if _, known := definitions[reference]; !known {
			definitions[reference] = true // it may refer to itself
			definitions[reference] = inner("", jsonvalue.Lookup(j.root, reference))
		}
		made["$ref"] = "#/$defs/" + url.PathEscape(jsonvalue.Escape(reference))
		if !j.modern {
			return made // OpenAPI 3.0 ignores what is beside it
		}
	}
	for keyword, value := range schema {
		switch {
		case slices.Contains(meaningSame, keyword):
			made[keyword] = value
		case slices.Contains(withSchema, keyword):
			made[keyword] = inner(keyword, value)
		case slices.Contains(withSchemas, keyword):
			made[keyword] = jsonvalue.Map(value, inner)
		}
	}
	j.leaveOut(schema, made, direction)
	integers(schema, made)
	if !j.modern {
		oldKeywords(schema, made)
	}
	return made
}

// leaveOut forbids members that are not sent in a direction, and does not require them.
func (j jsonSchemas) leaveOut(schema, made map[string]any, direction Direction) {
	properties := jsonvalue.Object(made["properties"])
	for name := range properties {
		if j.lacks(schema, name, direction) {
			properties[name] = false
		}
	}
	made["required"] = slices.DeleteFunc(slices.Clone(jsonvalue.List(schema["required"])), func(name any) bool {
		return j.lacks(schema, fmt.Sprint(name), direction)
	})
}

// lacks reports whether a member is not sent in a direction.
func (j jsonSchemas) lacks(schema map[string]any, name string, direction Direction) bool {
	keyword := "readOnly"
	if direction == Received {
		keyword = "writeOnly"
	}
	property := jsonvalue.Object(schema["properties"])[name]
	if jsonvalue.Object(jsonvalue.Resolve(j.root, property))[keyword] == true {
		return true
	}
	return slices.ContainsFunc(jsonvalue.List(schema["allOf"]), func(part any) bool {
		other := jsonvalue.Object(jsonvalue.Resolve(j.root, part))
		return other["properties"] != nil && j.lacks(other, name, direction)
	})
}

// typesOf lists the types of a schema.
func typesOf(schema map[string]any) []any {
	if types := jsonvalue.List(schema["type"]); len(types) > 0 {
		return types
	}
	if schema["type"] == nil {
		return nil
	}
	return []any{schema["type"]}
}

// integers makes a number such as 1.0 no integer, and bounds integers without a bound as services do.
func integers(schema, made map[string]any) {
	types := typesOf(schema)
	if !slices.Contains(types, "integer") || slices.Contains(types, "number") {
		return
	}
	made["format"] = integerFormat(64)
	if schema["format"] == "int32" {
		made["format"] = integerFormat(32)
	}
}

// oldKeywords translates nullable and the exclusive bounds of OpenAPI 3.0.
func oldKeywords(schema, made map[string]any) {
	if types := typesOf(schema); schema["nullable"] == true && len(types) > 0 {
		made["type"] = append(slices.Clone(types), "null")
	}
	for exclusive, bound := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		delete(made, exclusive)
		if schema[exclusive] == true && schema[bound] != nil {
			delete(made, bound)
			made[exclusive] = schema[bound]
		}
	}
}
