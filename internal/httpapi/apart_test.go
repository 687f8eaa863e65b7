package httpapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Requests that are handled at the same time, or one after the other with the same
// buffers, get nothing of each other.
func TestConcurrentRequestsShareNothing(t *testing.T) {
	handler := newService(t, offline, withPlants(newMapPlants(0))).handler
	call := func(method, path, content string) (status int, body string) {
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(content))
		r.Header.Set("Authorization", "Bearer "+staticToken)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	var wg sync.WaitGroup
	for client := range 8 {
		wg.Go(func() {
			for n := range 100 {
				id, name := client*1000+n, strings.Repeat(string(rune('a'+client)), n*n%1000)
				tag := []string{"", fmt.Sprintf(`,"tag":"%d"`, id)}[n%2]
				if status, body := call(http.MethodPost, "/plants", fmt.Sprintf(`{"id":%d,"name":%q%s}`, id, name, tag)); status != http.StatusOK ||
					body != fmt.Sprintf(`{"name":%q%s}`+"\n", name, tag) {
					t.Errorf("plant %d: got %d %s", id, status, body)
				}
				if status, body := call(http.MethodPost, "/plants", fmt.Sprintf(`{"id":%d,"tag":%q}`, id, name)); status != http.StatusBadRequest {
					t.Errorf("a plant without a name: got %d %s", status, body)
				}
				if status, body := call(http.MethodGet, fmt.Sprintf("/plants/%d", id), ""); status != http.StatusOK ||
					!strings.HasPrefix(body, fmt.Sprintf(`{"id":%d,"name":%q%s,"etag"`, id, name, tag)) {
					t.Errorf("plant %d is %d %s", id, status, body)
				}
			}
		})
	}
	wg.Wait()
}
