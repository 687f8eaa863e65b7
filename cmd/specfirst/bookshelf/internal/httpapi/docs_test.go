package httpapi_test

import (
	"net/http/httptest"
	"testing"
)

// The document and its page need no credentials.
func TestDocs(t *testing.T) {
	handler := newHandler(t)
	for _, path := range []string{"/openapi.yaml", "/docs", "/docs/docs.js"} {
		response := httptest.NewRecorder()
		handler.ServeHTTP(response, httptest.NewRequestWithContext(t.Context(), "GET", path, nil))
		if response.Code != 200 {
			t.Errorf("%s: status %d", path, response.Code)
		}
	}
}
