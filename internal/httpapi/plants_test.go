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
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// The lengths that the stores rely on are those of the document, in characters.
func TestLengthsOfTheDocument(t *testing.T) {
	s := newService(t)
	name, tag := strings.Repeat("🌵", plant.MaxName), strings.Repeat("🌵", plant.MaxTag)
	post := func(name, tag string) response { return s.post(fmt.Sprintf(`{"id":1,"name":%q,"tag":%q}`, name, tag)) }
	post(name, tag).wantStatus(t, http.StatusOK)
	s.call(http.MethodGet, "/plants?tag="+tag, "").wantStatus(t, http.StatusOK)
	for _, e := range []plantapi.Error{
		post(name+"x", tag).wantError(t, plantapi.CodeInvalidBody),
		post(name, tag+"x").wantError(t, plantapi.CodeInvalidBody),
		s.call(http.MethodGet, "/plants?tag="+tag+"x", "").wantError(t, plantapi.CodeInvalidParameter),
	} {
		if !strings.Contains(e.Message, "must have at most") {
			t.Errorf("the message is %q", e.Message)
		}
	}
}

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
