package httpapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/plantstore/plantstore/gen/plantserver"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/testing/must"
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

// A time has six digits after the seconds, zeros too.
func TestTimestampFormat(t *testing.T) {
	w, second := httptest.NewRecorder(), time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	must.NoError(t, plantserver.WriteJSON(w, http.StatusOK, &plantapi.StoredPlant{CreatedAt: second, UpdatedAt: second}))
	if got := w.Body.String(); strings.Count(got, `_at":"2026-11-20T09:00:00.000000Z"`) != 2 {
		t.Errorf("got %s", got)
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
