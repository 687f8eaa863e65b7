package contracttest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

const madeUpDocument = `openapi: 3.0.3
info: {title: Buckets, version: "1"}
paths:
  /buckets/{bucketId}:
    parameters: [{name: bucketId, in: path, required: true, schema: {type: string, minLength: 1, maxLength: 9}}]
    get:
      operationId: readBucket
      parameters: [{name: _token, in: query, schema: {type: string}}]
      responses: {"200": {description: It.}, "400": {description: Wrong.}, "403": {description: Hidden.}}
`

// A service that says of what does not exist that it is hidden is right, and so is one that takes the tokens alone that
// it has made.
func TestMadeUp(t *testing.T) {
	t.Parallel()
	service := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, isBucket := strings.CutPrefix(r.URL.Path, "/buckets/")
		query := r.URL.Query()
		switch length := len([]rune(name)); {
		case !isBucket || strings.Contains(name, "/") || name == "":
			http.NotFound(w, r)
		case r.Method != http.MethodGet:
			w.Header().Set("Allow", "GET")
			w.WriteHeader(http.StatusMethodNotAllowed)
		case length > 9, query.Has("_token"):
			w.WriteHeader(http.StatusBadRequest)
		default:
			w.WriteHeader(http.StatusForbidden)
		}
	})
	contract, err := New([]byte(madeUpDocument), Options{Seed: 1})
	must.NoError(t, err)
	report, err := contract.Run(t.Context(), Target{URL: "http://service.invalid", Transport: inProcess{service}})
	must.NoError(t, err)
	if len(report.Causes) > 0 {
		t.Errorf("a right service is accused: %v", report.Causes)
	}
}

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
