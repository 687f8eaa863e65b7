package plantcontract

import (
	"fmt"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api"
	"github.com/plantstore/plantstore/api/contracttest"
	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// The options tell what every parameter does.
func TestEveryParameterIsTold(t *testing.T) {
	for _, p := range Plants().Promises() {
		if p.State == contracttest.Untried && strings.Contains(p.Why, "no test shows what it does") {
			t.Errorf("%s: %s, in internal/testing/plantcontract/options.go or find.go", p.Name, p.Why)
		}
	}
}

func document(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(api.Document)
	must.NoError(t, err)
	return doc
}

// Every operation of the document has a method in the generated client.
func TestEveryOperationHasAClientMethod(t *testing.T) {
	for _, item := range document(t).Paths.Map() {
		for _, operation := range item.Operations() {
			if faults := options().Client(operation.OperationID, contracttest.Interaction{Status: 500}); len(faults) > 0 {
				t.Error(faults)
			}
		}
	}
}

// Every response has a request id, so every response must describe it.
func TestEveryResponseHasARequestID(t *testing.T) {
	for _, item := range document(t).Paths.Map() {
		for _, operation := range item.Operations() {
			for status, response := range operation.Responses.Map() {
				if header := response.Value.Headers["X-Request-Id"]; header == nil || !header.Value.Required {
					t.Errorf("%s, %s: the document promises no X-Request-Id", operation.OperationID, status)
				}
			}
		}
	}
}

// The description of every operation names the scope that it requires.
func TestEveryOperationNamesItsScope(t *testing.T) {
	for _, item := range document(t).Paths.Map() {
		for _, operation := range item.Operations() {
			if says := fmt.Sprintf("scope `%s`", operation.Extensions["x-required-scope"]); !strings.Contains(operation.Description, says) {
				t.Errorf("the description of %s does not name the %s", operation.OperationID, says)
			}
		}
	}
}

// Generated code has the error codes of the document, no fewer and no more.
func TestErrorCodesAreGenerated(t *testing.T) {
	listed := map[int32]bool{}
	for _, code := range codes() {
		listed[code] = true
	}
	for code := int32(10000); code < 60000; code++ {
		if known := plantapi.ErrorCode(code).Valid(); known != listed[code] {
			t.Errorf("%d: the document lists it: %v, generated code has it: %v; run make generate", code, listed[code],
				known)
		}
	}
}

// Each error code is a promise.
func TestErrorCodesArePromises(t *testing.T) {
	p := options()
	if len(p.Promises) < 18 || p.Promises[0] != "ErrorCode, 40001" {
		t.Errorf("the promises are %v", p.Promises)
	}
	got := p.Observed(contracttest.Interaction{Status: 400, Body: []byte(`{"error":40007,"message":"m"}`)})
	if len(got) != 1 || got[0] != "ErrorCode, 40007" {
		t.Errorf("a response with 40007 shows %v", got)
	}
}

// Examples of responses are for readers. A service that never returns one keeps
// its promises.
func TestNoExampleIsReturned(t *testing.T) {
	for _, p := range Plants().Promises() {
		if promise := p.Name; strings.Contains(promise, "example") && !strings.Contains(promise, "request example") && !strings.Contains(promise, "parameter") {
			t.Errorf("%q is demanded", promise)
		}
	}
}
