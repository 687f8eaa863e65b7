package document

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// An operation is found by its id, by a request, or by the shape of its path.
func TestFind(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/plain.yaml")
	must.NoError(t, err)
	d, err := Parse(text)
	must.NoError(t, err)
	text, err = os.ReadFile("testdata/names.yaml")
	must.NoError(t, err)
	names, err := Parse(text)
	must.NoError(t, err)
	for call, got := range map[string]*Operation{
		"head, serving HEAD /things":       names.Serving("HEAD", "/things"),
		"list, the operation list":         d.Operation("list"),
		"-, the operation other":           d.Operation("other"),
		"latest, GET /things/latest":       d.Find("GET", "/things/latest"),
		"get, GET /things/7":               d.Find("GET", "/things/7"),
		"-, HEAD /things/7":                d.Find("HEAD", "/things/7"),
		"-, GET /things/7/":                d.Find("GET", "/things/7/"),
		"get, serving HEAD /things/7":      d.Serving("HEAD", "/things/7"),
		"-, serving PATCH /things":         d.Serving("PATCH", "/things"),
		"-, serving HEAD /nowhere":         d.Serving("HEAD", "/nowhere"),
		"remove, DELETE at /things/{}":     d.At("DELETE", "/things/{}"),
		"part, GET at /things/{}/parts/{}": d.At("GET", "/things/{}/parts/{}"),
		"-, POST at /things/{}":            d.At("POST", "/things/{}"),
	} {
		id := "-"
		if got != nil {
			id = got.ID
		}
		if want := call[:min(len(id), len(call))]; id != want {
			t.Errorf("%s: it is %s", call, id)
		}
	}
	part := d.Operation("part")
	for want, got := range map[string]any{
		"the values [a%2Fb c%20d]":       part.PathValues("/things/a%2Fb/parts/c%20d/"),
		"no values []":                   part.PathValues("/things/7"),
		"the last value c d":             part.LastPathValue("/things/7/parts/c%20d/"),
		"no last value <nil>":            part.LastPathValue("/things/7"),
		"no value in a path <nil>":       d.Operation("list").LastPathValue("/things"),
		"a parameter in path":            d.Operation("get").Parameter("path", "id").In,
		"no parameter <nil>":             d.Operation("get").Parameter("query", "id"),
		"an unknown scheme of type ":     d.Scheme("other").Type,
		"a header with a key true":       d.IsCredential("X-Key"),
		"a cookie true":                  d.IsCredential("Cookie"),
		"a header without a key false":   d.IsCredential("Other"),
		"before the first parameter is ": part.Prefix(-1),
	} {
		if !strings.HasSuffix(want, fmt.Sprint(" ", got)) {
			t.Errorf("it is %q, want %q", got, want)
		}
	}
}

// What describes a media type is that with the same parameters, else the type itself, else a range with it.
func TestContent(t *testing.T) {
	t.Parallel()
	content := Content{"text/csv; header=present": {Example: 1}, "text/csv": {Example: 2}, "text/*": {Example: 3}, "*/*": {Example: 4}}
	for mediaType, want := range map[string]int{"Text/CSV;header=present": 1, "text/csv;header=absent": 2, "text/html": 3, "image/png": 4} {
		if got := content.Get(mediaType); got.Example != want {
			t.Errorf("%s is described by %v, want %d", mediaType, got.Example, want)
		}
	}
	delete(content, "*/*")
	if got := content.Get("image/png"); got != nil {
		t.Errorf("an unknown type is described by %v", got.Example)
	}
}

// A document of Swagger 2.0 has servers in parts.
func TestServers(t *testing.T) {
	t.Parallel()
	for members, want := range map[string]string{
		`"basePath": "/v1"`:   "/v1",
		`"host": "a.example"`: "https://a.example",
		`"host": "a.example", "basePath": "/v1", "schemes": ["http", "wss"]`: "http://a.example/v1 wss://a.example/v1",
	} {
		var urls []string
		for _, server := range parsed(t, `{"swagger": "2.0", "paths": {}, `+members+`}`).Servers {
			urls = append(urls, server.URL)
		}
		if got := strings.Join(urls, " "); got != want {
			t.Errorf("with %s the servers are %s, want %s", members, got, want)
		}
	}
}

// A name is one of the document if a parameter has it, or a member at any depth of a body.
func TestNames(t *testing.T) {
	t.Parallel()
	const text = `
openapi: 3.0.3
info: {title: Names, version: "1"}
paths:
  /a:
    post:
      parameters: [{name: query, in: query, schema: {type: object, properties: {inQuery: {}}}}]
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Whole'}}}}
      responses: {"200": {description: OK., content: {application/json: {schema: {type: object, properties: {received: {}}}}}}}
components:
  schemas:
    Whole:
      type: object
      additionalProperties: {type: object, properties: {additional: {}}}
      properties:
        top: {type: array, items: {type: object, properties: {item: {}}}}
        again: {$ref: '#/components/schemas/Whole'}
        deep: {type: object, properties: {deeper: {}}}
      allOf: [{properties: {all: {}}}]
      anyOf: [{properties: {any: {}}}]
      oneOf: [{properties: {one: {}}}]
      not: {properties: {no: {}}}
`
	d, err := Parse([]byte(text))
	must.NoError(t, err)
	for name, want := range map[string]bool{
		"query": true, "top": true, "item": true, "additional": true, "deeper": true, "all": true, "any": true, "one": true,
		"no": true, "inQuery": false, "received": false, "other": false,
	} {
		if got := d.Names(name); got != want {
			t.Errorf("the document has the name %s: %v, want %v", name, got, want)
		}
	}
}

// What is no document is an error.
func TestNoDocument(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`[]`:                   "is not an object",
		`openapi`:              "is not an object",
		`{"a": `:               "yaml: ",
		`{"openapi": "4.0.0"}`: "is neither OpenAPI 3 nor Swagger 2.0: its member openapi is 4.0.0",
		`{"openapi": "3.0.3", "paths": {"/a": {"get": 7}}}`: "GET /a: the operation has the wrong type",
		`{"swagger": "1.2"}`: "is neither OpenAPI 3 nor Swagger 2.0: its member openapi is <nil>",
	} {
		_, err := Parse([]byte(text))
		if err == nil || len(err.Error()) < len(want) || err.Error()[:len(want)] != want {
			t.Errorf("of %s the error is %v, want %s", text, err, want)
		}
	}
	// Aliases of aliases, which are too many.
	text := "openapi: 3.0.3\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		text += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
	}
	if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), "alias") {
		t.Errorf("of aliases that are too many the error is %v", err)
	}
	for server, want := range map[string]string{`[]`: "", `[{"url": "/a/"}]`: "/a", `[{"url": "https://x/{b}"}]`: "", `[{"url": "/a"}, {"url": "/b"}]`: "/a", `[{"url": "http://[x"}]`: ""} {
		d, err := Parse([]byte(`{"openapi": "3.0.3", "paths": {}, "servers": ` + server + `}`))
		must.NoError(t, err)
		if d.Names("nothing") || len(d.Schemes) > 0 {
			t.Error("a document without anything has something")
		}
		if d.Base != want {
			t.Errorf("of the servers %s the path is %q, want %q", server, d.Base, want)
		}
	}
}

// Where several templates match a path, the most exact one serves it, of those with its method.
func TestFindExact(t *testing.T) {
	t.Parallel()
	text := "openapi: 3.0.3\ninfo: {title: Exact, version: '1'}\npaths:\n"
	for _, template := range []string{"/t/{id}", "/t/{id}:cancel", "/t/mine", "/a/{x}/c", "/a/b/{y}", "/t/{id}/", "/{p}/f/g", "/e/{q}/{r}"} {
		text += fmt.Sprintf("  %s: {get: {operationId: '%s', responses: {'200': {description: OK.}}}}\n", template, template)
	}
	text += "  /t/other: {post: {operationId: other, responses: {'200': {description: OK.}}}}\n"
	d, err := Parse([]byte(text))
	must.NoError(t, err)
	for path, want := range map[string]string{
		"/t/7": "/t/{id}", "/t/7:cancel": "/t/{id}:cancel", "/t/mine": "/t/mine", "/a/b/c": "/a/b/{y}", "/a/d/c": "/a/{x}/c",
		"/t/7/": "/t/{id}/", "/t/other": "/t/{id}", "/t/m%69ne": "/t/{id}",
		"/e/f/g": "/e/{q}/{r}",
	} {
		if got := d.Find("GET", path); got == nil || got.ID != want {
			t.Errorf("GET %s is %v, want %s", path, got, want)
		}
	}
}

// The parts of a service begin below what all paths begin with.
func TestArea(t *testing.T) {
	t.Parallel()
	for paths, want := range map[string]string{
		"/things /things/{id}":                      "things things",
		"/api/v1/things /api/v1/things/{id}":        "things things",
		"/api/v1/things/{id} /api/v1/kinds /api/v1": "v1 v1 v1",
		"/api/things /api/kinds/{id}/all":           "things kinds",
		"/api/things /kinds":                        "api kinds",
		"/a/things /b/kinds":                        "a b",
		"/":                                         "",
	} {
		text := "openapi: 3.0.3\ninfo: {title: Paths, version: \"1\"}\npaths:\n"
		for path := range strings.FieldsSeq(paths) {
			text += fmt.Sprintf("  %s: {get: {operationId: %q, responses: {\"200\": {description: All.}}}}\n", path, path)
		}
		read, err := Parse([]byte(text))
		must.NoError(t, err)
		var areas []string
		for path := range strings.FieldsSeq(paths) {
			areas = append(areas, read.Area(read.Operation(path)))
		}
		if got := strings.Join(areas, " "); got != want {
			t.Errorf("the parts of %s are %q, want %q", paths, got, want)
		}
	}
}
