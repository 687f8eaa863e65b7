package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Every response says how long it is, so that a client knows what it has to expect; HEAD says the same.
func TestContentLength(t *testing.T) {
	s := newService(t)
	for id, size := range []int{0, 600, 650, 700, 750, 1000} { // bytes as JSON: three times as many, and 130
		one := fmt.Sprint("/plants/", id)
		s.call(http.MethodPut, one, fmt.Sprintf(`{"name":%q}`, strings.Repeat("蘭", size))).wantStatus(t, http.StatusCreated)
		for _, path := range []string{one, "/plants"} {
			get := s.call(http.MethodGet, path, "").wantStatus(t, http.StatusOK)
			head := s.call(http.MethodHead, path, "").wantStatus(t, http.StatusOK)
			if length := int64(len(get.body)); get.ContentLength != length || head.ContentLength != length {
				t.Errorf("%s: Content-Length of a body of %d is %d, with HEAD %d", path, length, get.ContentLength, head.ContentLength)
			}
		}
	}
}

// What a read returned may be sent back as it is.
func TestResponseIsAcceptedAsRequest(t *testing.T) {
	s := newService(t)
	s.call(http.MethodPut, "/plants/1", `{"name":"n","tag":"t"}`).wantStatus(t, http.StatusCreated)
	received := s.call(http.MethodGet, "/plants/1", "").wantStatus(t, http.StatusOK).body
	const unknown = `{"name":"n","tag":"t","id":"x","etag":1,"created_at":null,"updated_at":{},"colour":["green"]}`
	for _, method := range []string{http.MethodPut, http.MethodPatch} {
		for _, body := range []string{received, unknown} {
			a := s.call(method, "/plants/1", body).wantStatus(t, http.StatusOK)
			if a.body != received { // nothing changes, not even the version
				t.Errorf("%s of %s: got %s", method, body, a.body)
			}
		}
	}
	s.call(http.MethodPatch, "/plants/2", received).wantStatus(t, http.StatusNotFound) // the id in the path counts
	s.call(http.MethodPut, "/plants/2", received).wantStatus(t, http.StatusCreated)
}
