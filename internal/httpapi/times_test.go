package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantserver"
)

// A time has six digits after the seconds, zeros too.
func TestTimestampFormat(t *testing.T) {
	w, second := httptest.NewRecorder(), time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	if err := plantserver.WriteJSON(w, http.StatusOK, &plantapi.StoredPlant{CreatedAt: second, UpdatedAt: second}); err != nil {
		t.Fatal(err)
	}
	if got := w.Body.String(); strings.Count(got, `_at":"2026-11-20T09:00:00.000000Z"`) != 2 {
		t.Errorf("got %s", got)
	}
}

// What a read returned may be sent back as it is.
func TestResponseIsAcceptedAsRequest(t *testing.T) {
	s := newService(t)
	s.call(http.MethodPut, "/plants/1", `{"name":"n","tag":"t"}`).wantStatus(t, http.StatusCreated)
	received := s.call(http.MethodGet, "/plants/1", "").wantStatus(t, http.StatusOK).body
	for _, method := range []string{http.MethodPut, http.MethodPatch} {
		a := s.call(method, "/plants/1", received).wantStatus(t, http.StatusOK)
		if a.body != received { // nothing changes, not even the version
			t.Errorf("%s of %s: got %s", method, received, a.body)
		}
		for _, member := range []string{`"id":"x"`, `"etag":1`, `"created_at":null`, `"updated_at":{}`, `"colour":["green"]`} {
			a := s.call(method, "/plants/1", `{"name":"n","tag":"t",`+member+`}`).wantStatus(t, http.StatusOK)
			if a.body != received {
				t.Errorf("%s with %s: got %s", method, member, a.body)
			}
		}
		a = s.call(method, "/plants/2", received)
		if method == http.MethodPut { // the id in the path counts
			a.wantStatus(t, http.StatusCreated)
			s.call(http.MethodDelete, "/plants/2", "").wantStatus(t, http.StatusNoContent)
		} else {
			a.wantStatus(t, http.StatusNotFound)
		}
	}
}
