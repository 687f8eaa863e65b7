package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// A count stops where the document says.
func TestCountStops(t *testing.T) {
	must.HaveTime(t)
	s := newService(t)
	s.fill(100_000)
	for _, more := range []string{"false", "true"} {
		want := `{"count":100000,"more":` + more + `}`
		if a := s.call(http.MethodGet, "/plants:count", ""); strings.TrimSpace(string(a.body)) != want {
			t.Errorf("the count is %s, want %s", a.body, want)
		}
		must.NoError(t, s.store.Create(t.Context(), plant.Plant{ID: 100_000, Name: "n"}))
	}
}
