package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Every answer says how long it is, so that a client knows what it has to
// expect; HEAD says the same.
func TestContentLength(t *testing.T) {
	s := newService(t)
	for id, size := range []int{0, 600, 650, 700, 750, 1000} { // bytes as JSON: three times as many, and 130
		s.post(fmt.Sprintf(`{"id":%d,"name":%q}`, id, strings.Repeat("蘭", size))).wantStatus(t, http.StatusOK)
		for _, path := range []string{fmt.Sprintf("/plants/%d", id), "/plants"} {
			get := s.call(http.MethodGet, path, "").wantStatus(t, http.StatusOK)
			if get.ContentLength != int64(len(get.body)) {
				t.Errorf("GET %s: Content-Length is %d of a body of %d", path, get.ContentLength, len(get.body))
			}
			head := s.call(http.MethodHead, path, "").wantStatus(t, http.StatusOK)
			if head.ContentLength != get.ContentLength {
				t.Errorf("HEAD %s: Content-Length is %d, want %d", path, head.ContentLength, get.ContentLength)
			}
		}
	}
}
