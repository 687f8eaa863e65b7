package contract_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/plantstore/plantstore/api/contract"
)

// Without Refuse, a refusal is the JSON error that the document has for its status.
func TestDocumentedErrors(t *testing.T) {
	for _, c := range []struct{ responses, want, mediaType string }{
		{
			"'400': {description: no, content: {application/json: {schema: {type: object, required: [message], properties: {message: {type: string}, code: {type: integer}}}}}}",
			`{"code":400,"message":"a parameter is not valid: query /n must be an integer"}`, "application/json",
		},
		{
			"default: {description: no, content: {application/problem+json: {schema: {type: object, properties: {title: {type: string}, status: {type: integer}}}}}}",
			`{"status":400,"title":"a parameter is not valid: query /n must be an integer"}`, "application/problem+json",
		},
		{
			"'4XX': {description: no, content: {application/json: {schema: {type: object, required: [reason, trace], properties: {reason: {type: string}, trace: {type: string}}}}}}",
			"a parameter is not valid: query /n must be an integer\n", "text/plain; charset=utf-8",
		}, // nobody knows the trace
		{
			"default: {description: no, content: {application/problem+json: {schema: {type: object, required: [type, title, detail], properties: {type: {type: string, format: uri}, title: {type: string}, detail: {type: string}, instance: {type: string}}}}}}",
			`{"detail":"a parameter is not valid: query /n must be an integer","title":"Bad Request","type":"about:blank"}`, "application/problem+json",
		},
		{
			"default: {description: no, content: {application/problem+json: {schema: {type: object, properties: {type: {type: string}, title: {type: string}, detail: {type: string}}}}}}",
			`{"detail":"a parameter is not valid: query /n must be an integer","title":"Bad Request"}`, "application/problem+json",
		},
		{
			"'404': {description: no, content: {application/json: {schema: {type: object, properties: {message: {type: string}}}}}}",
			"a parameter is not valid: query /n must be an integer\n", "text/plain; charset=utf-8",
		},
	} {
		for _, version := range []string{"3.0.3", "3.1.0"} {
			checker := newChecker(t, []byte("openapi: "+version+`
info: {title: Errors, version: 1.0.0}
paths: {/things: {get: {operationId: get, parameters: [{name: n, in: query, schema: {type: integer}}], responses: {'200': {description: OK}, `+c.responses+`}}}}
`), contract.Options{})
			w := httptest.NewRecorder()
			checker.Middleware(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/things?n=x", nil))
			if got := w.Body.String(); w.Code != 400 || got != c.want || w.Header().Get("Content-Type") != c.mediaType {
				t.Errorf("OpenAPI %s, %s: %d %s %s, want %s", version, c.responses, w.Code, w.Header(), got, c.want)
			}
		}
	}
}
