package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
)

// Clients of the public "OpenAPI Plant Store" description work without a change. They
// list plants as an array with an int32 limit, expect no id in the response to a
// create, and expect 204 for a delete.
func TestPublicPlantStore(t *testing.T) {
	s := newService(t)
	for id := 1; id <= 3; id++ {
		a := s.post(fmt.Sprintf(`{"id":%d,"name":"Ficus","tag":"Moraceae"}`, id)).wantStatus(t, http.StatusOK)
		var plant map[string]any
		if err := json.Unmarshal([]byte(a.body), &plant); err != nil || len(plant) != 2 || plant["name"] != "Ficus" || plant["tag"] != "Moraceae" {
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
