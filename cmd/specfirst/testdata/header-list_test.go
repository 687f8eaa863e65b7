package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// A list in a header may have spaces after its commas, and more than one line (RFC 9110, 5.6.1 and 5.3), as with
// curl -H 'X-Ids: 1, 2' and curl -H 'X-Ids: 1' -H 'X-Ids: 2'. Both reach the operation.
func TestHeaderList(t *testing.T) {
	for _, lines := range [][]string{{"1, 2"}, {"1", "2"}} {
		request := httptest.NewRequestWithContext(t.Context(), "GET", "/things", nil)
		request.Header["X-Ids"] = lines
		response := httptest.NewRecorder()
		newHandler(t).ServeHTTP(response, request)
		if response.Code != http.StatusNotImplemented {
			t.Errorf("X-Ids: %q: status %d, %s", lines, response.Code, response.Body)
		}
	}
}
