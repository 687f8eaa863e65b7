package document_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/cmd/specfirst/internal/document"
)

// writeFiles writes files to a new folder.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		name = filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// parts is a document of several files. A schema refers to itself, and two files have one of the same name.
var parts = map[string]string{
	"api.yaml": `openapi: 3.0.3
info: {title: Parts, version: '1'} # a comment that stays
paths:
  /nodes: {$ref: paths/nodes.yaml}
`,
	"paths/nodes.yaml": `get:
  parameters: [{$ref: '../common.yaml#/parameters/limit'}]
  responses:
    '200': {description: All., content: {application/json: {schema: {$ref: ../schemas/Node.yaml}}}}
    default: {$ref: '../common.yaml#/responses/wrong'}
`,
	"common.yaml": `parameters:
  limit: {name: limit, in: query, schema: {type: integer}}
responses:
  wrong: {description: It is wrong., content: {application/json: {schema: {$ref: '#/schemas/Node'}}}}
schemas:
  Node: {type: object, properties: {message: {type: string}}}
`,
	"schemas/Node.yaml": `type: object
properties:
  below: {type: array, items: {$ref: Node.yaml}}
`,
}

// The files of a document become one, with nothing that leads to another file.
func TestJoin(t *testing.T) {
	read, err := document.Read(filepath.Join(writeFiles(t, parts), "api.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(read.Text)
	for _, want := range []string{"# a comment that stays", "#/components/schemas/Node", "#/components/schemas/Node2", "name: limit"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "yaml") {
		t.Errorf("it refers to a file:\n%s", text)
	}
	if _, err := contract.New(read.Text, contract.Options{}); err != nil {
		t.Errorf("%v:\n%s", err, text)
	}
}

// A mistake in another file is reported with its name and line.
func TestMistakeInPart(t *testing.T) {
	changed := map[string]string{}
	for name, text := range parts {
		changed[name] = strings.ReplaceAll(text, "type: integer", "type: intger")
	}
	folder := writeFiles(t, changed)
	_, err := document.Read(filepath.Join(folder, "api.yaml"))
	if want := filepath.Join(folder, "common.yaml") + ":2: there is no type intger: did you mean integer?"; err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
}

// Files that are not in the folder of the document are not read.
func TestForeignFiles(t *testing.T) {
	folder := writeFiles(t, map[string]string{"secret.yaml": "type: string", "api/api.yaml": strings.Replace(parts["api.yaml"], "paths/nodes.yaml", "link.yaml", 1)})
	if err := os.Symlink("../secret.yaml", filepath.Join(folder, "api", "link.yaml")); err != nil {
		t.Skip(err)
	}
	_, err := document.Read(filepath.Join(folder, "api", "api.yaml"))
	if err == nil || !strings.Contains(err.Error(), "only files in the folder of the document are, and no symbolic links") {
		t.Errorf("the error is %v", err)
	}
}

// An operation that is left out is not in the document any more, and its comments are not lost.
func TestExclude(t *testing.T) {
	read, err := document.Read(filepath.Join(writeFiles(t, map[string]string{"shop.yaml": "# Mine.\n" + shop}), "shop.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := read.Exclude("GET /items/{id}"); err != nil {
		t.Fatal(err)
	}
	if text := string(read.Text); strings.Contains(text, "/items/{id}") || !strings.Contains(text, "# Mine.") || !strings.Contains(text, "listItems") {
		t.Errorf("the document is\n%s", text)
	}
	if err := read.Exclude("getItem"); err == nil || !strings.Contains(err.Error(), `has no operation "getItem" to leave out`) {
		t.Errorf("the error is %v", err)
	}
}

// What a service that checks requests responds with is added where the document does not have it, in the form of its errors.
func TestAddErrors(t *testing.T) {
	withError := strings.Replace(shop, "        '200': {description: The item.}", "        '200': {description: The item.}\n"+
		"        '404': {description: none, content: {application/problem+json: {schema: {type: object}}}}", 1)
	read, err := document.Read(filepath.Join(writeFiles(t, map[string]string{"shop.yaml": withError}), "shop.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(read.MissingErrors(), "; "), "400 of GET /items, and of 1 more; 401 of GET /items, and of 1 more"; got != want {
		t.Errorf("it lacks %s, want %s", got, want)
	}
	if err := read.AddErrors(); err != nil {
		t.Fatal(err)
	}
	if missing := read.MissingErrors(); len(missing) > 0 {
		t.Errorf("it still lacks %q", missing)
	}
	if _, err := document.Read(filepath.Join(writeFiles(t, map[string]string{"shop.yaml": string(read.Text)}), "shop.yaml")); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"'401':", "$ref: '#/components/responses/Unauthorized'", "BadRequest:\n"} {
		if !strings.Contains(strings.ReplaceAll(string(read.Text), `"`, "'"), want) {
			t.Errorf("there is no %q in\n%s", want, read.Text)
		}
	}
	if strings.Count(string(read.Text), "application/problem+json") != 3 {
		t.Errorf("the errors have another form:\n%s", read.Text)
	}
}

// An operation of OpenAPI 3.1 need not have responses.
func TestAddErrorsToNothing(t *testing.T) {
	text := strings.NewReplacer("3.0.3", "3.1.0", "            nullable: true\n", "", "      responses:\n        '200': {description: The item.}\n", "").Replace(shop)
	read, err := document.Read(filepath.Join(writeFiles(t, map[string]string{"shop.yaml": text}), "shop.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := read.AddErrors(); err != nil || len(read.MissingErrors()) > 0 {
		t.Errorf("it lacks %q (%v)", read.MissingErrors(), err)
	}
	if _, err := contract.New(read.Text, contract.Options{Authorize: func(http.ResponseWriter, *http.Request, *contract.Operation) (context.Context, error) {
		return nil, nil
	}}); err != nil {
		t.Error(err)
	}
}
