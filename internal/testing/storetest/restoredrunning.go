package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// RestoreRunning is how an operator replaces the content of a store while servers use it.
type RestoreRunning struct {
	Open            func(t *testing.T) []store.Store // the servers of a new store
	Backup, Restore func(t *testing.T, number int)
}

// RestoredRunning tests with random histories that every follower ends up with an equal copy
// when the content of a store goes back, again and again, while servers write. A server need
// not have seen what another one has returned to a follower.
func RestoredRunning(t *testing.T, r RestoreRunning) {
	const steps = 150
	histories := 20
	if testing.Short() {
		histories = 4
	}
	for seed := range uint64(histories) {
		t.Run(fmt.Sprint("history ", seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			servers := r.Open(t)
			for _, s := range servers {
				mustBegin(t, s)
			}
			server := func() store.Store { return servers[random.IntN(len(servers))] }
			var followers []*Follower
			for range 6 {
				followers = append(followers, &Follower{Limit: 1 + random.IntN(4)})
			}
			backups := 0
			for step := range steps {
				switch n := random.IntN(100); {
				case n < 8 && backups < 3:
					r.Backup(t, backups)
					backups++
				case n < 20 && backups > 0:
					r.Restore(t, random.IntN(backups))
				case n < 60:
					writeSomething(t, server(), random, step)
				default:
					f := followers[random.IntN(len(followers))]
					f.Store = server()
					must.NoError(t, second(f.Next(t)))
				}
			}
			for _, f := range followers {
				f.Store = server()
				f.Drain(t)
				f.WantCopy(t)
			}
		})
	}
}

// writeSomething writes one of few plants, or several.
func writeSomething(t *testing.T, s store.Store, random *rand.Rand, step int) {
	t.Helper()
	id := random.Int64N(8)
	switch random.IntN(4) {
	case 0:
		if err := s.Delete(timeout(t), id, "", plant.Precondition{}); err != nil && !errors.Is(err, plant.ErrNotFound) {
			t.Fatal(err)
		}
	case 1:
		mustCreateAll(t, s, 1000+10*int64(step), 1001+10*int64(step))
	default:
		mustPut(t, s, plant.Plant{ID: id, Name: fmt.Sprint("step ", step)})
	}
}

// NoEpochUnderLoad tests that servers that read and write at the same time begin no epoch:
// nothing was restored. Each must have begun one at its start.
func NoEpochUnderLoad(t *testing.T, servers ...store.Store) {
	for _, s := range servers {
		mustBegin(t, s)
	}
	newest := func() (epoch int64) {
		t.Helper()
		err := servers[0].Snapshot(timeout(t), func(held store.Snapshot) error {
			state, err := held.State(timeout(t))
			epoch = state.Epoch
			return err
		})
		must.NoError(t, err)
		return epoch
	}
	before := newest()
	const goroutines, rounds = 8, 40
	done := make(chan struct{}, goroutines)
	for g := range goroutines {
		go func() {
			defer func() { done <- struct{}{} }()
			s, f := servers[g%len(servers)], &Follower{Store: servers[(g+1)%len(servers)], Limit: 3}
			for i := range int64(rounds) {
				_, _, err := s.Put(timeout(t), plant.Plant{ID: i, Name: fmt.Sprint(g)}, plant.Precondition{})
				_, followErr := f.Next(t)
				if err := errors.Join(err, followErr); err != nil {
					t.Error(err)
				}
			}
			if f.Restarts > 0 {
				t.Errorf("a follower has begun again %d times, want 0", f.Restarts)
			}
		}()
	}
	for range goroutines {
		wait.For(t, "a client", done)
	}
	if after := newest(); after != before {
		t.Errorf("the newest epoch is %d, want %d", after, before)
	}
}

func mustBegin(t *testing.T, s store.Store) {
	t.Helper()
	must.NoError(t, s.BeginEpoch(timeout(t)))
}
