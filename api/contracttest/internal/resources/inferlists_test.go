package resources

import (
	"maps"
	"slices"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/internal/testing/must"
)

const crocksDocument = `
openapi: 3.0.3
info: {title: Crocks, version: "1"}
paths:
  /crocks:
    post:
      operationId: createCrock
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Crock'}}}}
      responses: {"201": &one {description: A crock., content: {application/json: {schema: {$ref: '#/components/schemas/Crock'}}}}}
    get:
      operationId: listCrocks
      parameters:
        - {name: limit, in: query, schema: {type: integer}}
        - {name: per_page, in: query, schema: {type: integer}}
        - {name: id, in: query, schema: {type: string}}
        - {name: glaze, in: query, schema: {type: string}}
      responses: {"200": {description: Crocks., content: {application/json: {schema: {type: array, items: {$ref: '#/components/schemas/Crock'}}}}}}
  /crocks/{id}:
    get:
      operationId: getCrock
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      responses: {"200": *one}
components:
  schemas:
    Crock: {type: object, required: [id], properties: {id: {type: string}, glaze: {type: string}}}
`

// Of two parameters with one meaning the first one has it. The identity selects no more than a read does, so it is no
// filter.
func TestParameters(t *testing.T) {
	t.Parallel()
	read, err := document.Parse([]byte(crocksDocument))
	must.NoError(t, err)
	lists := Find(read, values.New(values.Settings{}), Declarations{}).Lists
	if len(lists) != 1 {
		t.Fatalf("there are %d lists", len(lists))
	}
	if lists[0].Limit != "limit" {
		t.Errorf("the limit is %q", lists[0].Limit)
	}
	if filters := slices.Collect(maps.Keys(lists[0].Filters)); !slices.Equal(filters, []string{"glaze"}) {
		t.Errorf("the filters are %q", filters)
	}
}
