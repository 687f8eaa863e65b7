package contract_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/internal/testing/expect"
)

// refusalOf posts a body to an operation of a document, and returns why it is refused.
func refusalOf(t *testing.T, document, body string) string {
	t.Helper()
	message := ""
	checker := newChecker(t, []byte(document), contract.Options{
		Refuse: func(_ http.ResponseWriter, _ *http.Request, refusal *contract.Refusal) { message = refusal.Message },
	})
	r := httptest.NewRequest(http.MethodPost, "/things", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	checker.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(httptest.NewRecorder(), r)
	return message
}

// What both versions of OpenAPI say of a value has the same words and the same pointers.
func TestSameWords(t *testing.T) {
	const schema = `{"type": "object", "required": ["id"], "additionalProperties": false, "properties": {
		"id": {"type": "integer", "minimum": 1, "maximum": 9}, "small": {"type": "integer", "format": "int32"},
		"name": {"type": "string", "minLength": 2, "maxLength": 4, "pattern": "^[a-z]+$", "x-pattern-message": "must be small letters"},
		"tags": {"type": "array", "maxItems": 2, "uniqueItems": true, "items": {"type": "string", "enum": ["a", "b"]}},
		"when": {"type": "string", "format": "date-time"}, "made": {"type": "string", "readOnly": true},
		"part": {"oneOf": [{"type": "string"}, {"type": "boolean"}]}, "any": {"anyOf": [{"type": "string"}]}, "not": {"not": {"type": "string"}},
		"weight": {"type": "number", "multipleOf": 0.5}
	}}`
	modern := strings.Replace(modernDocument, "%s", schema, 1)
	legacy := strings.Replace(modern, "3.1.0", "3.0.3", 1)
	for _, body := range []string{
		`{"id":1}`, `{}`, `{"id":0}`, `{"id":10}`, `{"id":1.5}`, `{"id":"x"}`, `{"id":null}`, `[]`, `{"id":1,"other":2}`,
		`{"id":1,"name":"A"}`, `{"id":1,"name":"abcde"}`, `{"id":1,"tags":["a","a"]}`, `{"id":1,"tags":["c"]}`, `{"id":1,"tags":["a","b","a"]}`,
		`{"id":1,"when":"today"}`, `{"id":1,"when":"2026-01-01t00:00:00z"}`, `{"id":1,"made":"now"}`, `{"id":1,"part":1}`, `{"id":1,"any":1}`,
		`{"id":1,"not":"x"}`, `{"id":1,"weight":0.7}`, `{"id":1,"weight":1e39}`, `{"id":1,"small":2147483648}`, `{"id":9007199254740993}`,
	} {
		if got, want := refusalOf(t, modern, body), refusalOf(t, legacy, body); got != want {
			t.Errorf("%s: 3.1 says %q, and 3.0 %q", body, got, want)
		}
	}
}

// The keywords that OpenAPI 3.1 adds are checked.
func TestModernKeywords(t *testing.T) {
	for _, c := range []struct{ schema, body, want string }{
		{`{"type": ["string", "null"]}`, `null`, ""},
		{`{"type": ["string", "null"]}`, `1`, "it must be a string or null"},
		{`{"const": 1}`, `1.0`, ""},
		{`{"const": null}`, `1`, "must be null"},
		{`{"exclusiveMinimum": 1}`, `1`, "must be more than 1"},
		{`{"prefixItems": [{"type": "string"}], "items": false}`, `["a"]`, ""},
		{`{"prefixItems": [{"type": "string"}], "items": false}`, `["a",1]`, "/1 is not allowed"},
		{`{"contains": {"type": "string"}, "minContains": 2}`, `["a",1]`, "at least 2 items of the schema in contains"},
		{`{"patternProperties": {"^x-": {"type": "integer"}}}`, `{"x-a":"b"}`, "/x-a must be an integer"},
		{`{"propertyNames": {"maxLength": 2}}`, `{"abc":1}`, "/abc must have a name that matches"},
		{`{"dependentRequired": {"a": ["b"]}}`, `{"a":1}`, "/b is required"},
		{`{"dependentSchemas": {"a": {"required": ["b"]}}}`, `{"a":1}`, "/b is required"},
		{`{"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["c"]}}`, `{"a":1}`, "/b is required"},
		{`{"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": false}`, `{"a":1,"b":2}`, "/b is not known"},
		{`{"$ref": "#/components/schemas/Small", "minLength": 2}`, `"a"`, "must have at least 2 characters"},
		{`{"$ref": "#/components/schemas/Small", "minLength": 2}`, `"abcd"`, "must have at most 3 characters"},
		{`{"oneOf": [{"$ref": "#/components/schemas/Cat"}, {"$ref": "#/components/schemas/Dog"}], "discriminator": {"propertyName": "kind"}}`, `{"kind":"Dog"}`, "oneOf"},
		{`{"oneOf": [{"$ref": "#/components/schemas/Cat"}, {"$ref": "#/components/schemas/Dog"}], "discriminator": {"propertyName": "kind"}}`, `{"kind":"Cat"}`, ""},
		{`{"pattern": "^(?=a)"}`, `"b"`, "must match the pattern"},
		{`{"type": "string", "pattern": "^(a+)+$"}`, `"` + strings.Repeat("a", 40) + `!"`, "must match the pattern"},
		{`{"type": "string", "pattern": "^(?!x)(a+)+$"}`, `"` + strings.Repeat("a", 40) + `!"`, "is too complex"},
		{`{"enum": [9007199254740993]}`, `9007199254740992`, "must be 9007199254740993"},
		{`false`, `1`, "is not allowed"},
	} {
		document := strings.TrimSuffix(strings.Replace(modernDocument, "%s", c.schema, 1), "}") + `, "components": {"schemas": {
			"Small": {"type": "string", "maxLength": 3}, "Cat": {"required": ["kind"]}, "Dog": {"required": ["kind", "bark"]}}}}`
		if !json.Valid([]byte(document)) {
			t.Fatalf("%s is not JSON", document)
		}
		if got := refusalOf(t, document, c.body); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s, %s: %q, want %q", c.schema, c.body, got, c.want)
		}
	}
}

// A parameter of OpenAPI 3.1 may have several types.
func TestModernParameters(t *testing.T) {
	document := `openapi: '3.1'
info: {title: Modern, version: 1.0}
paths:
  /things:
    get:
      operationId: get
      parameters:
        - {name: n, in: query, schema: {type: [integer, 'null'], maximum: 9}}
        - {$ref: '#/components/parameters/Ids'}
      responses: {200: {description: OK}}
components:
  parameters: {Ids: {name: ids, in: query, explode: false, schema: {$ref: '#/components/schemas/Ids'}}}
  schemas: {Ids: {type: array, items: {type: integer}}}
`
	checker := newChecker(t, []byte(document), contract.Options{})
	for query, want := range map[string]string{
		"n=7": "7 <nil>", "n=10": "query /n must be at most 9", "n=x": "query /n must be an integer", "ids=1,2": "<nil> [1 2]", "ids=1,x": "query /ids/1 must be an integer",
	} {
		w := httptest.NewRecorder()
		checker.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			request := contract.RequestOf(r.Context())
			fmt.Fprintln(w, request.Parameter("query", "n"), request.Parameter("query", "ids"))
		})).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/things?"+query, nil))
		if got := w.Body.String(); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}

// modernDocument has an operation whose body has a schema of JSON Schema 2020-12.
const modernDocument = `{"openapi": "3.1.0", "info": {"title": "Modern", "version": "1"}, "paths": {"/things": {"post": {
	"operationId": "add", "requestBody": {"content": {"application/json": {"schema": %s}}}, "responses": {"200": {"description": "OK"}}
}}}}`

// A path may be elsewhere in the document, also among the path items that OpenAPI 3.1 has in components.
func TestPathItems(t *testing.T) {
	const described = `openapi: 3.1.0
info: {title: Things, version: 1.0.0}
paths:
  /things/{id}: {$ref: '#/components/pathItems/Thing'}
  /kept: {get: {parameters: [{name: n, in: query, schema: {type: integer}}], responses: {'200': {description: OK}}}}
  /same: {$ref: '#/paths/~1kept'}
components:
  pathItems:
    Thing: {$ref: '#/components/pathItems/Item', parameters: [{name: id, in: path, required: true, schema: {$ref: '#/components/schemas/ID'}}]}
    Item: {get: {responses: {'200': {description: OK}}}}
  schemas: {ID: {type: integer}}
`
	refused := ""
	checker := newChecker(t, []byte(described), contract.Options{
		BeforeRouter: true,
		Refuse:       func(_ http.ResponseWriter, _ *http.Request, refusal *contract.Refusal) { refused = refusal.Message },
	})
	handler := checker.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for target, want := range map[string]string{
		"/things/5": "", "/things/x": "/id must be an integer", "/kept?n=1": "", "/same?n=1": "", "/same?n=x": "/n must be an integer",
	} {
		refused = ""
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, target, nil))
		if !strings.HasSuffix(refused, want) || (refused == "") != (want == "") {
			t.Errorf("GET %s: refused with %q, want %q", target, refused, want)
		}
	}
	nowhere := strings.Replace(described, "pathItems/Thing'", "pathItems/Missing'", 1)
	_, err := contract.New([]byte(nowhere), contract.Options{})
	expect.Message(t, "New", err, "#/components/pathItems/Missing")
}

// A schema is found by its $id, whatever the order in the document.
func TestReferenceToID(t *testing.T) {
	const described = `openapi: 3.1.0
info: {title: Things, version: 1.0.0}
paths:
  /things:
    post:
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/First'}}}}
      responses: {'200': {description: OK}}
components:
  schemas:
    First: {$id: 'https://example.com/things/first', properties: {second: {$ref: second}, third: {$ref: 'https://example.com/third'}}}
    Second: {$id: 'https://example.com/things/second', properties: {first: {$ref: first}, number: {$ref: '#/$defs/number'}}, $defs: {number: {type: integer}}}
    Third: {$id: 'https://example.com/third', type: boolean}
`
	for body, isRefused := range map[string]bool{
		`{"second":{"number":1,"first":{"third":true}}}`: false,
		`{"third":1}`:                         true,
		`{"second":{"number":"1"}}`:           true,
		`{"second":{"first":{"third":"no"}}}`: true,
	} {
		if message := refusalOf(t, described, body); (message != "") != isRefused {
			t.Errorf("POST %s: refused with %q", body, message)
		}
	}
}
