package contract_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// madeUp draws schemas and values.
type madeUp struct {
	draw
	isModern bool
}

// schema returns a schema of some levels.
func (m madeUp) schema(levels int) map[string]any {
	made := map[string]any{}
	switch m.IntN(6) {
	case 0:
		made["type"] = "integer"
		m.maybe(made, "minimum", m.IntN(3))
		m.maybe(made, "maximum", m.IntN(4))
		m.maybe(made, "multipleOf", 1+m.IntN(3))
	case 1:
		made["type"] = "string"
		m.maybe(made, "minLength", m.IntN(3))
		m.maybe(made, "maxLength", m.IntN(3))
		m.maybe(made, "enum", []any{"a", "bb"})
	case 2:
		made["type"] = "array"
		made["items"] = m.below(levels)
		m.maybe(made, "minItems", m.IntN(3))
		m.maybe(made, "maxItems", m.IntN(3))
		m.maybe(made, "uniqueItems", true)
	case 3, 4:
		m.object(made, levels)
	case 5: // kin-openapi takes a schema that is made of empty ones for an empty one
		if !m.isModern {
			made["type"] = "boolean"
		}
	}
	if levels > 0 && m.seldom(2) {
		m.combine(made, levels)
	}
	if m.isModern && levels > 0 && m.seldom(2) {
		m.modern(made, levels)
	}
	if !m.isModern && made["type"] != nil && m.seldom(8) {
		made["nullable"] = true
	}
	return made
}

func (m madeUp) maybe(made map[string]any, keyword string, value any) {
	if m.seldom(3) {
		made[keyword] = value
	}
}

// below returns a schema, or a reference to one, which may be above.
func (m madeUp) below(levels int) any {
	if levels == 0 || m.seldom(4) {
		return map[string]any{"$ref": "#/components/schemas/" + m.one("A", "B", "C")}
	}
	return m.schema(levels - 1)
}

func (m madeUp) object(made map[string]any, levels int) {
	made["type"] = "object"
	made["properties"] = map[string]any{"a": m.below(levels), "b": m.below(levels)}
	m.maybe(made, "required", []any{m.one("a", "b", "c")})
	m.maybe(made, "minProperties", m.IntN(3))
	m.maybe(made, "maxProperties", m.IntN(3))
	if m.seldom(2) {
		made["additionalProperties"] = m.seldom(2)
	} else if m.seldom(2) {
		made["additionalProperties"] = m.below(levels)
	}
}

func (m madeUp) combine(made map[string]any, levels int) {
	switch m.IntN(4) {
	case 0: // kin-openapi takes not: {} for nothing
		made["not"] = map[string]any{"type": "string", "minLength": m.IntN(3)}
		if not := m.schema(levels - 1); not["type"] != nil {
			made["not"] = not
		}
	default:
		made[m.one("allOf", "anyOf", "oneOf")] = []any{m.schema(levels - 1), m.schema(levels - 1)}
	}
}

// modern adds what only OpenAPI 3.1 has.
func (m madeUp) modern(made map[string]any, levels int) {
	switch m.IntN(8) {
	case 0:
		made["if"], made["then"], made["else"] = m.schema(levels-1), m.schema(levels-1), m.schema(levels-1)
	case 1:
		made["prefixItems"] = []any{m.schema(levels - 1)}
	case 2:
		made["contains"] = m.schema(levels - 1)
	case 3:
		made["patternProperties"] = map[string]any{"^b": m.schema(levels - 1)}
	case 4:
		made["dependentSchemas"] = map[string]any{"a": m.schema(levels - 1)}
	case 5:
		made["unevaluatedProperties"] = m.seldom(2)
	case 6:
		made["unevaluatedItems"] = m.schema(levels - 1)
	case 7:
		made["const"] = m.value(1)
	}
}

func (m madeUp) value(levels int) any {
	switch kind := m.IntN(7); {
	case kind < 2:
		return m.IntN(4)
	case kind == 2:
		return m.one("", "a", "bb", "ccc")
	case kind == 3 || levels == 0:
		return []any{nil, true, 1.5}[m.IntN(3)]
	case kind == 4:
		items := make([]any, m.IntN(3))
		for i := range items {
			items[i] = m.value(levels - 1)
		}
		return items
	}
	object := map[string]any{}
	for _, name := range []string{"a", "b", "c"} {
		if m.seldom(2) {
			object[name] = m.value(levels - 1)
		}
	}
	return object
}

// Values are held to made-up schemas as kin-openapi does for OpenAPI 3.0, and jsonschema for 3.1.
func TestMadeUpSchemas(t *testing.T) {
	count := must.Number(t, "PLANTSTORE_TEST_REQUESTS", 20_000) / 100
	for _, version := range []string{"3.0.3", "3.1.0"} {
		accepted, refused := 0, 0
		for i := range count {
			made := madeUp{draw{rand.New(rand.NewPCG(seedOfRequests(), uint64(i)))}, version == "3.1.0"}
			schemas := map[string]any{"A": made.schema(2), "B": made.schema(1), "C": made.schema(0)}
			text, err := json.Marshal(map[string]any{
				"openapi": version, "info": map[string]any{"title": "Made up", "version": "1"},
				"components": map[string]any{"schemas": schemas},
				"paths": map[string]any{"/things": map[string]any{"post": map[string]any{
					"operationId": "add", "responses": map[string]any{"200": map[string]any{"description": "OK"}},
					"requestBody": map[string]any{"content": map[string]any{"application/json": map[string]any{
						"schema": map[string]any{"$ref": "#/components/schemas/A"},
					}}},
				}}},
			})
			must.NoError(t, err)
			checker, err := contract.New(text, contract.Options{})
			if err != nil {
				continue // such as a member that is needed twice
			}
			isAllowed := validatorOf(t, text, made.isModern)
			for range 40 {
				body, err := json.Marshal(made.value(3))
				must.NoError(t, err)
				want := isAllowed(body)
				if got := post(checker, string(body)) == http.StatusOK; got != want {
					t.Fatalf("schemas %d: %s\naccepts %s: %t, want %t", i, text, body, got, want)
				}
				if want {
					accepted++
				} else {
					refused++
				}
			}
		}
		t.Logf("figures: OpenAPI %s: %d values accepted, %d refused", version, accepted, refused)
	}
}

// validatorOf returns the validator of a library for the schema A of a document.
func validatorOf(t *testing.T, document []byte, isModern bool) func(body []byte) bool {
	t.Helper()
	if isModern {
		tree, err := jsonschema.UnmarshalJSON(strings.NewReader(string(document)))
		must.NoError(t, err)
		compiler := jsonschema.NewCompiler()
		must.NoError(t, compiler.AddResource("document.json", tree))
		compiled, err := compiler.Compile("document.json#/components/schemas/A")
		must.NoError(t, err)
		return func(body []byte) bool {
			value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(body)))
			must.NoError(t, err)
			return compiled.Validate(value) == nil
		}
	}
	loaded, err := openapi3.NewLoader().LoadFromData(document)
	must.NoError(t, err)
	must.NoError(t, loaded.Validate(context.Background()))
	return func(body []byte) bool {
		var value any
		must.NoError(t, json.Unmarshal(body, &value))
		return loaded.Components.Schemas["A"].Value.VisitJSON(value) == nil
	}
}

// post returns the status of a response to a body.
func post(checker *contract.Checker, body string) int {
	r := httptest.NewRequest(http.MethodPost, "/things", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	checker.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
	return w.Code
}
