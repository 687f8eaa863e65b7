package contract_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contract"
)

// What the options lack for a document is data, for programs that set them.
func TestWhatOptionsLack(t *testing.T) {
	const document = `openapi: 3.0.3
info: {title: Labels, version: '1'}
paths:
  /labels:
    post:
      parameters: [{name: color, in: query, schema: {type: string, format: colour}}]
      requestBody: {content: {application/xml: {schema: {type: object}}, text/xml: {schema: {type: object}}}}
      responses: {'204': {description: stored}}
`
	_, err := contract.New([]byte(document), contract.Options{})
	var unchecked *contract.UncheckedError
	if !errors.As(err, &unchecked) {
		t.Fatalf("the error is %v", err)
	}
	if unchecked.Operation != "POST /labels" || !slices.Equal(unchecked.MediaTypes, []string{"application/xml", "text/xml"}) {
		t.Errorf("it has %+v", unchecked)
	}
	checker, err := contract.New([]byte(document), contract.Options{Unchecked: unchecked.MediaTypes})
	if err != nil {
		t.Fatal(err)
	}
	if got := checker.UnknownFormats(); !slices.Equal(got, []string{"colour"}) {
		t.Errorf("the unknown formats are %q", got)
	}
}

// An error has the form that the document gives to it, or to another one, or a plain one.
func TestErrorBody(t *testing.T) {
	const document = `openapi: 3.0.3
info: {title: Labels, version: '1'}
paths:
  /a:
    get: {operationId: a, responses: {'204': {description: none}}}
  /b:
    get:
      operationId: b
      responses:
        '204': {description: none}
        '404': {description: none, content: {application/problem+json: {schema: {type: object, required: [title, status], properties: {title: {type: string}, detail: {type: string}, status: {type: integer}}}}}}
        default: {description: error, content: {application/json: {schema: {type: object, required: [msg], properties: {msg: {type: string}}}}}}
`
	const problem = `{"detail":"gone","status":404,"title":"Not Found"}`
	for _, test := range []struct {
		document, operation   string
		status                int
		wantType, wantMessage string
	}{
		{document, "b", 404, "application/problem+json", problem},
		{document, "b", 500, "application/json", `{"msg":"gone"}`},
		{document, "a", 404, "application/problem+json", problem},
		{document, "", 404, "application/problem+json", problem},
		{document[:strings.Index(document, "  /b")], "a", 404, "application/json", `{"message":"gone"}`},
	} {
		checker, err := contract.New([]byte(test.document), contract.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var operation *contract.Operation
		for _, each := range checker.Operations() {
			if each.ID == test.operation {
				operation = each
			}
		}
		mediaType, body := checker.ErrorBody(operation, test.status, "gone")
		if mediaType != test.wantType || string(body) != test.wantMessage {
			t.Errorf("%q %d: it is %s %s, want %s %s", test.operation, test.status, mediaType, body, test.wantType, test.wantMessage)
		}
	}
}
