package contracttest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

const filesDocument = `openapi: 3.0.3
info: {title: Files, version: "1"}
paths:
  /files/{fileId}:
    parameters: [{name: fileId, in: path, required: true, schema: {type: string, pattern: '^[a-z0-9]{1,40}$'}}]
    get: {operationId: readFile, responses: {"200": {description: It., content: {application/octet-stream: {}}}, "400": {description: Wrong.}, "404": {description: None.}}}
    put:
      operationId: writeFile
      requestBody: {required: true, content: {text/plain: {schema: {type: string}}}}
      responses: {"204": {description: Written.}, "400": {description: Wrong.}}
    delete: {operationId: deleteFile, responses: {"204": {description: Gone.}, "400": {description: Wrong.}, "404": {description: None.}}}
`

// What is created by a text is no object, so sequences cannot tell one from another. They accuse no service of it.
func TestTextIsNoObject(t *testing.T) {
	t.Parallel()
	contract, err := New([]byte(filesDocument), Options{Seed: 1})
	must.NoError(t, err)
	for test := range contract.Tests(t.Context()) {
		isSequence := strings.HasPrefix(test.Name, "sequence, writeFile")
		outcome := test.Try(t.Context(), Target{URL: "http://files.example", Transport: faulty{204, http.Header{}, ""}})
		if isSequence && len(outcome.Failures) > 0 {
			t.Errorf("%s: %v", test.Name, outcome.Failures)
		}
	}
}
