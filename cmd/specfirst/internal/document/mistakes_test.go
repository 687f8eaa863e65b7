package document_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/cmd/specfirst/internal/document"
)

// shop is right. Each mistake below is a change of it.
const shop = `openapi: 3.0.3
info: {title: Shop, version: '1'}
security:
  - key: []
paths:
  /items:
    get:
      operationId: listItems
      parameters:
        - name: color
          in: query
          schema:
            type: string
            nullable: true
      responses:
        '200':
          description: The items.
          content:
            application/json:
              schema:
                type: array
                items:
                  $ref: '#/components/schemas/Item'
  /items/{id}:
    get:
      operationId: getItem
      parameters:
        - name: id
          in: path
          required: true
          schema: {type: string}
      responses:
        '200': {description: The item.}
components:
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Key}
  schemas:
    Item:
      type: object
      required: [name]
      properties:
        name:
          type: string
`

// Each mistake that beginners make is one sentence with the line and the next step.
func TestMistakes(t *testing.T) {
	for name, test := range map[string]struct{ before, after, want string }{
		"a tab":                     {"    get:\n      operationId: listItems", "\tget:\n      operationId: listItems", "7: a tab is in the indentation, which YAML does not allow: use spaces"},
		"wrong indentation":         {"      operationId: getItem", "     operationId: getItem\n  x", "28: this is not YAML: the indentation of this line or the one before is wrong, or a text with a colon lacks quotes"},
		"a member too far left":     {"    get:\n      operationId: getItem\n", "    operationId: getItem\n    get:\n", "25: the path /items/{id} has no member operationId: is its indentation wrong?"},
		"a key twice":               {"      responses:\n        '200': {d", "      operationId: again\n      responses:\n        '200': {d", "32: operationId is here a second time (first in line 26): take one of them out"},
		"$ref to nothing":           {"schemas/Item'", "schemas/Itm'", "23: $ref \"#/components/schemas/Itm\" leads to nothing: components.schemas has no Itm: did you mean Item?"},
		"a default response":        {"        '200': {description: The item.}", "        default: {$ref: '#/components/responses/Wrong'}", "33: $ref \"#/components/responses/Wrong\" leads to nothing: components.responses has no Wrong: add it there"},
		"$ref without #":            {"'#/components/schemas/Item'", "Item", "23: $ref \"Item\" leads to nothing: there is no file Item beside the document"},
		"$ref to a URL":             {"'#/components/schemas/Item'", "https://example.com/item.yaml", "23: $ref \"https://example.com/item.yaml\" is a URL, and nothing is fetched: save it as a file beside the document"},
		"$ref above the folder":     {"'#/components/schemas/Item'", "../item.yaml", "23: $ref \"../item.yaml\" is not read: only files in the folder of the document are, and no symbolic links"},
		"an operationId twice":      {"getItem", "listItems", "26: the operationId listItems is also that of GET /items in line 7: give each operation its own"},
		"no responses":              {"      responses:\n        '200': {description: The item.}\n", "", "25: GET /items/{id} has no responses: add responses: with at least '200' and its description"},
		"no description":            {"          description: The items.\n", "", "16: the response 200 of GET /items has no description: add description: and a sentence"},
		"a wrong status":            {"'200': {", "ok: {", "33: GET /items/{id} has a response ok, which is not a status: write one such as '200', '4XX' or default"},
		"a misspelt member":         {"      responses:\n        '200': {", "      respones:\n        '200': {", "32: GET /items/{id} has no member respones: did you mean responses?"},
		"no path parameter":         {"        - name: id\n          in: path\n          required: true\n          schema: {type: string}\n", "", "25: GET /items/{id} has no parameter id, which is in its path: add {name: id, in: path, required: true, schema: {type: string}} to parameters"},
		"a parameter not in a path": {"        - name: color\n          in: query", "        - name: color\n          required: true\n          in: path", "10: the parameter color of GET /items is not in the path: write {color} in the path, or in: query"},
		"an optional one":           {"          required: true\n", "", "28: the parameter id of GET /items/{id} is in the path and not required: add required: true"},
		"a parameter in a body":     {"in: query", "in: body", "10: the parameter color of GET /items is in \"body\": write in: path, query, header or cookie (a body is requestBody)"},
		"no slash":                  {"  /items:", "  items:", "6: the path items does not begin with a slash: write /items"},
		"types in 3.0":              {"type: string\n            nullable: true", "type: [string, 'null']", "13: a list of types is of OpenAPI 3.1, and the document has 3.0.3: write one type, with nullable: true for null, or openapi: 3.1.0"},
		"a misspelt type":           {"        name:\n          type: string\n", "        name:\n          type: sting\n", "43: there is no type sting: did you mean string?"},
		"a required member":         {"        name:\n          type: string\n", "        name:\n          type: string\n          required: true\n", "44: required of a schema is a list of names: write required: [name] beside properties"},
		"an unknown scheme":         {"- key: []", "- ky: []", "4: the document asks for the security scheme ky, which components.securitySchemes does not have: did you mean key?"},
		"a variable without value":  {"paths:\n", "servers: [{url: 'https://{place}/', variables: {place: {}}}]\npaths:\n", "5: the variable place of a server has no default, or an empty one: add default: with a value"},
		"OpenAPI 2":                 {"openapi: 3.0.3", "swagger: '2.0'", "1: this is OpenAPI 2: convert it to OpenAPI 3, such as with npx swagger2openapi"},
		"no version":                {"openapi: 3.0.3", "info2: {}", "1: this is not an OpenAPI document: begin it with openapi: 3.0.3 or openapi: 3.1.0"},
		"a later version":           {"openapi: 3.0.3", "openapi: 3.3.0", "1: the document has OpenAPI 3.3.0: write 3.0.3 or 3.1.0"},
	} {
		t.Run(name, func(t *testing.T) {
			changed := strings.Replace(shop, test.before, test.after, 1)
			if changed == shop {
				t.Fatalf("there is no %q", test.before)
			}
			path := filepath.Join(t.TempDir(), "shop.yaml")
			if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := document.Read(path)
			if err == nil || err.Error() != path+":"+test.want {
				t.Errorf("the error is\n%v, want\n%s:%s", err, path, test.want)
			}
		})
	}
}

// What means nothing in the version of the document is said, and served.
func TestWarning(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.yaml")
	if err := os.WriteFile(path, []byte(strings.Replace(shop, "3.0.3", "3.1.0", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := document.Read(path)
	const want = ":14: nullable is of OpenAPI 3.0, and means nothing in 3.1.0: write type: [string, 'null']"
	if err != nil || len(read.Warnings) != 1 || read.Warnings[0].Error() != path+want {
		t.Errorf("the warnings are %v (%v), want %s%s", read.Warnings, err, path, want)
	}
}

// What is right is read as it is.
func TestRight(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.yaml")
	if err := os.WriteFile(path, []byte(shop), 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := document.Read(path)
	if err != nil || string(read.Text) != shop {
		t.Fatalf("the error is %v", err)
	}
	if found := read.Operations(); len(found) != 2 || found[1].ID != "getItem" || found[1].Line != 25 {
		t.Errorf("the operations are %v", found)
	}
}
