// Package schematest has schemas for tests.
package schematest

import (
	"encoding/json"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// Of is the schema that OpenAPI 3.0 writes as a text of JSON or YAML, for a request.
func Of(t *testing.T, text string) *schema.Schema {
	t.Helper()
	return Read(t, "3.0.3", "{Wanted: "+text+"}").Component("Wanted", schema.Request)
}

// Read is a document of a version that has schemas, by name, as components.
func Read(t *testing.T, version, schemas string) *document.Document {
	t.Helper()
	read, err := document.Parse([]byte("openapi: " + version + "\ninfo: {title: Schemas, version: '1'}\npaths: {}\ncomponents:\n  schemas: " + schemas + "\n"))
	must.NoError(t, err)
	return read
}

// Parameter is a parameter that OpenAPI 3.0 writes as a text of JSON.
func Parameter(t *testing.T, text string) *document.Parameter {
	t.Helper()
	path := "/things"
	if parameter := named(t, text); parameter.In == "path" {
		path += "/{" + parameter.Name + "}"
	}
	read, err := document.Parse([]byte(`{"openapi":"3.0.3","paths":{"` + path + `":{"get":{"parameters":[` + text + `],"responses":{}}}}}`))
	must.NoError(t, err)
	return read.Operations[0].Parameters[0]
}

// named reads the name and the place of a parameter.
func named(t *testing.T, text string) (read struct{ Name, In string }) {
	t.Helper()
	must.NoError(t, json.Unmarshal([]byte(text), &read))
	return read
}
