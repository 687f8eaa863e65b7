package contract_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/internal/testing/expect"
)

const smallDocument = `openapi: 3.0.3
info: {title: Things, version: 1.0.0}
paths:
  /things/{id}:
    get:
      operationId: getThing
      parameters:
        - {name: id, in: path, required: true, schema: {type: integer}}
        - {name: color, in: query, schema: {type: string, pattern: '^[a-z]+$', x-pattern-message: must be small letters}}
      responses: {'200': {description: OK}}
    post:
      operationId: changeThing
      parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
      requestBody: {content: {application/json: {schema: {type: object, properties: {name: {type: string}, made: {type: string, readOnly: true}}}}}}
      responses: {'200': {description: OK}}
`

// What is not checked is refused when the document is read, and named.
func TestNewRefuses(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"not YAML":            {"openapi: 3.0.3", "openapi: [", "load the document"},
		"OpenAPI 3.2":         {"openapi: 3.0.3", "openapi: 3.2.0", "OpenAPI 3.2.0, need 3.0 or 3.1"},
		"not valid":           {"in: query", "in: nowhere", "validate the document"},
		"a media type":        {"application/json: {schema", "application/xml: {schema", `media type "application/xml" cannot be checked`},
		"a security scheme":   {"paths:", "security: [{key: []}]\npaths:", `undefined security scheme "key"`},
		"a schema":            {"type: integer}}", "type: file}}", `GET /things/{id}: schema /paths/~1things~1{id}/get/parameters/0/schema/type: value must be one of 'array', 'boolean'`},
		"a schema of 3.0":     {"type: integer}}", "minimum: 1, exclusiveMinimum: yes}}", "/parameters/0/schema/exclusiveMinimum: got string, want number"},
		"security unattended": {"paths:", "security: [{key: []}]\ncomponents: {securitySchemes: {key: {type: apiKey, in: header, name: K}}}\npaths:", "set Options.Authorize"},
	} {
		document := strings.Replace(smallDocument, c.old, c.new, 1)
		if document == smallDocument {
			t.Fatalf("the document has no %q", c.old)
		}
		_, err := contract.New([]byte(document), contract.Options{})
		expect.Message(t, name+": New", err, c.want)
	}
}

// New names everything that is not checked at once. A format that is not known does not stop a service.
func TestNewRefusesAll(t *testing.T) {
	document := strings.Replace(smallDocument, "pattern: '^[a-z]+$'", "pattern: '['", 1)
	document = strings.Replace(document, "application/json", "text/html", 1)
	_, err := contract.New([]byte(document), contract.Options{})
	expect.Message(t, "New", err, `GET /things/{id}: the pattern "[" cannot be read`)
	expect.Message(t, "New", err, `POST /things/{id}: media type "text/html"`)
	checker := newChecker(t, []byte(strings.Replace(smallDocument, "pattern: '^[a-z]+$'", "format: colour", 1)), contract.Options{})
	if notes := fmt.Sprint(checker.Notes()); !strings.Contains(notes, `GET /things/{id}: the format "colour" is not checked`) {
		t.Errorf("the notes are %s", notes)
	}
}

// Two paths that differ in the names of parameters only are one path, unless they have the same method.
func TestPathsOfOneShape(t *testing.T) {
	document := strings.Replace(smallDocument, "    post:", "  /things/{name}:\n    put:", 1)
	document = strings.Replace(document, "parameters: [{name: id, in: path, required: true, schema: {type: integer}}]", "parameters: [{name: name, in: path, required: true, schema: {type: string}}]", 1)
	checker := newChecker(t, []byte(document), contract.Options{})
	for _, c := range []struct{ method, target, want string }{
		{"GET", "/things/x", "path /id must be an integer"}, {"PUT", "/things/x", ""}, {"POST", "/things/x", "use GET, PUT"},
	} {
		w := httptest.NewRecorder()
		checker.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, httptest.NewRequest(c.method, c.target, nil))
		if got := w.Body.String(); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s %s: %d %s, want %q", c.method, c.target, w.Code, got, c.want)
		}
	}
	_, err := contract.New([]byte(strings.Replace(document, "    put:", "    get:", 1)), contract.Options{})
	expect.Message(t, "New", err, "conflicting paths")
}

// Each request has the status and the message that the document asks for.
func TestRefusals(t *testing.T) {
	checker := newChecker(t, []byte(smallDocument), contract.Options{BasePath: "/v1", MaxBody: 40})
	handler := checker.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for _, c := range []struct {
		method, path, mediaType, body string
		want                          string
	}{
		{"GET", "/v1/things/7", "", "", ""},
		{"HEAD", "/v1/things/7", "", "", ""},
		{"HEAD", "/v1/things/x", "", "", "path /id must be an integer"},
		{"GET", "/v1/things/7?color=red", "", "", ""},
		{"GET", "/v1/things/7?color=RED", "", "", "query /color must be small letters"},
		{"GET", "/v1/things/7?colour=red", "", "", "query /colour is not known"},
		{"GET", "/v1/things/%37", "", "", ""},
		{"GET", "/v1/things/07", "", "", "path /id must be written as 7"},
		{"GET", "/v1/things/5%2F6", "", "", "path /id must be an integer"},
		{"GET", "/v1/things/5%00", "", "", "path /id must be an integer"},
		{"DELETE", "/v1/things/7", "", "", "the method is not allowed: use GET, HEAD, POST"},
		{"GET", "/things/7", "", "", "the document has no such path"},
		{"GET", "/v1/things/7/", "", "", "the document has no such path"},
		{"POST", "/v1/things/7", "", "", ""}, // the body is not required
		{"POST", "/v1/things/7", "application/json", `{"name":"n"}`, ""},
		{"POST", "/v1/things/7", "application/json", `{"made":"now"}`, "/made is only for responses"},
		{"POST", "/v1/things/7", "application/json", `{"name":7}`, "/name must be a string"},
		{"POST", "/v1/things/7", "application/json", `{"name":"n"`, "it ends too early"},
		{"POST", "/v1/things/7", "application/json", `{"name":"` + strings.Repeat("n", 40) + `"}`, "larger than the limit of 40 bytes"},
		{"POST", "/v1/things/7", "text/html", `{}`, "Content-Type must be application/json, got text/html"},
	} {
		r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		r.Pattern = c.method + " /v1/things/{id}"
		if c.mediaType != "" {
			r.Header.Set("Content-Type", c.mediaType)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if c.want == "" && w.Code != http.StatusOK || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s %s: %d %s, want %q", c.method, c.path, c.body, w.Code, w.Body, c.want)
		}
	}
}

// An error of a function of the options is in the refusal, whose kind says which function it was.
func TestErrorsOfOptions(t *testing.T) {
	mine := errors.New("mine")
	for kind, options := range map[contract.Kind]contract.Options{
		contract.NotAuthorized: {Authorize: func(http.ResponseWriter, *http.Request, *contract.Operation) (context.Context, error) {
			return nil, mine
		}},
		contract.NotRead: {ReadBody: func(http.ResponseWriter, *http.Request) ([]byte, func(), error) { return nil, nil, mine }},
	} {
		r := httptest.NewRequest(http.MethodPost, "/things", strings.NewReader("{}"))
		r.Header.Set("Content-Type", "application/json")
		_, got := pass(t, "post: {requestBody: {content: {application/json: {schema: {}}}},", r, options)
		if got == nil || got.Kind != kind || !errors.Is(got, mine) || got.Operation.ID != "doThings" {
			t.Errorf("the refusal is %+v, want the kind %d", got, kind)
		}
	}
}
