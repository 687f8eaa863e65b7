package contract_test

import (
	"errors"
	"slices"
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
