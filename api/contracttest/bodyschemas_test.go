package contracttest

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// bodySchema is a schema of the body of a request.
type bodySchema struct {
	version string // of OpenAPI
	text    string
	// What the schema means, as JSON Schema 2020-12; empty: the same text.
	means string
	// A keyword that a wrong server does not know. It must be found; empty: one that knows no schema at all must be.
	ignores string
}

// bodySchemas are small schemas that documents have, each of them with keywords that meet in some way.
var bodySchemas = []bodySchema{
	{version: "3.0.3", text: `{"type":"object","required":["n"],"properties":{"n":{"type":"integer","maximum":9007199254740993}}}`, ignores: "maximum"},
	{version: "3.0.3", text: `{"type":"object","required":["a"],"properties":{"a":{"type":"string","maxLength":5},"b":{"type":"boolean"}},"not":{"required":["b"]}}`, ignores: "not"},
	{version: "3.0.3", text: `{"type":"object","required":["p"],"properties":{"p":{"type":"string","pattern":"^[A-Z]{2}-[0-9]{1,4}$","maxLength":5}}}`, ignores: "maxLength"},
	{version: "3.1.0", text: `{"type":"array","items":{"type":"integer","minimum":0},"contains":{"const":7},"minContains":1,"maxContains":2,"maxItems":6}`, ignores: "contains"},
	{version: "3.1.0", text: `{"type":"object","properties":{"card":{"type":"string","maxLength":8},"n":{"type":"integer"}},"dependentSchemas":{"card":{"required":["n"]}}}`, ignores: "dependentSchemas"},
	{version: "3.1.0", text: `{"type":"object","required":["kind"],"properties":{"kind":{"type":"string","enum":["a","b"]},"x":{"type":"integer"}},"if":{"properties":{"kind":{"const":"a"}}},"then":{"required":["x"]}}`, ignores: "if"},
	{version: "3.1.0", text: `{"type":"object","propertyNames":{"pattern":"^[a-z]+$","maxLength":10},"additionalProperties":{"type":"integer"}}`, ignores: "propertyNames"},
	{version: "3.1.0", text: `{"allOf":[{"type":"object","required":["kind"],"properties":{"kind":{"type":"string","enum":["c"]}}},{"type":"object","properties":{"n":{"type":"integer","minimum":1}}}],"unevaluatedProperties":false}`, ignores: "unevaluatedProperties"},
	{version: "3.1.0", text: `{"type":"object","required":["kind"],"properties":{"kind":{"const":"k"},"n":{"type":["integer","null"]}}}`, ignores: "const"},
	{version: "3.1.0", text: `{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}],"minItems":2,"maxItems":2}`, ignores: "prefixItems"},
	{version: "3.1.0", text: `{"type":"array","prefixItems":[{"type":"string"}],"items":false}`, ignores: "items"},
	{version: "3.1.0", text: `{"type":"array","prefixItems":[{"type":"string"}],"items":{"type":"integer","maximum":3}}`, ignores: "maximum"},
	{version: "3.1.0", text: `{"type":"object","patternProperties":{"^x_":{"type":"integer"}},"additionalProperties":false}`, ignores: "additionalProperties"},
	{version: "3.1.0", text: `{"type":"object","patternProperties":{"^a":{"type":"integer"}},"properties":{"name":{"type":"string","maxLength":3}}}`, ignores: "maxLength"},
	{version: "3.1.0", text: `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"dependentRequired":{"a":["b"]}}`, ignores: "dependentRequired"},
	{version: "3.1.0", text: `{"type":"object","properties":{"a":{"type":"string"}},"if":{"required":["a"]},"then":{"properties":{"b":{"type":"integer"}},"required":["b"]},"else":{"required":["c"]}}`},
	{version: "3.1.0", text: `{"type":"array","contains":{"type":"string","minLength":2},"maxItems":3}`, ignores: "contains"},
	{version: "3.1.0", text: `{"type":"array","items":{"type":"integer"},"contains":{"minimum":5},"minContains":2}`, ignores: "contains"},
	{version: "3.1.0", text: `{"type":["string","integer"],"maxLength":3,"maximum":5}`, ignores: "maxLength"},
	{version: "3.1.0", text: `{"type":"object","properties":{"n":{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1}},"required":["n"]}`, ignores: "exclusiveMaximum"},
	{version: "3.1.0", text: `{"type":"object","properties":{"n":{"type":"integer","minimum":3,"exclusiveMinimum":5}},"required":["n"]}`, ignores: "exclusiveMinimum"},
	{version: "3.1.0", text: `{"type":"object","required":["a"],"properties":{"a":{"type":"string"}},"minProperties":2,"propertyNames":{"maxLength":1}}`},
	{version: "3.1.0", text: `{"type":"object","properties":{"a":{"type":"array","unevaluatedItems":false,"prefixItems":[{"type":"integer"}]}},"required":["a"]}`, ignores: "unevaluatedItems"},
	{version: "3.1.0", text: `{"$ref":"#/components/schemas/Base","required":["b"],"properties":{"b":{"type":"integer"}}}`, means: `{"allOf":[{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}}],"required":["b"],"properties":{"b":{"type":"integer"}}}`},
	{version: "3.0.3", text: `{"type":"object","required":["a"],"properties":{"a":{"type":"string","nullable":true,"maxLength":3}}}`, means: `{"type":"object","required":["a"],"properties":{"a":{"type":["string","null"],"maxLength":3}}}`, ignores: "maxLength"},
	{version: "3.0.3", text: `{"type":"object","properties":{"n":{"type":"integer","minimum":0,"exclusiveMinimum":true}},"required":["n"]}`, means: `{"type":"object","properties":{"n":{"type":"integer","exclusiveMinimum":0}},"required":["n"]}`, ignores: "exclusiveMinimum"},
	{version: "3.0.3", text: `{"type":"object","properties":{"n":{"type":"number","multipleOf":0.1}},"required":["n"]}`, ignores: "multipleOf"},
	{version: "3.0.3", text: `{"type":"object","properties":{"n":{"type":"number","minimum":0.1,"maximum":0.3}},"required":["n"]}`, ignores: "maximum"},
	{version: "3.0.3", text: `{"oneOf":[{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}},{"type":"object","required":["b"],"properties":{"b":{"type":"integer"}}}]}`, ignores: "oneOf"},
	{version: "3.0.3", text: `{"oneOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"type":"object","properties":{"b":{"type":"integer"}}}]}`},
	{version: "3.0.3", text: `{"anyOf":[{"type":"object","required":["a"],"properties":{"a":{"type":"string","maxLength":2}}},{"type":"object","required":["b"],"properties":{"b":{"type":"integer"}}}]}`, ignores: "anyOf"},
	{version: "3.0.3", text: `{"type":"object","properties":{"kind":{"type":"string"}},"required":["kind"],"oneOf":[{"properties":{"kind":{"enum":["a"]},"a":{"type":"integer"}},"required":["a"]},{"properties":{"kind":{"enum":["b"]},"b":{"type":"integer"}},"required":["b"]}]}`, ignores: "oneOf"},
	{version: "3.0.3", text: `{"allOf":[{"type":"object","required":["a"],"properties":{"a":{"type":"string","minLength":2}}},{"type":"object","properties":{"a":{"type":"string","maxLength":3}}}]}`, ignores: "maxLength"},
	{version: "3.0.3", text: `{"allOf":[{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false},{"type":"object","properties":{"b":{"type":"string"}}}]}`, ignores: "additionalProperties"},
	{version: "3.0.3", text: `{"allOf":[{"type":"object","required":["a"],"properties":{"a":{"type":"string"}},"additionalProperties":false},{"type":"object","required":["b"],"properties":{"b":{"type":"string"}}}]}`},
	{version: "3.0.3", text: `{"allOf":[{"type":"string","pattern":"^a"},{"type":"string","pattern":"b$"}]}`},
	{version: "3.0.3", text: `{"type":"string","not":{"pattern":"^[a-z]"}}`},
	{version: "3.0.3", text: `{"type":"string","not":{"enum":["Ficus"]}}`},
	{version: "3.0.3", text: `{"type":"integer","not":{"multipleOf":2}}`, ignores: "not"},
	{version: "3.0.3", text: `{"type":"object","properties":{"a":{"type":"integer"}},"not":{"properties":{"a":{"enum":[1]}},"required":["a"]}}`},
	{version: "3.0.3", text: `{"type":"array","uniqueItems":true,"minItems":3,"items":{"type":"boolean"}}`},
	{version: "3.0.3", text: `{"type":"array","uniqueItems":true,"minItems":2,"items":{"type":"string","enum":["a","b"]}}`, ignores: "uniqueItems"},
	{version: "3.0.3", text: `{"type":"object","minProperties":2,"maxProperties":3,"properties":{"a":{"type":"integer"},"b":{"type":"integer"},"c":{"type":"integer"},"d":{"type":"integer"}}}`, ignores: "maxProperties"},
	{version: "3.0.3", text: `{"type":"object","minProperties":1,"additionalProperties":{"type":"string","maxLength":2}}`, ignores: "maxLength"},
	{version: "3.0.3", text: `{"type":"string","pattern":"^(?=.*[0-9])[a-z0-9]{4,}$"}`, means: `{"type":"string","minLength":4,"allOf":[{"pattern":"[0-9]"},{"pattern":"^[a-z0-9]*$"}]}`},
	{version: "3.0.3", text: `{"type":"string","pattern":"^\\d{3}$","minLength":4}`},
	{version: "3.0.3", text: `{"type":"string","format":"date","pattern":"^2"}`},
	{version: "3.0.3", text: `{"type":"string","format":"uuid","enum":["01935a7e-8d3c-7c1e-9a55-0c4d6a1f2b3e"]}`},
	{version: "3.0.3", text: `{"type":"object","required":["a"],"properties":{"a":{"type":"string","maxLength":3},"b":{"oneOf":[{"type":"boolean"},{"type":"boolean"}]}}}`, ignores: "maxLength"},
	{version: "3.0.3", text: `{"type":"integer","minimum":5,"maximum":4}`},
	{version: "3.0.3", text: `{"type":"integer","minimum":12}`, ignores: "minimum"},
	{version: "3.0.3", text: `{"type":"integer","minimum":-9223372036854775808,"maximum":9223372036854775807}`},
	{version: "3.0.3", text: `{"type":"integer","maximum":18446744073709551615,"minimum":0}`},
	{version: "3.0.3", text: `{"type":"number","maximum":1e400}`},
	{version: "3.0.3", text: `{"type":"string","minLength":3,"maxLength":2}`},
	{version: "3.0.3", text: `{"type":"string","maxLength":0}`, ignores: "maxLength"},
	{version: "3.0.3", text: `{"type":"object","required":["self"],"properties":{"self":{"$ref":"#/components/schemas/Wanted"}}}`, means: `{"$id":"https://plants.example/","type":"object","required":["self"],"properties":{"self":{"$ref":"#"}}}`},
	{version: "3.0.3", text: `{"type":"object","required":["a"],"properties":{"a":{"type":"string","enum":["x",null],"nullable":true}}}`, means: `{"type":"object","required":["a"],"properties":{"a":{"type":["string","null"],"enum":["x",null]}}}`},
	{version: "3.0.3", text: `{"type":"object","properties":{"id":{"type":"integer","readOnly":true},"a":{"type":"string","maxLength":2}},"required":["id","a"]}`, means: `{"type":"object","properties":{"a":{"type":"string","maxLength":2}},"required":["a"]}`, ignores: "maxLength"},
	{version: "3.0.3", text: `{"type":"array","items":{"oneOf":[{"type":"integer","minimum":3},{"type":"string","maxLength":2}]},"minItems":1}`, ignores: "oneOf"},
}

// bodyServer is a server that takes the bodies that a schema allows.
type bodyServer struct{ allowed *jsonschema.Schema }

func (s bodyServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	body, _ := io.ReadAll(r.Body)
	mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	status := http.StatusCreated
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	switch {
	case r.URL.Path != "/bodies":
		status = http.StatusNotFound
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		status = http.StatusMethodNotAllowed
	case mediaType != "application/json":
		status = http.StatusUnsupportedMediaType
	case !jsontext.Value(body).IsValid(), err != nil, s.allowed.Validate(value) != nil:
		status = http.StatusBadRequest
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "{}")
}

// withoutKeyword is a schema that does not have a keyword anywhere.
func withoutKeyword(schema any, keyword string) any {
	switch schema := schema.(type) {
	case map[string]any:
		less := map[string]any{}
		for name, member := range schema {
			if name != keyword {
				less[name] = withoutKeyword(member, keyword)
			}
		}
		return less
	case []any:
		var less []any
		for _, item := range schema {
			less = append(less, withoutKeyword(item, keyword))
		}
		return less
	}
	return schema
}

// compiled is a schema of JSON Schema 2020-12.
func compiled(t *testing.T, schema any) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	must.NoError(t, compiler.AddResource("https://plants.example/", schema))
	made, err := compiler.Compile("https://plants.example/")
	must.NoError(t, err)
	return made
}

// causesOf are what the tests find in a server of a schema.
func causesOf(t *testing.T, described bodySchema, server bodyServer) []string {
	t.Helper()
	c, err := New([]byte(`{"openapi":"`+described.version+`","info":{"title":"Bodies","version":"1"},"paths":{"/bodies":{"post":{"operationId":"add",
		"requestBody":{"required":true,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Wanted"}}}},
		"responses":{"201":{"description":"Added.","content":{"application/json":{}}},"default":{"description":"Failed.","content":{"application/json":{}}}}}}},
		"components":{"schemas":{"Wanted":`+described.text+`,"Base":{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}}}}}`), Options{Seed: 1})
	must.NoError(t, err)
	try(c, Target{URL: "http://bodies.example", Transport: inProcess{server}})
	return causeTexts(c.Causes())
}

// A right server of a schema is accused of nothing, whatever the schema is, and one that does not know a keyword of it is
// found.
func TestBodySchemas(t *testing.T) {
	t.Parallel()
	for _, described := range bodySchemas {
		t.Run(described.text, func(t *testing.T) {
			t.Parallel()
			text := described.means
			if text == "" {
				text = described.text
			}
			schema, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
			must.NoError(t, err)
			if causes := causesOf(t, described, bodyServer{compiled(t, schema)}); len(causes) > 0 {
				t.Errorf("a right server is accused: %v", causes)
			}
			if described.ignores == "" {
				return
			}
			wrong := bodyServer{compiled(t, withoutKeyword(schema, described.ignores))}
			causes := causesOf(t, described, wrong)
			if !slices.ContainsFunc(causes, func(cause string) bool { return strings.Contains(cause, "accept") }) {
				t.Errorf("a server without %s is not found, but %v", described.ignores, causes)
			}
		})
	}
}
