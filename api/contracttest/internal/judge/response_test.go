package judge

import (
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
