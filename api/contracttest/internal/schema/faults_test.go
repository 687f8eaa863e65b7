package schema_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/internal/schematest"
	"github.com/plantstore/plantstore/internal/testing/golden"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// judged reports whether a schema in YAML, in a document of a version, allows a value.
func judged(t *testing.T, version, text, value string, direction schema.Direction) bool {
	t.Helper()
	read := schematest.Read(t, version, `
    Self: {type: object, properties: {self: {$ref: '#/components/schemas/Self'}, n: {type: integer}}}
    Wanted: `+text)
	sent, err := jsonvalue.DecodeLoosely([]byte(value))
	must.NoError(t, err)
	return schema.Allows(read.Component("Wanted", direction), sent)
}

// The translation keeps what OpenAPI means where JSON Schema means something else.
func TestTranslation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ version, schema, valid, invalid string }{
		{"3.0.3", "{type: string}", `"a"`, `null|1`},
		{"3.0.3", "{type: string, nullable: true}", `"a"|null`, `1`},
		{"3.0.3", "{nullable: false}", `null|1`, ``},
		{"3.0.3", "{nullable: true, maxLength: 1}", `null|1|"a"`, `"ab"`},
		{"3.0.3", "{enum: [a]}", `"a"`, `null|"b"`},
		{"3.0.3", "{nullable: true, enum: [null, a]}", `null|"a"`, `"b"`},
		{"3.0.3", "{type: string, enum: [null]}", ``, `null|"null"`},
		{"3.0.3", "{type: string, nullable: true, enum: [a]}", `"a"`, `null|"b"`},
		{"3.0.3", "{type: string, nullable: true, enum: [a, null]}", `"a"|null`, `"b"`},
		{"3.1.0", "{type: [string, 'null']}", `"a"|null`, `1`},
		{"3.1.0", "{type: string, nullable: true}", `"a"`, `null`},
		{"3.0.3", "{type: integer}", `1|-1|9223372036854775807`, `1.0|1e2|1.5|9223372036854775808|"1"`},
		{"3.0.3", "{type: integer, format: int32}", `2147483647`, `2147483648`},
		{"3.1.0", "{type: [integer, 'null']}", `1|null|1.0`, `1.5`}, // 5.0 is an integer of JSON Schema 2020-12
		{"3.1.0", "{type: [integer, number]}", `1|1.5`, `"1"`},
		{"3.0.3", "{type: number}", `1|1.0|1.5`, `"1"`},
		{"3.0.3", "{type: number, minimum: 1, exclusiveMinimum: true, maximum: 3, exclusiveMaximum: false}", `1.1|3`, `1|3.1`},
		{"3.1.0", "{type: number, exclusiveMinimum: 1}", `1.1`, `1`},
		// Of two bounds the stricter one counts.
		{"3.1.0", "{type: integer, minimum: 1, exclusiveMinimum: 3, maximum: 7, exclusiveMaximum: 5}", `4`, `3|5`},
		{"3.1.0", "{type: integer, minimum: 3, exclusiveMinimum: 1, maximum: 5, exclusiveMaximum: 7}", `3|5`, `2|6`},
		{"3.0.3", "{type: string, pattern: '^(?=a).b$'}", `"ab"`, `1|"cb"`}, // package regexp has no pattern that looks ahead
		{"3.0.3", `{type: string, pattern: '^\u0061.$'}`, `"ab"`, `"bb"|"a\n"|"a\r"`},
		{"3.0.3", `{type: string, pattern: '^\s[\s.]\S$'}`, `"\u00a0\ufeffa"|" .b"`, `"a a"|"  \u00a0"|" ab"`},
		{"3.1.0", "{type: string, contentEncoding: base64}", `"no base64"`, `1`}, // what is left out of the document is not judged
		{"3.0.3", "{type: string, minLength: 2, maxLength: 2}", `"蘭🌵"`, `"蘭"`},
		{"3.0.3", "{type: string, maxLength: 9223372036854775808}", `"ab"`, `1`}, // jsonschema takes 2^63 for less than nothing
		{"3.0.3", "{type: string, format: byte}", `"RmljdXM="`, `"RmljdXM"`},
		{"3.0.3", "{format: date}", `1|"2026-11-20"`, `"1"`},
		// What the packages that read a format take, and the format does not have.
		{"3.0.3", "{type: string, format: email}", `"ficus@plants.example"`, `"Ficus <ficus@plants.example>"`},
		{"3.0.3", "{type: string, format: date-time}", `"2026-02-28T00:00:00.5Z"|"2026-02-28t00:00:00z"`, `"2026-02-28T00:00:00,5Z"|"2026-02-30T00:00:00Z"`},
		{"3.0.3", "{type: string, format: uri}", `"a:b"`, `"%zz"|"b"`},
		{"3.0.3", "{type: string, format: hostname}", `"` + strings.Repeat("a", 63) + `.a"`, `"` + strings.Repeat("a", 64) + `.a"|"a-.a"|"a..a"`},
		{"3.0.3", "{$ref: '#/components/schemas/Self', maxProperties: 0}", `{"self":{"self":{}}}`, `{"self":{"self":1}}|{"n":1.0}`},
		{"3.1.0", "{$ref: '#/components/schemas/Self', maxProperties: 0}", `{}`, `{"n":1}`},
		{"3.0.3", "{oneOf: [{type: integer}, {type: number}]}", `1.5`, `1|"1"`},
		{"3.0.3", "{type: object, additionalProperties: {not: {type: string}}}", `{"a":1}`, `{"a":"1"}`},
		{"3.0.3", "{type: number, maximum: 0.3, multipleOf: 0.1}", `0.3`, `0.30000000000000004|0.25`},
		{"3.0.3", "{oneOf: [{type: integer, format: int64}, {type: number}]}", `9223372036854775808|1.5`, `1|9223372036854775807`},
		{"3.0.3", "{allOf: [{$ref: '#/components/schemas/Wanted'}, {type: string}]}", `"a"`, `1`},
		{"3.0.3", "{required: [a], allOf: [{$ref: '#/components/schemas/Wanted'}]}", `{"a":1}`, `{}`},
		{"3.1.0", "{if: {$ref: '#/components/schemas/Wanted'}, then: {type: string}}", `"a"`, `1`},
		{"3.1.0", "{required: [b], dependentSchemas: {a: {$ref: '#/components/schemas/Wanted'}}}", `{"a":1,"b":1}`, `{"a":1}`},
		{"3.0.3", "{required: [a, a]}", `{"a":1}`, `{}`},
		{"3.0.3", "{discriminator: {propertyName: a}, oneOf: [{type: integer}, {type: number}]}", `1|1.5`, `"1"`},
		{"3.0.3", "{discriminator: {propertyName: a}, oneOf: [{type: integer}], anyOf: [{enum: [1]}]}", `1`, `2`},
	} {
		for want, values := range map[bool]string{true: c.valid, false: c.invalid} {
			for value := range strings.SplitSeq(values, "|") {
				if value != "" && judged(t, c.version, c.schema, value, schema.Received) != want {
					t.Errorf("%s, %s: allows %s: %v, want %v", c.version, c.schema, value, !want, want)
				}
			}
		}
	}
	const directed = "{type: object, required: [id, secret], properties: {id: {type: integer, readOnly: true}, secret: {type: string, writeOnly: true}}}"
	for value, direction := range map[string]schema.Direction{`{"secret":"x"}`: schema.Request, `{"id":1}`: schema.Received} {
		if !judged(t, "3.0.3", directed, value, direction) || judged(t, "3.0.3", directed, value, !direction) {
			t.Errorf("%s is judged the same in both directions", value)
		}
	}
}

// A format allows what tests try as valid, and nothing that they try as invalid.
func TestFormats(t *testing.T) {
	t.Parallel()
	var texts strings.Builder
	for _, name := range slices.Sorted(maps.Keys(schema.Formats)) {
		f := schema.Formats[name]
		fmt.Fprintf(&texts, "%s\n  valid: %q\n  invalid: %q\n", name, f.Valid, f.Invalid)
		for _, text := range f.Valid {
			if !judged(t, "3.0.3", "{type: string, format: "+name+"}", string(jsonvalue.Encode(text)), schema.Request) {
				t.Errorf("%q is no %s", text, name)
			}
		}
		for _, text := range f.Invalid {
			if judged(t, "3.0.3", "{type: string, format: "+name+"}", string(jsonvalue.Encode(text)), schema.Request) {
				t.Errorf("%q is a %s", text, name)
			}
		}
	}
	golden.Compare(t, "testdata/formats.txt", texts.String())
}

// A fault says at which place which keyword is broken.
func TestFaults(t *testing.T) {
	t.Parallel()
	text := `{"type":"object","required":["a"],"properties":{"a":{"type":"string","maxLength":2},"b":{"type":"array","items":{"type":"integer"}},
		"c":{"type":"string","writeOnly":true},"d":{"oneOf":[{"type":"integer"},{"allOf":[{"type":"string","format":"date"}]}]},
		"e":{"anyOf":[{"type":"string","maxLength":1},{"type":"string","format":"date"}]},
		"f":{"anyOf":[{"type":"object","properties":{"g":{"type":"integer"}}},{"type":"array"}]}},"additionalProperties":false}`
	wanted := schematest.Read(t, "3.0.3", "{Wanted: "+text+"}").Component("Wanted", schema.Received)
	for value, want := range map[string]string{
		`{"a":"xx","b":[1]}`:  "",
		`{}`:                  "body /a required",
		`{"a":"xxx"}`:         "body /a maxLength",
		`{"a":null}`:          "body /a nullable",
		`{"a":"","b":[1,""]}`: "body /b/1 type",
		`{"a":"","b":[1.0]}`:  "body /b/0 format",
		`{"a":"","c":""}`:     "body /c writeOnly",
		`{"a":"","x":1}`:      "body additionalProperties",
		// Of a choice one branch alone may take values of this type.
		`{"a":"","d":"x"}`:       "body /d format",
		`{"a":"","d":true}`:      "body /d oneOf",
		`{"a":"","e":"xx"}`:      "body /e anyOf",
		`{"a":"","f":{"g":"x"}}`: "body /f/g type",
		`{"a":"xxx","b":1}`:      "body /a maxLength, body /b type",
	} {
		sent, err := jsonvalue.Decode([]byte(value))
		must.NoError(t, err)
		var got []string
		for _, fault := range schema.Faults("body", wanted, sent) {
			got = append(got, fault.Where+" "+fault.Keyword)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s has the faults %v, want %s", value, got, want)
		}
	}
}

// A message does not begin with the keyword, which a fault has beside it.
func TestMessage(t *testing.T) {
	t.Parallel()
	faults := schema.Faults("body", schematest.Of(t, "{minLength: 3}"), "ab")
	if got, want := fmt.Sprint(faults), "[body: minLength: got 2, want 3]"; got != want {
		t.Errorf("the faults are %s, want %s", got, want)
	}
}

// Schemas that consist of each other have an end, and what is in a part is readOnly for the whole.
func TestPartsOfEachOther(t *testing.T) {
	t.Parallel()
	read := schematest.Read(t, "3.0.3", `
    One: {allOf: [{$ref: '#/components/schemas/Other'}, {properties: {"a b": {type: string, example: x}}}]}
    Other: {allOf: [{$ref: '#/components/schemas/One'}], readOnly: true}
    Wanted: {properties: {one: {$ref: '#/components/schemas/One'}}}`)
	sent := map[string]any{"one": map[string]any{}}
	for direction, want := range map[schema.Direction]bool{schema.Request: false, schema.Received: true} {
		if got := schema.Allows(read.Component("Wanted", direction), sent); got != want {
			t.Errorf("in direction %v it is allowed: %v", direction, got)
		}
	}
	parts := read.Component("One", schema.Request).AllOf
	if text := read.TextOf(parts[len(parts)-1].Properties["a b"]); text != `{"examples":["x"],"type":"string"}` {
		t.Errorf("a member with a space is %s", text)
	}
}

// A pet is one of its kinds, and each kind is a pet with more.
func TestKindsOfPets(t *testing.T) {
	t.Parallel()
	for _, pet := range []string{"Animal", "Pet"} { // before and after its kinds
		read := schematest.Read(t, "3.0.3", strings.ReplaceAll(`
    PET: {type: object, required: [kind, id], properties: {kind: {type: string}, id: {type: integer, writeOnly: true}}, oneOf: [{$ref: '#/components/schemas/Cat'}, {$ref: '#/components/schemas/Dog'}]}
    Cat: {allOf: [{$ref: '#/components/schemas/PET'}, {required: [lives], properties: {lives: {type: integer}}}]}
    Dog: {allOf: [{$ref: '#/components/schemas/PET'}, {required: [bark], properties: {bark: {type: string}}}]}`, "PET", pet))
		for text, want := range map[string]string{
			`{"kind":"cat","lives":9}`: "true true", `{"kind":"cat"}`: "false false", `{"lives":9}`: "false false", `{"kind":"dog","bark":"wow"}`: "true false",
		} {
			value, err := jsonvalue.Decode([]byte(text))
			must.NoError(t, err)
			got := fmt.Sprint(schema.Allows(read.Component(pet, schema.Received), value), schema.Allows(read.Component("Cat", schema.Received), value))
			if got != want {
				t.Errorf("%s as %s and Cat is allowed: %s, want %s", text, pet, got, want)
			}
		}
	}
}
