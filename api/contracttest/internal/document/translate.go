package document

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
)

// translator turns a document into one of OpenAPI 3.0 that this package and kin-openapi understand.
// What they do not understand it leaves out and reports, so that the rest can be tested. It names each
// place by a JSON Pointer.
type translator struct {
	root   map[string]any
	modern bool
	report reporter
}

// The members of these have names of the author.
var namedParts = []string{"paths", "headers", "content", "responses", "callbacks", "links"}

// hasNames reports whether the members of a place have names of the author.
func hasNames(at string) bool {
	isComponent := strings.HasPrefix(at, "/components/") && strings.Count(at, "/") == 2
	return isComponent || slices.Contains(namedParts, at[strings.LastIndex(at, "/")+1:])
}

// walk finds the schemas of a document and translates them.
func (t *translator) walk(at string, node any) {
	for i, item := range jsonvalue.List(node) {
		t.walk(fmt.Sprint(at, "/", i), item)
	}
	object := jsonvalue.Object(node)
	t.reference(at, object)
	named := hasNames(at)
	if !named {
		t.examples(at, object)
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		below := at + jsonvalue.Pointer(name)
		switch {
		case below == "/components/schemas", below == "/definitions": // Swagger 2.0
			t.schemas(below, object[name])
		case named:
			t.walk(below, object[name])
		case name == "schema":
			object[name] = t.schema(below, object[name])
		case name == "itemSchema":
			t.report("%s of OpenAPI 3.2", below)
			delete(object, name)
		case !isOfAuthor(name):
			t.walk(below, object[name])
		}
	}
}

// isOfAuthor reports whether a member holds any value, which is not part of the document.
func isOfAuthor(name string) bool {
	return strings.HasPrefix(name, "x-") || slices.Contains([]string{"example", "examples", "value"}, name)
}

// reference takes out a reference that leads nowhere, out of the document, or in a circle. The engine reads
// one document and opens no file beside it. OpenAPI 3.0 ignores what is beside a reference.
//
//	{"$ref": "other.yaml#/Thing"}          {"x-unread": "other.yaml#/Thing"}
func (t *translator) reference(at string, object map[string]any) {
	reference, refers := object["$ref"].(string)
	if !refers {
		return
	}
	if jsonvalue.Object(jsonvalue.Resolve(t.root, object)) != nil {
		maps.DeleteFunc(object, func(name string, _ any) bool { return name != "$ref" })
		return
	}
	t.report("%s: the reference %q leads to nothing in the document", at, reference)
	delete(object, "$ref")
	object[unread] = reference
}

// examples leaves out the examples that are elsewhere: sent as they stand, they would be references.
func (t *translator) examples(at string, object map[string]any) {
	if refers(object["example"]) {
		t.report("%s/example: has a reference, which is not read", at)
		delete(object, "example")
	}
	examples := jsonvalue.Object(object["examples"])
	for _, name := range slices.Sorted(maps.Keys(examples)) {
		value, has := jsonvalue.Object(jsonvalue.Resolve(t.root, examples[name]))["value"]
		if !has || refers(value) {
			t.report("%s/examples/%s: is not in the document", at, jsonvalue.Escape(name))
			delete(examples, name)
		}
	}
}

// refers reports whether there is a reference in a value.
func refers(value any) bool {
	object := jsonvalue.Object(value)
	inner := slices.Concat(jsonvalue.List(value), slices.Collect(maps.Values(object)))
	_, is := object["$ref"].(string)
	return is || slices.ContainsFunc(inner, refers)
}

// schemas translates schemas by name, or in a list.
func (t *translator) schemas(at string, node any) {
	object := jsonvalue.Object(node)
	list := jsonvalue.List(node)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		object[name] = t.schema(at+jsonvalue.Pointer(name), object[name])
	}
	for i, item := range list {
		list[i] = t.schema(fmt.Sprint(at, "/", i), item)
	}
}

// schema translates a schema.
func (t *translator) schema(at string, node any) any {
	object, isObject := node.(map[string]any)
	switch {
	case node == true:
		return map[string]any{}
	case node == false:
		// An empty one would count as none.
		return map[string]any{"not": map[string]any{"nullable": true}}
	case !isObject:
		t.report("%s: is not a schema", at)
		return map[string]any{}
	}
	t.schemas(at+"/$defs", object["$defs"])
	t.schemas(at+"/definitions", object["definitions"])
	if object["$ref"] != nil {
		siblings := t.besideReference(at, object)
		if siblings == nil {
			return object
		}
		object = siblings
	}
	if t.modern {
		modernToOld(object)
	}
	t.keywords(at, object)
	t.examples(at, object)
	t.inner(at, object)
	return object
}

// besideReference returns a schema of a reference and of what is beside it, or nil if the reference
// stands for the whole schema.
//
//	{"$ref": "#/a", "minLength": 2}        {"allOf": [{"$ref": "#/a"}], "minLength": 2}
func (t *translator) besideReference(at string, object map[string]any) map[string]any {
	siblings := maps.Clone(object)
	t.reference(at, object)
	maps.DeleteFunc(siblings, func(name string, _ any) bool {
		isSilent := slices.Contains([]string{"default", "example", "title", "description"}, name)
		return isSilent || understood[name] == "" // as $ref is
	})
	isWhole := !t.modern || len(siblings) == 0
	if object["$ref"] == nil || isWhole {
		return nil
	}
	reference := map[string]any{"$ref": object["$ref"]}
	siblings["allOf"] = append([]any{reference}, jsonvalue.List(siblings["allOf"])...)
	return siblings
}

// kind is what the value of a keyword must be.
type kind string

const (
	anything kind = "anything"
	text     kind = "text"
	number   kind = "number"
	count    kind = "count"
	boolean  kind = "boolean"
	array    kind = "array"
	object   kind = "object"
	names    kind = "names"
)

// understood are the keywords that are understood, with what their value must be.
var understood = map[string]kind{
	"type": anything, "nullable": boolean, "enum": array,
	"format": text, "pattern": text, "minLength": count, "maxLength": count,
	"minimum": number, "maximum": number, "multipleOf": number,
	"exclusiveMinimum": boolean, "exclusiveMaximum": boolean,
	"items": anything, "minItems": count, "maxItems": count, "uniqueItems": boolean,
	"properties": object, "required": names, "additionalProperties": anything,
	"minProperties": count, "maxProperties": count,
	"allOf": array, "anyOf": array, "oneOf": array, "not": anything,
	"readOnly": boolean, "writeOnly": boolean, "default": anything, "example": anything,
	"discriminator": object,
	// They constrain nothing, but kin-openapi refuses a document for them.
	"title": text, "description": text,
}

// silent are keywords that constrain nothing.
var silent = []string{
	"$schema", "$comment", "$id", "deprecated", "externalDocs", "xml", "$defs", "definitions",
}

// knownTypes are those of OpenAPI 3.0. That of OpenAPI 3.1 for null was written as nullable before.
var knownTypes = []any{"string", "integer", "number", "boolean", "array", "object"}

// keywords leaves out what is not understood. A keyword that means nothing here must not stay: kin-openapi
// would refuse the whole document for some of them.
func (t *translator) keywords(at string, schema map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(schema)) {
		wanted := understood[name]
		switch {
		case strings.HasPrefix(name, "x-"), slices.Contains(silent, name):
		case wanted == "":
			t.report("%s: the keyword %s", at, name)
			delete(schema, name)
		case !wanted.has(schema[name]):
			t.report("%s: the keyword %s: %.40s is not a value of it", at, name, jsonvalue.Encode(schema[name]))
			delete(schema, name)
		}
	}
	if schema["type"] != nil && !slices.Contains(knownTypes, schema["type"]) {
		t.report("%s: the type %.40s", at, jsonvalue.Encode(schema["type"]))
		delete(schema, "type")
	}
}

// mostCount is the largest length that is a length, and not a way to write that there is no limit.
const mostCount = 1 << 40

// has reports whether a value is of the kind.
func (k kind) has(value any) bool {
	if k == anything {
		return true
	}
	switch value := value.(type) {
	case string:
		return k == text
	case bool:
		return k == boolean
	case map[string]any:
		return k == object
	case json.Number:
		return k.hasNumber(value)
	case []any:
		return k.hasItems(value)
	}
	return false
}

// hasItems reports whether an array is of the kind. An empty one says nothing, but for that of the names of members:
// "required": [].
func (k kind) hasItems(items []any) bool {
	if k == array {
		return len(items) > 0
	}
	isNoText := func(item any) bool { return !text.has(item) }
	return k == names && !slices.ContainsFunc(items, isNoText)
}

// hasNumber reports whether a number is of the kind. A length must be whole and not absurd.
func (k kind) hasNumber(value json.Number) bool {
	if k == count {
		whole, err := value.Int64()
		return err == nil && min(max(whole, 0), mostCount) == whole
	}
	_, err := value.Float64()
	return k == number && err == nil
}

// A schema with one of these says itself whether it allows null.
var saysNull = []string{"type", "nullable", "enum", "allOf", "anyOf", "oneOf", "not", "$ref"}

// inner translates the schemas in a schema.
func (t *translator) inner(at string, schema map[string]any) {
	if schema["type"] == "array" && schema["items"] == nil {
		schema["items"] = map[string]any{}
	}
	for _, name := range []string{"items", "not", "additionalProperties"} {
		if isSchema(name, schema[name]) {
			schema[name] = t.schema(at+"/"+name, schema[name])
		}
	}
	for _, name := range []string{"properties", "allOf", "anyOf", "oneOf"} {
		t.schemas(at+"/"+name, schema[name])
	}
	// A schema without a type allows null (OpenAPI 3.0.3, "nullable").
	if !slices.ContainsFunc(saysNull, func(name string) bool { return schema[name] != nil }) {
		schema["nullable"] = true
	}
}

// isSchema reports whether the value of a keyword is a schema. OpenAPI 3.0 has true and false for
// additional properties, and nowhere else.
func isSchema(keyword string, value any) bool {
	_, isBool := value.(bool)
	if isBool && keyword == "additionalProperties" {
		return false
	}
	return value != nil
}
