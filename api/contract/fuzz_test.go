package contract_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/internal/testing/madeup"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// Values are held to made-up schemas as kin-openapi does for OpenAPI 3.0, and jsonschema for 3.1.
func TestMadeUpSchemas(t *testing.T) {
	count := must.Number(t, "PLANTSTORE_TEST_REQUESTS", 20_000) / 100
	for _, version := range []string{"3.0.3", "3.1.0"} {
		accepted, refused := 0, 0
		for i := range count {
			made := madeup.New(seedOfRequests(), uint64(i), version == "3.1.0")
			text, err := made.Document()
			must.NoError(t, err)
			checker, err := contract.New(text, contract.Options{})
			if err != nil {
				continue // such as a member that is needed twice
			}
			isAllowed := validatorOf(t, text, made.IsModern)
			for range 40 {
				body, err := json.Marshal(made.Value(3))
				must.NoError(t, err)
				want := isAllowed(body)
				isNull := !made.IsModern && bytes.Contains(body, []byte("null"))
				if got := post(checker, string(body)) == http.StatusOK; got != want && (got || !isNull) { // kin-openapi takes a null that a type does not have if a part of the schema does
					t.Fatalf("schemas %d: %s\naccepts %s: %t, want %t", i, text, body, got, want)
				}
				if want {
					accepted++
				} else {
					refused++
				}
			}
		}
		t.Logf("figures: OpenAPI %s: %d values accepted, %d refused", version, accepted, refused)
	}
}

// validatorOf returns the validator of a library for the schema A of a document.
func validatorOf(t *testing.T, document []byte, isModern bool) func(body []byte) bool {
	t.Helper()
	if isModern {
		tree, err := jsonschema.UnmarshalJSON(strings.NewReader(string(document)))
		must.NoError(t, err)
		compiler := jsonschema.NewCompiler()
		must.NoError(t, compiler.AddResource("document.json", tree))
		compiled, err := compiler.Compile("document.json#/components/schemas/A")
		must.NoError(t, err)
		return func(body []byte) bool {
			value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(body)))
			must.NoError(t, err)
			return compiled.Validate(value) == nil
		}
	}
	loaded, err := openapi3.NewLoader().LoadFromData(document)
	must.NoError(t, err)
	must.NoError(t, loaded.Validate(context.Background()))
	return func(body []byte) bool {
		var value any
		must.NoError(t, json.Unmarshal(body, &value))
		return loaded.Components.Schemas["A"].Value.VisitJSON(value) == nil
	}
}

// post returns the status of a response to a body.
func post(checker *contract.Checker, body string) int {
	r := httptest.NewRequest(http.MethodPost, "/things", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	checker.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
	return w.Code
}
