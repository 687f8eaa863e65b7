package document

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// Documents as services and their tools publish them.

// nameOf is the name of what cannot be tested.
func nameOf(promise scenario.Promise) string {
	return strings.TrimPrefix(promise.Operation+", "+promise.Place, ", ")
}

// parsed reads a document, and fails unless exactly these parts of it are reported.
func parsed(t *testing.T, text string, reported ...string) *Document {
	t.Helper()
	d, err := Parse([]byte(text))
	must.NoError(t, err)
	for _, line := range d.Unsupported {
		i := slices.IndexFunc(reported, func(part string) bool { return strings.Contains(nameOf(line), part) })
		if i < 0 {
			t.Errorf("this is reported, too: %s", nameOf(line))
			continue
		}
		reported = slices.Delete(reported, i, i+1)
	}
	if len(reported) > 0 {
		t.Errorf("not reported: %q", reported)
	}
	return d
}

// JSON is read as JSON: with escapes that YAML does not have, and without losing a digit.
func TestJSON(t *testing.T) {
	t.Parallel()
	const text = "\ufeff" + `{"openapi": "3.0.3", "info": {"title": "\ud83d\ude00", "version": "1"}, "paths": {"/a": {
		"get": {"operationId": "first", "responses": {"200": {"description": "x"}}},
		"get": {"operationId": "last", "responses": {"200": {"description": "a \u0000 \/"}}},
		"post": {"responses": {"200": {"description": "x"}}, "responses": {"201": {"description": "x"}}}}},
		"x-many": 12345678901234567890123}`
	d := parsed(t, text,
		`the name "get" in /paths/~1a is given more than once`,
		`the name "responses" in /paths/~1a/post is given more than once`)
	if d.Title != "😀" || d.Operation("last") == nil || len(d.Operations) != 2 {
		t.Errorf("the document %q has the operations %v", d.Title, d.Operations)
	}
	root, err := Decode([]byte(text), func(string, ...any) {})
	must.NoError(t, err)
	if got := string(jsonvalue.Encode(root["x-many"])); got != "12345678901234567890123" {
		t.Errorf("a number is read as %s", got)
	}
}

// A name that a document in YAML has twice is reported with its line. A merge is not a name.
func TestDuplicateNames(t *testing.T) {
	t.Parallel()
	d := parsed(t, `
openapi: 3.0.3
info: {title: Twice, version: "1"}
x-one: &one {a: 1}
x-two: &two {b: 1}
x-both: {<<: [*one, *two], a: 2}
paths:
  /a:
    post: {operationId: other, responses: {200: {description: x}}}
    get: {operationId: first, responses: {200: {description: x}}}
    get: {operationId: last, responses: {200: {description: y}, "200": {description: z}}}
`, `the name "get" in line 10`, `the name "200" in line 11`)
	if d.Operation("last") == nil || d.Operation("other") == nil || *d.Operation("last").Response(http.StatusOK).Description != "z" {
		t.Error("another operation or response than the last one counts")
	}
}

const elsewhere = `
openapi: 3.0.3
info: {title: Parts, version: "1"}
paths:
  /a: {$ref: './a.yaml'}
  /b: {$ref: '#/x-items/b'}
  /things:
    get:
      operationId: list
      parameters: [{name: kind, in: query, schema: {$ref: 'kind.yaml'}}]
      responses: {"200": {$ref: 'common.yaml#/responses/Things'}}
    post:
      operationId: add
      requestBody:
        content:
          application/json:
            schema: {$ref: '#/components/schemas/Thing'}
            examples: {one: {$ref: 'one.yaml'}, two: {value: {name: {$ref: 'two.json'}}}, three: {externalValue: 'http://x.example/y'}, four: {value: {name: x}}}
      responses: {"201": {description: Created., headers: {X-A: {$ref: 'common.yaml#/headers/A'}}}}
    put:
      operationId: put
      requestBody: {$ref: 'bodies.yaml#/put'}
      responses: {"200": {description: Put.}}
    patch:
      operationId: patch
      requestBody: {content: {application/json: {schema: {type: array, items: {$ref: 'thing.yaml'}}}}}
      responses: {"200": {description: Changed.}}
  /things/{id}:
    parameters: [{$ref: 'common.yaml#/parameters/id'}]
    get: {operationId: get, responses: {"200": {description: A thing.}}}
x-items: {b: {get: {operationId: b, responses: {"200": {description: It.}}}}}
components:
  schemas:
    Thing: {type: object, required: [name], properties: {name: {type: string, example: {$ref: name.yaml}}, owner: {$ref: 'owner.yaml'}}}
`

// A reference to another document is reported. It is not sent as if it were a value, and what does not need
// it is tested.
func TestOtherDocuments(t *testing.T) {
	t.Parallel()
	d := parsed(t, elsewhere, "./a.yaml", "kind.yaml", "#/responses/Things", "examples/one", "examples/two", "examples/three",
		"#/headers/A", "bodies.yaml", "thing.yaml", "#/parameters/id", "name/example", "owner.yaml", "is not valid")
	for id, needs := range map[string]bool{"list": false, "add": false, "b": false, "put": true, "patch": true, "get": true} {
		if operation := d.Operation(id); operation == nil || operation.NeedsUnread != needs {
			t.Errorf("%s is the operation %v; that it needs what is not in the document should be %t", id, operation, needs)
		}
	}
	if parameters := d.Operation("list").Parameters; len(parameters) > 0 {
		t.Errorf("an optional parameter that is not in the document stays: %v", parameters[0])
	}
	if examples := d.Operation("add").BodyExamples(); len(examples) != 1 || examples["four"] == nil {
		t.Errorf("the examples are %v", examples)
	}
}

// OpenAPI 3.2 is read as 3.1. What it adds is reported.
func TestNewestDocument(t *testing.T) {
	t.Parallel()
	d := parsed(t, `
openapi: 3.2.0
$self: https://things.example/openapi.yaml
info: {title: Newest, version: "1"}
paths:
  /a: {$ref: a.yaml}
  /things:
    get:
      operationId: list
      parameters: [{name: least, in: query, schema: {type: [integer, "null"], exclusiveMinimum: 0}}]
      responses:
        "200": {description: Things., content: {application/jsonl: {itemSchema: {type: object}}, application/json: {schema: {const: 1}}}}
    query: {operationId: find, responses: {"200": {description: Things.}}}
    additionalOperations: {COPY: {operationId: copy, responses: {"200": {description: Copied.}}}}
    post: {operationId: search, parameters: [{name: q, in: querystring, content: {application/json: {}}}], responses: {"200": {description: Found.}}}
`, "$self", "itemSchema", "a.yaml", "query of OpenAPI 3.2", "additionalOperations of OpenAPI 3.2", "not valid")
	operation := d.Operation("list")
	if len(d.Operations) != 2 || !d.Operation("search").NeedsUnread {
		t.Errorf("the operations are %v", d.Operations)
	}
	if least := operation.Parameters[0].Schema.Value; !least.Nullable || !least.Type.Is("integer") {
		t.Errorf("the parameter has the schema %v", least)
	}
}

// Swagger 2.0 is converted, and means the same.
func TestSwagger(t *testing.T) {
	t.Parallel()
	d := parsed(t, `
swagger: "2.0"
info: {title: Old, version: 1.5}
tags: [things]
host: things.example
basePath: /v1
produces: [application/xml, application/json]
securityDefinitions: {key: {type: apiKey, in: header, name: X-Key}, odd: {type: oauth2, flow: none}}
parameters: {kinds: {name: kinds, in: query, type: array, items: {type: string}}}
paths:
  x-more: none
  /odd: none
  /things:
    parameters: [{$ref: '#/parameters/kinds'}]
    post:
      operationId: add
      security: [{key: []}]
      parameters: [{name: thing, in: body, required: true, schema: {$ref: '#/definitions/Thing'}}]
      responses: {"201": {description: Created., schema: {$ref: '#/definitions/Thing'}}}
    put:
      operationId: upload
      consumes: [application/json]
      produces: [application/json]
      parameters: [{name: text, in: formData, type: string}]
      responses: {"200": {description: Stored., schema: {type: object}}}
    patch:
      operationId: twice
      parameters: [{name: one, in: body, schema: {}}, {name: other, in: body, schema: {}}]
      responses: {"200": {description: Changed.}}
definitions:
  Thing: {type: object, required: [id], properties: {id: {type: integer, minimum: five, title: 5}, other: {$ref: '#/definitions/Missing'}}}
`, "securityDefinitions odd", "/things patch", "minimum", "keyword title", "Missing", "/odd")
	if d.Version != "1.5" {
		t.Errorf("the version is %q", d.Version)
	}
	if d.Base != "/v1" || len(d.Operations) != 2 {
		t.Errorf("the base path is %q, the operations are %v", d.Base, d.Operations)
	}
	add := d.Operation("add")
	if mediaType, body := add.Body(); mediaType != "application/json" || !add.NeedsBody() || body.Properties["id"] == nil {
		t.Errorf("the body of %s has the schema %v", mediaType, body)
	}
	if types := add.Response(http.StatusCreated).Content; len(types) != 2 || types["application/xml"] == nil {
		t.Errorf("a response has the media types %v", types)
	}
	if types := d.Operation("upload").Response(http.StatusOK).Content; len(types) != 1 || types["application/json"] == nil {
		t.Errorf("a response of an operation that says which has the media types %v", types)
	}
	if add.IsOpen() || d.Scheme("key").Name != "X-Key" {
		t.Errorf("the scheme is %v", d.Scheme("key"))
	}
	if kinds, _ := Written(add.Parameters[0], []any{"a", "b"}); kinds != "kinds=a,b" {
		t.Errorf("an array is written as %s", kinds)
	}
	if upload := d.Operation("upload").Content(); upload["application/x-www-form-urlencoded"] == nil || len(upload) != 1 {
		t.Errorf("a form has the media types %v", upload)
	}
}
