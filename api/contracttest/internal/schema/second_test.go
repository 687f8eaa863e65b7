package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// judged is what the second oracle says of a value by a schema in YAML, in a document of a
// version.
func judged(t *testing.T, version, text, value string, response bool) bool {
	t.Helper()
	whole := fmt.Sprintf("openapi: %s\ncomponents:\n  schemas:\n    Self: {type: object, properties: {self: {$ref: '#/components/schemas/Self'}, n: {type: integer}}}\nx: %s\n", version, text)
	root, err := document.Decode([]byte(whole))
	must.NoError(t, err)
	v, err := jsonvalue.DecodeLoosely([]byte(value))
	must.NoError(t, err)
	err = schema.NewSecondJudge(root, document.IsModern(root)).Judge(v, schema.Direction(response), "x")
	if err == schema.ErrNotCompiled {
		t.Errorf("%s cannot be compiled", text)
	}
	return err == nil
}

// The translation keeps what OpenAPI means where JSON Schema means something else.
func TestOracleTranslates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ version, schema, valid, invalid string }{
		{"3.0.3", "{type: string}", `"a"`, `null|1`},
		{"3.0.3", "{type: string, nullable: true}", `"a"|null`, `1`},
		{"3.0.3", "{nullable: false}", `null|1`, ``},
		{"3.0.3", "{type: string, nullable: true, enum: [a]}", `"a"`, `null|"b"`},
		{"3.0.3", "{type: string, nullable: true, enum: [a, null]}", `"a"|null`, `"b"`},
		{"3.1.0", "{type: [string, 'null']}", `"a"|null`, `1`},
		{"3.1.0", "{type: string, nullable: true}", `"a"`, `null`},
		{"3.0.3", "{type: integer}", `1|-1|9223372036854775807`, `1.0|1e2|1.5|9223372036854775808|"1"`},
		{"3.0.3", "{type: integer, format: int32}", `2147483647`, `2147483648`},
		{"3.1.0", "{type: [integer, 'null']}", `1|null`, `1.0`},
		{"3.1.0", "{type: [integer, number]}", `1|1.5`, `"1"`},
		{"3.0.3", "{type: number}", `1|1.0|1.5`, `"1"`},
		{"3.0.3", "{type: number, minimum: 1, exclusiveMinimum: true, maximum: 3, exclusiveMaximum: false}", `1.1|3`, `1|3.1`},
		{"3.1.0", "{type: number, exclusiveMinimum: 1}", `1.1`, `1`},
		{"3.0.3", "{type: string, pattern: '^(?=a).b$'}", `"ab"`, `1|"cb"`}, // package regexp has no pattern that looks ahead
		{"3.0.3", `{type: string, pattern: '^\u0061.$'}`, `"ab"`, `"bb"|"a\n"|"a\r"`},
		{"3.0.3", `{type: string, pattern: '^\s[\s.]\S$'}`, `"\u00a0\ufeffa"|" .b"`, `"a a"|"  \u00a0"|" ab"`},
		{"3.0.3", "{type: string, minLength: 2, maxLength: 2}", `"蘭🌵"`, `"蘭"`},
		{"3.0.3", "{type: string, format: byte}", `"RmljdXM="`, `"RmljdXM"`},
		{"3.0.3", "{$ref: '#/components/schemas/Self', maxProperties: 0}", `{"self":{"self":{}}}`, `{"self":{"self":1}}|{"n":1.0}`},
		{"3.1.0", "{$ref: '#/components/schemas/Self', maxProperties: 0}", `{}`, `{"n":1}`},
		{"3.0.3", "{oneOf: [{type: integer}, {type: number}]}", `1.5`, `1|"1"`},
		{"3.0.3", "{type: object, additionalProperties: {not: {type: string}}}", `{"a":1}`, `{"a":"1"}`},
		{"3.1.0", "{prefixItems: [{const: 1}], items: false}", `[1]`, `[2]|[1,1]`},
	} {
		for want, values := range map[bool]string{true: c.valid, false: c.invalid} {
			for value := range strings.SplitSeq(values, "|") {
				if value != "" && judged(t, c.version, c.schema, value, true) != want {
					t.Errorf("%s, %s: allows %s: %v, want %v", c.version, c.schema, value, !want, want)
				}
			}
		}
	}
	const directed = "{type: object, required: [id, secret], properties: {id: {type: integer, readOnly: true}, secret: {type: string, writeOnly: true}}}"
	for value, response := range map[string]bool{`{"secret":"x"}`: false, `{"id":1}`: true} {
		if !judged(t, "3.0.3", directed, value, response) || judged(t, "3.0.3", directed, value, !response) {
			t.Errorf("%s is judged the same in both directions", value)
		}
	}
}

// The two oracles agree on what the schema.Formats of this package are tried with.
func TestOraclesAgreeOnFormats(t *testing.T) {
	t.Parallel()
	for name, f := range schema.Formats {
		for _, text := range f.Valid {
			if !judged(t, "3.0.3", "{type: string, format: "+name+"}", string(jsonvalue.Encode(text)), false) {
				t.Errorf("%q is no %s", text, name)
			}
		}
		for _, text := range f.Invalid {
			if judged(t, "3.0.3", "{type: string, format: "+name+"}", string(jsonvalue.Encode(text)), false) {
				t.Errorf("%q is a %s", text, name)
			}
		}
	}
}
