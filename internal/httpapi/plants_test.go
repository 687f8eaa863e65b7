package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/plant"
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
		"with an empty tag": {
			`{"id":3,"name":"n","tag":""}`, `{"name":"n","tag":""}`, "/plants/3",
			plant.Plant{ID: 3, Name: "n", Tag: new("")},
		},
		"without a name to speak of": {
			`{"id":0,"name":""}`, `{"name":""}`, "/plants/0",
			plant.Plant{ID: 0},
		},
		"first id": {
			`{"id":-9223372036854775808,"name":"n"}`, `{"name":"n"}`, "/plants/-9223372036854775808",
			plant.Plant{ID: -9223372036854775808, Name: "n"},
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

func TestCreatePlantUnderTakenID(t *testing.T) {
	s := newService(t)
	first := plant.Plant{ID: 1, Name: "Ficus lyrata", Tag: new("Moraceae")}
	s.post(`{"id":1,"name":"Ficus lyrata","tag":"Moraceae"}`)
	for _, body := range []string{
		`{"id":1,"name":"Ficus elastica","tag":"Moraceae"}`,
		`{"id":1,"name":"Ficus lyrata","tag":""}`,
		`{"id":1,"name":"Ficus lyrata"}`,
	} {
		e := s.post(body).wantError(t, plantapi.CodeIDTaken)
		if e.Details == nil || len(*e.Details) != 1 || (*e.Details)[0].Pointer != "/id" {
			t.Errorf("details are %v, want one that points at /id", e.Details)
		}
		s.wantPlant(first)
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
