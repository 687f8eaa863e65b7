package httpapi

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api"
	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
)

func TestLoadOperations(t *testing.T) {
	ops, err := loadOperations(api.Document)
	must.NoError(t, err)
	op := ops[operationKey{"POST", "/plants"}]
	if op == nil || op.id != "createPlant" || op.scope != "write" || op.bodies[jsonType] == nil {
		t.Errorf("POST /plants is %+v", op)
	}
}

// The program does not start with a document that it cannot enforce.
func TestLoadOperationsRefuses(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"not YAML":                    {"openapi: 3.0.3", "openapi: [", "load the document"},
		"not OpenAPI":                 {"operationId: createPlant", "operationId: [1]", "load the document"},
		"an example that is no plant": {"example: {id: 1, name: Ficus lyrata, tag: Moraceae}", "example: {id: x}", "validate the document"},
		"no security":                 {"security:\n  - bearerAuth: []\n", "", "security at the top"},
		"security optional":           {"  - bearerAuth: []\n", "  - bearerAuth: []\n  - {}\n", "security at the top"},
		"a scheme that is unknown":    {"scheme: bearer", "scheme: basic", `"basic" is not implemented`},
		"a scope that is unknown":     {"x-required-scope: write", "x-required-scope: admin", `"admin" is not a scope`},
		"no scope":                    {"      x-required-scope: write\n", "", `"" is not a scope`},
		"an operation left open":      {"x-required-scope: write", "x-required-scope: write\n      security: []", "security of its own"},
		"a required header":           {"in: header\n", "in: header\n          required: true\n", `in "header" with required true`},
		"an unknown media type":       {"application/json:\n            schema:\n              $ref: \"#/components/schemas/NewPlant\"", "text/csv:\n            schema:\n              $ref: \"#/components/schemas/NewPlant\"", `"text/csv" is not implemented`},
		"a list without a default":    {"            default: 100\n", "", "without a default"},
		"a list without a maximum":    {" or of their names.\n      maxItems: 1000\n", " or of their names.\n", "without maxItems"},
		"a body that may be missing":  {"requestBody:\n        required: true", "requestBody:\n        required: false", "optional request body"},
	} {
		t.Run(name, func(t *testing.T) {
			document := bytes.Replace(api.Document, []byte(c.old), []byte(c.new), 1)
			if bytes.Equal(document, api.Document) {
				t.Fatalf("the document has no %q", c.old)
			}
			_, err := loadOperations(document)
			expect.Message(t, "loadOperations", err, c.want)
		})
	}
}

// The size of a page is stated in the document alone.
func TestPageSize(t *testing.T) {
	document := bytes.ReplaceAll(api.Document, []byte("default: 100\n"), []byte("default: 50\n"))
	document = bytes.Replace(document, []byte("names.\n      maxItems: 1000\n"), []byte("names.\n      maxItems: 500\n"), 1)
	ops, err := loadOperations(document)
	must.NoError(t, err)
	if got, want := ops[operationKey{"GET", "/plants"}].pageSize, (pageSize{normal: 50, most: 500}); got != want {
		t.Errorf("pageSize = %+v, want %+v", got, want)
	}
}

// Each error code has exactly one name, which generators for all languages read.
func TestErrorCodeNames(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(api.Document)
	must.NoError(t, err)
	schema := doc.Components.Schemas["ErrorCode"].Value
	names, _ := schema.Extensions["x-enum-varnames"].([]any)
	if len(names) != len(schema.Enum) {
		t.Fatalf("x-enum-varnames has %d names for %d codes", len(names), len(schema.Enum))
	}
	codes := map[any]any{}
	for i, name := range names {
		if other, ok := codes[name]; ok {
			t.Errorf("%v and %v have the same name %v", other, schema.Enum[i], name)
		}
		codes[name] = schema.Enum[i]
		if row := fmt.Sprintf("\n| %v | ", schema.Enum[i]); !strings.Contains(schema.Description, row) {
			t.Errorf("the description has no row for %v", schema.Enum[i])
		}
	}
	// A code that is added between two others must not rename them.
	for name, want := range map[string]plantapi.ErrorCode{
		"CodeMalformedBody": 40001, "CodeIDTaken": 40010, "CodeBadCredentials": 40101, "CodeNoSuchPlant": 40401,
		"CodePreconditionFailed": 41200, "CodeUnavailable": 50300,
	} {
		if codes[name] != float64(want) {
			t.Errorf("%s is %v, want %d", name, codes[name], want)
		}
	}
}

// An operation that ignores unknown parameters is still held to those that it
// has.
func TestUnknownParametersCanBeIgnored(t *testing.T) {
	const mark = "      x-unknown-parameters: ignored\n"
	document := bytes.Replace(api.Document, []byte(mark), []byte(mark+`      parameters:
        - {name: dry, in: query, description: d, schema: {type: integer, format: int32}}
`), 1)
	ops, err := loadOperations(document)
	must.NoError(t, err)
	op := ops[operationKey{"POST", "/plants"}]
	for query, want := range map[string]int{"": 0, "dry=1": 0, "dry=1&more=x": 0, "dry=x": 1, "dry=1&dry=1": 1, "more=%zz": 1} {
		if _, got := checkQuery(query, op); len(got) != want {
			t.Errorf("checkQuery(%q) = %v, want %d faults", query, got, want)
		}
	}
}

// A parameter goes without kin-openapi only if that would have nothing to ask.
func TestPlainParameters(t *testing.T) {
	for _, c := range []struct {
		schema openapi3.Schema
		plain  bool
	}{
		{openapi3.Schema{Description: "d", Example: 1, Default: 2}, true},
		{openapi3.Schema{Format: "int32"}, true},
		{openapi3.Schema{Format: "int64"}, true},
		{openapi3.Schema{Format: "uint8"}, false},
		{openapi3.Schema{Min: new(1.0)}, false},
		{openapi3.Schema{Enum: []any{1}}, false},
		{openapi3.Schema{Not: &openapi3.SchemaRef{}}, false},
	} {
		c.schema.Type = &openapi3.Types{"integer"}
		if got := isPlain(&c.schema); got != c.plain {
			t.Errorf("isPlain(%+v) = %v", c.schema, got)
		}
	}
	if isPlain(&openapi3.Schema{Type: &openapi3.Types{"string"}, Format: "int64"}) {
		t.Error("the format of a string is not looked at")
	}
}
