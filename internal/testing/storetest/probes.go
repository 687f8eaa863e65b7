package storetest

import (
	"fmt"
	"testing"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/testing/expect"
)

// Probes fails the test if Writable leaves something behind, also after a failure, which note records.
func Probes(t *testing.T, s store.Store, note func(error) error) {
	mustCreateAll(t, s, 1, 2)
	f := &Follower{Store: s, Limit: 100}
	f.Drain(t)
	for i := range 4 {
		if i%2 == 1 {
			_ = note(fmt.Errorf("test: %w", plant.ErrUnavailable)) // and returns it
		}
		expect.Error(t, "Writable", s.Writable(timeout(t)), nil)
	}
	f.wantNext(t)
	mustCreate(t, s, plant.Plant{ID: 3, Name: "n"})
	f.wantNext(t, 3)
	f.WantCopy(t)
}
