//go:build !race

package httpapi_test

import (
	"testing"
)

// TestAllocations limits how often the handler allocates for a request. Unlike a time
// that is the same on every machine, but not with the race detector, which randomly
// drops what is put into a sync.Pool.
//
// Lower a bound when the number falls. Raise one with the reason in the commit.
func TestAllocations(t *testing.T) {
	handler := newService(t, offline, withPlants(newMapPlants(1000))).handler
	most := map[string]float64{"createPlant": 29, "getPlant": 21, "listPlants": 65}
	for _, e := range benchRequests {
		t.Run(e.name, func(t *testing.T) {
			got := testing.AllocsPerRun(1000, e.sender(t, handler))
			if t.Logf("figures: %s allocates %v times", e.name, got); got > most[e.name] {
				t.Errorf("allocates %v times, want at most %v: look for the reason (go test -memprofile); if the change needs them, "+
					"as each parameter of an operation needs four, raise the bound and give the reason in the commit", got, most[e.name])
			}
		})
	}
}
