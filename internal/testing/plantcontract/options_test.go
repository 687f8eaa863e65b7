package plantcontract

import (
	"fmt"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api"
	"github.com/plantstore/plantstore/api/contracttest"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// The options tell what every parameter does.
func TestEveryParameterIsTold(t *testing.T) {
	for _, p := range Plants().Promises() {
		if p.State == contracttest.NotTested && strings.Contains(p.Why, "no test shows what it does") {
			t.Errorf("%s: %s, in internal/testing/plantcontract/options.go or find.go", p.Name, p.Why)
		}
	}
}

// The description of every operation names the scope that it requires.
func TestEveryOperationNamesItsScope(t *testing.T) {
	document, err := openapi3.NewLoader().LoadFromData(api.Document)
	must.NoError(t, err)
	for _, item := range document.Paths.Map() {
		for _, operation := range item.Operations() {
			if says := fmt.Sprintf("scope `%s`", operation.Extensions["x-required-scope"]); !strings.Contains(operation.Description, says) {
				t.Errorf("the description of %s does not name the %s", operation.OperationID, says)
			}
		}
	}
}

// Each error code is a promise.
func TestErrorCodesArePromises(t *testing.T) {
	p := options()
	if len(p.Promises) < 18 || p.Promises["ErrorCode, 40001"] == nil {
		t.Errorf("the promises are %v", p.Promises)
	}
	x := contracttest.Interaction{Status: 400, Body: []byte(`{"error":40007,"message":"m"}`)}
	for name, shows := range p.Promises {
		if shows(x) != (name == "ErrorCode, 40007") {
			t.Errorf("a response with 40007 shows %s: %v", name, shows(x))
		}
	}
}
