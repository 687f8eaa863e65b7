package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
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

// Twenty real plants go in through the generated client and are read back from
// the file.
func TestRealPlants(t *testing.T) {
	s := newService(t)
	for i, p := range realPlants {
		id := int64(i + 1)
		resp, err := s.client.CreatePlantWithResponse(t.Context(), plantapi.NewPlant{ID: id, Name: p.name, Tag: &p.family})
		if err != nil {
			t.Fatal(err)
		}
		if got := resp.JSON200; got == nil || got.Name != p.name || got.Tag == nil || *got.Tag != p.family {
			t.Fatalf("created %q (%s), answered %s %s", p.name, p.family, resp.Status(), resp.Body)
		}
	}
	for i, p := range realPlants {
		s.wantPlant(plant.Plant{ID: int64(i + 1), Name: p.name, Tag: &p.family})
	}
}

var realPlants = []struct{ name, family string }{
	{"Ficus lyrata", "Moraceae"},
	{"Ginkgo biloba", "Ginkgoaceae"},
	{"Monstera deliciosa", "Araceae"},
	{"Quercus robur", "Fagaceae"},
	{"Rosa × damascena", "Rosaceae"},
	{"Mentha × piperita", "Lamiaceae"},
	{"Épinette à feuilles d'if", "Pinacées"},
	{"蘭", "蘭科"},
	{"桜", "バラ科"},
	{"무궁화", "아욱과"},
	{"Берёза повислая", "Берёзовые"},
	{"Ελιά", "Ελαιοειδή"},
	{"نخلة التمر", "فوفلية"},
	{"תאנה", "תותיים"},
	{"तुलसी", "Lamiaceae"},
	{"Ananas comosus", "Bromeliaceae"},
	{"Þrílaufungur", "Ophioglossaceae"},
	{"Ñandubay", "Fabaceae"},
	{"Cây lúa", "Họ Hòa thảo"},
	{"Dionaea muscipula 'Akai Ryū'", "Droseraceae"},
}

// Of many concurrent creates with one id, exactly one succeeds and the others get
// 40010.
func TestConcurrentCreatesOfOneID(t *testing.T) {
	s := newService(t)
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	status := make([]int, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() {
			resp, err := s.client.CreatePlantWithResponse(t.Context(), plantapi.NewPlant{ID: 1, Name: name})
			if err != nil {
				t.Error(err)
				return
			}
			status[i] = resp.StatusCode()
			if resp.JSON200 == nil && (resp.JSON400 == nil || resp.JSON400.Error != int32(plantapi.CodeIDTaken)) {
				t.Errorf("answered %s %s, want 200 or 40010", resp.Status(), resp.Body)
			}
		})
	}
	wg.Wait()
	winners := 0
	for i, name := range names {
		if status[i] == http.StatusOK {
			winners++
			s.wantPlant(plant.Plant{ID: 1, Name: name})
		}
	}
	if winners != 1 {
		t.Errorf("%d creates of one id answered 200, want 1", winners)
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
