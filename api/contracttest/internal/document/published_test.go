package document

import (
	_ "embed"
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

// A schema that two responses have is reported once, and each time at the same one, also where a status is no status.
func TestOddStatus(t *testing.T) {
	t.Parallel()
	const response = `{description: x, content: {application/json: {schema: {$ref: "#/components/schemas/Odd"}}}}`
	for range 20 {
		d := parsed(t, `{openapi: 3.0.3, info: {title: a, version: "1"}, components: {schemas: {Odd: {type: string, format: odd}}},
			paths: {/a: {get: {operationId: get, responses: {"": {description: x}, "200": `+response+`, "404": `+response+`}}}}}`,
			`get, 200: format "odd"`)
		if get := d.Operation("get"); !get.Succeeds(200) || get.Succeeds(404) || get.SendsLocation() {
			t.Error("a status is read otherwise")
		}
	}
}
