package schema

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
)

// The keywords that are understood: in all versions, in OpenAPI 3.0 alone, and in OpenAPI 3.1.
var (
	understood = strings.Fields(`type enum format pattern minLength maxLength minimum maximum multipleOf exclusiveMinimum exclusiveMaximum
		items minItems maxItems uniqueItems properties required additionalProperties minProperties maxProperties
		allOf anyOf oneOf not readOnly writeOnly default example discriminator title description`)
	understoodOld    = []string{"nullable"}
	understoodModern = strings.Fields(`const if then else prefixItems contains minContains maxContains unevaluatedItems
		patternProperties propertyNames unevaluatedProperties dependentRequired dependentSchemas`)
)

// annotations are keywords that a reference makes meaningless.
var annotations = []string{"default", "example", "title", "description"}

// silent are keywords that constrain nothing. Without them jsonschema takes no other dialect for the schema.
var silent = []string{"$schema", "$comment", "$id", "deprecated", "externalDocs", "xml"}

// silentModern are those of OpenAPI 3.1: nullable has no meaning any more.
var silentModern = []string{"examples", "nullable"}

// kept are such keywords that references lead through.
var kept = []string{"$defs", "definitions", "discriminator"}

// isSilent reports whether a keyword constrains nothing.
func (l *Library) isSilent(keyword string) bool {
	return slices.Contains(silent, keyword) || l.modern && slices.Contains(silentModern, keyword)
}

// understands reports whether a keyword says something.
func (l *Library) understands(keyword string) bool {
	others := understoodOld
	if l.modern {
		others = understoodModern
	}
	return slices.Contains(understood, keyword) || slices.Contains(others, keyword)
}

// onlyUnderstood leaves out of a schema the keywords that are not understood, and reports those of them that may constrain
// something.
func (l *Library) onlyUnderstood(at string, schema map[string]any) {
	for _, name := range jsonvalue.Names(schema) {
		isKept := strings.HasPrefix(name, "x-") || slices.Contains(kept, name)
		if isKept || l.understands(name) {
			continue
		}
		if !l.isSilent(name) {
			l.report("%s: the keyword %s", at, name)
		}
		delete(schema, name)
	}
}

// onlyRight leaves out of a schema the keywords with a value that is wrong, which it reports, and lengths that are no limit.
func (l *Library) onlyRight(at string, schema map[string]any) {
	if Refers(schema["example"]) {
		l.report("%s/example: has a reference, which is not read", at)
		delete(schema, "example")
	}
	for _, name := range counts {
		l.count(at, schema, name)
	}
	if _, isBool := schema["nullable"].(bool); schema["nullable"] != nil && !isBool {
		l.leaveOutWrong(at, schema, "nullable")
	}
	if values, isList := schema["enum"].([]any); isList && len(values) == 0 {
		l.leaveOutWrong(at, schema, "enum")
	}
}

// leaveOutWrong leaves out a keyword whose value is not one that it may have, and reports it.
func (l *Library) leaveOutWrong(at string, schema map[string]any, name string) {
	l.report("%s: the keyword %s: %.40s is not a value of it", at, name, jsonvalue.Encode(schema[name]))
	delete(schema, name)
}

// counts are the keywords with lengths.
var counts = []string{"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains"}

// optionalCounts are those of which 0 is no limit. Of minContains it is one: without it, an array contains one item at least.
var optionalCounts = []string{"minLength", "minItems", "minProperties"}

// maxCount is the largest length. Larger ones mean that there is no limit.
const maxCount = 1 << 40

// count leaves out a length that is no limit, and reports one that is too large for jsonschema. A value that is no length at
// all stays: jsonschema finds it.
func (l *Library) count(at string, schema map[string]any, name string) {
	number, _ := schema[name].(json.Number)
	size, _ := number.Int64() // the largest one if it is out of range
	switch {
	case size > maxCount:
		l.leaveOutWrong(at, schema, name)
	case number == "0" && slices.Contains(optionalCounts, name):
		delete(schema, name)
	}
}

// Refers reports whether there is a reference in a value, which sent as it stands would mean nothing.
func Refers(value any) bool {
	object := jsonvalue.Object(value)
	for _, inner := range object {
		if Refers(inner) {
			return true
		}
	}
	_, is := object["$ref"].(string)
	return is || slices.ContainsFunc(jsonvalue.List(value), Refers)
}

// liftKeywords writes what is left of a schema as JSON Schema 2020-12, or in the one form of it that
// the engine knows.
//
//	{"example": 1}                         {"examples": [1]}
//	{"const": "a"}                         {"enum": ["a"]}
func (l *Library) liftKeywords(schema map[string]any) {
	if example := schema["example"]; example != nil {
		schema["examples"] = []any{example}
	}
	delete(schema, "example")
	if value, has := schema["const"]; has {
		schema["enum"] = []any{value}
		delete(schema, "const")
	}
	if required := jsonvalue.List(schema["required"]); required != nil {
		schema["required"] = withoutRepeated(required)
	}
	liftTypes(schema)
	liftDiscriminated(schema)
	if !l.modern {
		liftNullable(schema)
		liftBound(schema, "exclusiveMinimum", "minimum")
		liftBound(schema, "exclusiveMaximum", "maximum")
	}
	l.liftFormat(schema)
}

// withoutRepeated leaves out of a list each name that comes earlier in it. Of other items, which are wrong, it leaves out none.
func withoutRepeated(list []any) []any {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(list), func(item any) bool {
		name, isText := item.(string)
		was := seen[name]
		seen[name] = true
		return isText && was
	})
}

// liftNullable adds null to the type.
//
//	{"type": "string", "nullable": true}   {"type": ["string", "null"]}
func liftNullable(schema map[string]any) {
	if schema["nullable"] == true && schema["type"] != nil {
		schema["type"] = []any{schema["type"], "null"}
	}
	delete(schema, "nullable")
}

// liftBound writes an exclusive bound as a number.
//
//	{"minimum": 0, "exclusiveMinimum": true}   {"exclusiveMinimum": 0}
func liftBound(schema map[string]any, exclusive, inclusive string) {
	isExclusive := schema[exclusive] == true
	delete(schema, exclusive)
	if bound := schema[inclusive]; isExclusive && bound != nil {
		schema[exclusive] = bound
		delete(schema, inclusive)
	}
}

// liftTypes writes several types as a choice, unless the schema is one. Null beside one type stays, but not if an enumeration
// does not have it.
//
//	{"type": ["string", "integer"]}                {"anyOf": [{"type": "string"}, {"type": "integer"}]}
//	{"type": ["string", "null"], "enum": ["a"]}    {"type": "string", "enum": ["a"]}
func liftTypes(schema map[string]any) {
	types := jsonvalue.List(schema["type"])
	values := jsonvalue.List(schema["enum"])
	others := slices.DeleteFunc(slices.Clone(types), func(name any) bool { return name == "null" })
	forbidsNull := values != nil && !slices.Contains(values, nil)
	switch {
	case len(others) == 1 && forbidsNull:
		schema["type"] = others[0]
	case len(others) > 1 && schema["anyOf"] == nil:
		delete(schema, "type")
		var choices []any
		for _, name := range types {
			choices = append(choices, map[string]any{"type": name})
		}
		schema["anyOf"] = choices
	}
}

// liftDiscriminated writes oneOf as anyOf if a discriminator says which of the schemas a value is of: others may allow it, too.
func liftDiscriminated(schema map[string]any) {
	if schema["discriminator"] != nil && schema["oneOf"] != nil && schema["anyOf"] == nil {
		schema["anyOf"] = schema["oneOf"]
		delete(schema, "oneOf")
	}
}

// liftFormat notes the format of a schema. An integer always has one, with its size: a number such as 1.0 is no integer to
// a service, and jsonschema takes it.
//
//	{"type": "integer", "format": "int32"}   {"type": "integer", "format": "integer of int32"}
//	{"type": "integer"}                      {"type": "integer", "format": "integer of "}
func (l *Library) liftFormat(schema map[string]any) {
	format, _ := schema["format"].(string)
	types := append(jsonvalue.List(schema["type"]), schema["type"]) // one of them is all there is
	if slices.Contains(types, any("integer")) {
		format = hidden + format
		schema["format"] = format
	}
	if format != "" {
		l.formats[format] = true
	}
}
