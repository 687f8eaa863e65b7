package judge

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

func TestRequiredHeader(t *testing.T) {
	t.Parallel()
	required := openapi3.Headers{"X-Id": {Value: &openapi3.Header{Parameter: openapi3.Parameter{Required: true}}}}
	if faults := thingsJudge(t).headers(required, http.Header{}); len(faults) != 1 || faults[0].Keyword != "required" {
		t.Errorf("without a required header the faults are %v", faults)
	}
}

// Each item of an array in a header must be one, not only the last.
func TestArrayInHeader(t *testing.T) {
	t.Parallel()
	numbers := openapi3.NewArraySchema().WithItems(openapi3.NewIntegerSchema())
	for text, want := range map[string]string{"1": "[1]", "1,2": "[1 2]", "1, 2": "[1 2]", "a,2": "", "1,a": "", "": ""} {
		if value, err := ParseText(numbers, text); (err == nil) != (want != "") || want != "" && fmt.Sprint(value) != want {
			t.Errorf("%q is read as %v, %v", text, value, err)
		}
	}
	for text, want := range map[string]bool{"true": true, "false": false} {
		if value, err := ParseText(openapi3.NewBoolSchema(), text); value != want || err != nil {
			t.Errorf("%q is read as %v, %v", text, value, err)
		}
	}
}
