package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// The details of a batch that is refused point at its plants.
func TestDetailsOfABatch(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.post(`{"id":500,"name":"there"}`).wantStatus(t, http.StatusOK)
	s.post(`{"id":5000,"name":"there"}`).wantStatus(t, http.StatusOK)
	batch := func(ids ...int64) string {
		var plants []string
		for _, id := range ids {
			plants = append(plants, fmt.Sprintf(`{"id":%d,"name":"n"}`, id))
		}
		return `{"plants":[` + strings.Join(plants, ",") + `]}`
	}
	for name, c := range map[string]struct {
		body  string
		code  plantapi.ErrorCode
		where string
	}{
		"one without name": {`{"plants":[{"id":1,"name":"n"},{"id":2}]}`, plantapi.CodeInvalidBody, "/plants/1/name"},
		"an id twice":      {batch(1, 2, 3, 2), plantapi.CodeIDTaken, "/plants/3/id"},
		"two ids taken":    {batch(1, 5000, 2, 500), plantapi.CodeIDTaken, "/plants/1/id /plants/3/id"},
		// A megabyte of faults gives one detail, not a hundred megabytes of details.
		"300,000 faults": {`{"plants":[` + strings.Repeat("{},", 300_000) + `{}]}`, plantapi.CodeInvalidBody, "/plants"},
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
			s.wantNone(1)
		})
	}
}
