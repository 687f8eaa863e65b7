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
	"github.com/plantstore/plantstore/internal/testing/must"
)

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
		must.NoError(t, err)
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
