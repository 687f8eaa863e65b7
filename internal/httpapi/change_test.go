package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/plant"
)

func TestPatch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		patch string
		want  plant.Plant
	}{
		"nothing":                {`{}`, plant.Plant{ID: 1, Name: "name", Tag: new("tag")}},
		"absent keeps":           {`{"name":"other"}`, plant.Plant{ID: 1, Name: "other", Tag: new("tag")}},
		"null removes":           {`{"tag":null}`, plant.Plant{ID: 1, Name: "name"}},
		"empty is a value":       {`{"tag":""}`, plant.Plant{ID: 1, Name: "name", Tag: new("")}},
		"everything":             {`{"name":"","tag":"\u0000 <&>\u2028🌵"}`, plant.Plant{ID: 1, Tag: new("\x00 <&>\u2028🌵")}},
		"null where there is no": {`{"tag":null,"name":"name"}`, plant.Plant{ID: 1, Name: "name"}},
		"unknown is ignored":     {`{"id":2,"Name":"x","a~/\"b":"y"}`, plant.Plant{ID: 1, Name: "name", Tag: new("tag")}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t)
			s.post(`{"id":1,"name":"name","tag":"tag"}`).wantStatus(t, http.StatusOK)
			for range 2 { // a patch of this kind may be repeated
				a := s.call(http.MethodPatch, "/plants/1", c.patch).wantStatus(t, http.StatusOK)
				p := a.plant(t)
				if got := (plant.Plant{ID: p.ID, Name: p.Name, Tag: p.Tag}); !got.Same(c.want) {
					t.Errorf("got %s, want %+v", a.body, c.want)
				}
				if got := a.Header.Get("ETag"); got != `"`+p.ETag+`"` {
					t.Errorf("ETag is %s, but the plant has %s", got, p.ETag)
				}
			}
			s.wantPlant(c.want)
		})
	}
}

func TestPut(t *testing.T) {
	s := newService(t)
	created := s.call(http.MethodPut, "/plants/-1", `{"name":"a","tag":"","id":7}`, header("If-None-Match", "*")).wantStatus(t, http.StatusCreated)
	if got := created.Header.Get("Location"); got != "/plants/-1" {
		t.Errorf("Location is %q", got)
	}
	s.wantPlant(plant.Plant{ID: -1, Name: "a", Tag: new("")})
	s.wantNone(7)
	s.call(http.MethodPut, "/plants/-1", `{"name":"b"}`, header("If-None-Match", "*")).wantError(t, plantapi.CodePreconditionFailed)
	s.call(http.MethodPut, "/plants/2", `{"name":"b"}`, header("If-Match", "*")).wantError(t, plantapi.CodePreconditionFailed)
	s.wantNone(2)

	replaced := s.call(http.MethodPut, "/plants/-1", `{"name":"b"}`, header("If-Match", `"`+created.plant(t).ETag+`"`)).wantStatus(t, http.StatusOK)
	for _, a := range []response{created, replaced} {
		if got := a.Header.Values("ETag"); len(got) > 0 {
			t.Errorf("PUT: got ETag %q, want none: the stored plant is not what was sent", got)
		}
	}
	if c, r := created.plant(t), replaced.plant(t); c.ETag == r.ETag || !c.CreatedAt.Equal(r.CreatedAt) {
		t.Errorf("created %+v, replaced %+v: want another version with the same created_at", c, r)
	}
	s.wantPlant(plant.Plant{ID: -1, Name: "b"})
}

func TestBatch(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.post(`{"id":500,"name":"there","tag":"t"}`)
	s.post(`{"id":5000,"name":"there"}`)
	batch := func(n int, change func(plants []plantapi.NewPlant)) string {
		plants := make([]plantapi.NewPlant, n)
		for i := range plants {
			plants[i] = plantapi.NewPlant{ID: int64(i), Name: fmt.Sprint("plant ", i)}
		}
		change(plants)
		body, err := json.Marshal(plantapi.NewPlants{Plants: plants})
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	nothing := func([]plantapi.NewPlant) {}
	for name, c := range map[string]struct {
		body  string
		code  plantapi.ErrorCode
		where string
	}{
		"no plants":         {`{"plants":[]}`, plantapi.CodeInvalidBody, "/plants"},
		"no list":           {`{}`, plantapi.CodeInvalidBody, "/plants"},
		"null":              {`{"plants":null}`, plantapi.CodeInvalidBody, "/plants"},
		"1001 plants":       {batch(1001, nothing), plantapi.CodeInvalidBody, "/plants"},
		"one of 1000 wrong": {strings.Replace(batch(1000, nothing), `"id":17,`, `"id":1.0,`, 1), plantapi.CodeInvalidBody, "/plants/17/id"},
		"one without name":  {`{"plants":[{"id":1,"name":"n"},{"id":2}]}`, plantapi.CodeInvalidBody, "/plants/1/name"},
		"an id twice":       {batch(20, func(p []plantapi.NewPlant) { p[17] = p[3] }), plantapi.CodeIDTaken, "/plants/17/id"},
		"an id taken":       {batch(20, func(p []plantapi.NewPlant) { p[17].ID = 500 }), plantapi.CodeIDTaken, "/plants/17/id"},
		"two ids taken":     {batch(20, func(p []plantapi.NewPlant) { p[4].ID, p[17].ID = 5000, 500 }), plantapi.CodeIDTaken, "/plants/4/id /plants/17/id"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.with(t)
			e := s.call(http.MethodPost, "/plants:batch", c.body).wantError(t, c.code)
			var where []string
			for _, d := range *e.Details {
				where = append(where, d.Pointer)
			}
			if got := strings.Join(where, " "); got != c.where {
				t.Errorf("details are for %s, want %s", got, c.where)
			}
			for _, id := range []int64{0, 1, 2, 3, 16} {
				s.wantNone(id)
			}
			s.wantPlant(plant.Plant{ID: 500, Name: "there", Tag: new("t")})
		})
	}
	// A megabyte of faults gives one detail, not a hundred megabytes of details.
	s.call(http.MethodPost, "/plants:batch", `{"plants":[`+strings.Repeat("{},", 300_000)+`{}]}`).wantError(t, plantapi.CodeInvalidBody)

	whole := batch(1000, func(p []plantapi.NewPlant) { p[500] = plantapi.NewPlant{ID: 500, Name: "there", Tag: new("t")} })
	for _, created := range []int32{999, 0} {
		var got plantapi.Plants
		a := s.call(http.MethodPost, "/plants:batch", whole).wantStatus(t, http.StatusOK)
		if err := json.Unmarshal([]byte(a.body), &got); err != nil || len(got.Plants) != 1000 ||
			got.Plants[999].Name != "plant 999" {
			t.Fatalf("got %d plants, %v", len(got.Plants), err)
		}
		if got.Created != created {
			t.Errorf("created is %d, want %d", got.Created, created)
		}
	}
	for _, id := range []int64{0, 999} {
		s.wantPlant(plant.Plant{ID: id, Name: fmt.Sprint("plant ", id)})
	}
}

func TestHead(t *testing.T) {
	s := newService(t)
	s.post(`{"id":1,"name":"n"}`)
	for _, path := range []string{"/plants", "/plants?limit=1", "/plants/1", "/plants/2", "/plants/x"} {
		get, head := s.call(http.MethodGet, path, ""), s.call(http.MethodHead, path, "")
		if head.StatusCode != get.StatusCode || head.body != "" {
			t.Errorf("HEAD %s: got %s %q, GET %s", path, head.Status, head.body, get.Status)
		}
		for _, h := range []*http.Response{get.Response, head.Response} {
			h.Header.Del("Date")
			h.Header.Del("X-Request-Id")
		}
		if diff := cmp.Diff(get.Header, head.Header); diff != "" {
			t.Errorf("headers of %s (-GET +HEAD):\n%s", path, diff)
		}
	}
}
