package httpapi_test

import (
	"encoding/json"
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

func TestCreatePlant(t *testing.T) {
	s := newService(t)
	for name, c := range map[string]struct {
		body, want, location string
		stored               plant.Plant
	}{
		"with a tag": {
			`{"id":1,"name":"Ficus lyrata","tag":"Moraceae"}`, `{"name":"Ficus lyrata","tag":"Moraceae"}`, "/plants/1",
			plant.Plant{ID: 1, Name: "Ficus lyrata", Tag: new("Moraceae")},
		},
		"without": {
			`{"id":2,"name":"Ginkgo biloba"}`, `{"name":"Ginkgo biloba"}`, "/plants/2",
			plant.Plant{ID: 2, Name: "Ginkgo biloba"},
		},
		"last id": {
			`{"id":9223372036854775807,"name":"n"}`, `{"name":"n"}`, "/plants/9223372036854775807",
			plant.Plant{ID: 9223372036854775807, Name: "n"},
		},
		"members that nobody named": {
			` {"Id":5, "NAME":"b", "id" : 4, "name":"a", "Tag":"x", "more":[{"id":6}]} `, `{"name":"a"}`, "/plants/4",
			plant.Plant{ID: 4, Name: "a"},
		},
		"escapes": {
			`{"id":5,"name":"\u00c9pinette \ud83c\udf35 \u0000 \"","tag":"\/"}`, `{"name":"Épinette 🌵 \u0000 \"","tag":"/"}`, "/plants/5",
			plant.Plant{ID: 5, Name: "Épinette 🌵 \x00 \"", Tag: new("/")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.with(t)
			for range 2 { // an equal repeat answers the same
				a := s.post(c.body)
				if a.StatusCode != http.StatusOK || a.body != c.want+"\n" {
					t.Errorf("answered %s %s, want 200 %s", a.Status, a.body, c.want)
				}
				if got := a.Header.Get("Location"); got != c.location {
					t.Errorf("Location is %q, want %q", got, c.location)
				}
			}
			s.wantPlant(c.stored)
		})
	}
}

// Query parameters are no input of createPlant.
func TestCreatePlantIgnoresQuery(t *testing.T) {
	s := newService(t)
	s.call(http.MethodPost, "/plants?id=7&x=%zz", `{"id":1,"name":"n"}`).wantStatus(t, http.StatusOK)
	s.wantPlant(plant.Plant{ID: 1, Name: "n"})
}

// The lengths that the stores rely on are those of the document.
func TestLengthsOfTheDocument(t *testing.T) {
	s := newService(t)
	name, tag := strings.Repeat("🌵", plant.MaxName), strings.Repeat("🌵", plant.MaxTag)
	post := func(name, tag string) response { return s.post(fmt.Sprintf(`{"id":1,"name":%q,"tag":%q}`, name, tag)) }
	post(name, tag).wantStatus(t, http.StatusOK)
	s.call(http.MethodGet, "/plants?tag="+tag, "").wantStatus(t, http.StatusOK)
	for what, a := range map[string]response{
		"a longer name": post(name+"x", tag), "a longer tag": post(name, tag+"x"),
		"a longer name in PUT":  s.call(http.MethodPut, "/plants/1", fmt.Sprintf(`{"name":%q}`, name+"x")),
		"a longer tag in PATCH": s.call(http.MethodPatch, "/plants/1", fmt.Sprintf(`{"tag":%q}`, tag+"x")),
	} {
		if e := a.wantError(t, plantapi.CodeInvalidBody); !strings.Contains(e.Message, "must have at most") {
			t.Errorf("%s: the message is %q", what, e.Message)
		}
	}
	s.call(http.MethodGet, "/plants?tag="+tag+"x", "").wantError(t, plantapi.CodeInvalidParameter)
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

// Clients of the public "OpenAPI Plant Store" description work without a change. They
// list plants as an array with an int32 limit, expect no id in the response to a
// create, and expect 204 for a delete.
func TestPublicPlantStore(t *testing.T) {
	s := newService(t)
	for id := 1; id <= 3; id++ {
		a := s.post(fmt.Sprintf(`{"id":%d,"name":"Ficus","tag":"Moraceae"}`, id)).wantStatus(t, http.StatusOK)
		var plant map[string]any
		if err := json.Unmarshal([]byte(a.body), &plant); err != nil || len(plant) != 2 || plant["name"] != "Ficus" ||
			plant["tag"] != "Moraceae" {
			t.Errorf("created %v, %v", plant, err)
		}
	}
	for _, limit := range []string{"1", "3", "2147483647"} {
		a := s.call(http.MethodGet, "/plants?limit="+limit, "").wantStatus(t, http.StatusOK)
		var plants []struct {
			Name *string
			Tag  *string
		}
		if err := json.Unmarshal([]byte(a.body), &plants); err != nil || len(plants) == 0 || plants[0].Name == nil {
			t.Errorf("with limit %s listed %s, %v", limit, a.body, err)
		}
	}
	for _, want := range []int{http.StatusNoContent, http.StatusNotFound} {
		a := s.call(http.MethodDelete, "/plants/2", "").wantStatus(t, want)
		if want == http.StatusNotFound {
			var e struct {
				Error   *int32
				Message *string
			}
			if err := json.Unmarshal([]byte(a.body), &e); err != nil || e.Error == nil || e.Message == nil {
				t.Errorf("refused with %s", a.body)
			}
		}
	}
}
