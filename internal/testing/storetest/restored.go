package storetest

import (
	"testing"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// Restore is how an operator replaces a store by an earlier state of itself.
type Restore struct {
	Open            func(t *testing.T) store.Store // the test closes it
	Backup, Restore func(t *testing.T)             // Restore is called while the store is closed
	Begins          bool                           // Restore begins an epoch
}

// Restored tests that every follower ends up with an equal copy after a restore. A
// follower that has seen something that is gone begins again, others continue.
func Restored(t *testing.T, r Restore) {
	s := r.Open(t)
	mustBegin(t, s)
	mustPut(t, s, plant.Plant{ID: 0, Name: "before"})
	// Each is at another place when the store is replaced.
	behind := &Follower{Store: s, Limit: 100}
	beyond := &Follower{Store: s, Limit: 100}
	newer := &Follower{Store: s, Limit: 1} // at an old position, with a state that is gone
	walking := &Follower{Store: s, Limit: 1}
	for _, f := range []*Follower{behind, beyond, newer} {
		f.Drain(t)
	}
	mustPut(t, s, plant.Plant{ID: 1, Name: "before"})
	mustPut(t, s, plant.Plant{ID: 2, Name: "before"})
	r.Backup(t)
	mustPut(t, s, plant.Plant{ID: 1, Name: "lost"})
	for id := range int64(10) {
		mustPut(t, s, plant.Plant{ID: 100 + id, Name: "lost"})
	}
	beyond.Drain(t)
	for _, f := range []*Follower{newer, walking, walking} { // two plants of the walk
		must.NoError(t, second(f.Next(t)))
	}
	must.NoError(t, s.Close())
	r.Restore(t)
	s = r.Open(t)
	if !r.Begins {
		mustBegin(t, s)
	}
	for id := range int64(20) { // beyond the positions that are gone
		mustPut(t, s, plant.Plant{ID: 200 + id, Name: "after"})
	}
	for f, restarts := range map[*Follower]int{behind: 0, beyond: 1, newer: 1, walking: 1} {
		f.Store = s
		f.Drain(t)
		f.WantCopy(t)
		if f.Restarts != restarts {
			t.Errorf("a follower with the limit %d has begun again %d times, want %d", f.Limit, f.Restarts, restarts)
		}
	}
	must.NoError(t, s.Close())
}
