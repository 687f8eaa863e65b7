package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// followTime is how long the writers of followers write.
func followTime() time.Duration {
	if testing.Short() {
		return 100 * time.Millisecond
	}
	return 500 * time.Millisecond
}

// followers lets writers change plants at random, on both stores, while followers
// with small and large pages follow. In the end every copy must be equal to the
// list. While the writers write, each follower looks for positions that come late.
func followers(t *testing.T, open func(t *testing.T) (one, two store.Store)) {
	one, two := open(t)
	stores := []store.Store{one, two}
	ctx := timeout(t)
	var writers sync.WaitGroup
	var written atomic.Int64
	end := time.Now().Add(followTime())
	for w := range 16 {
		writers.Go(func() {
			s, random := stores[w%2], rand.New(rand.NewPCG(rand.Uint64(), 0))
			for time.Now().Before(end) {
				id := random.Int64N(100)
				name := fmt.Sprint(random.IntN(1000))
				var err error
				switch random.IntN(8) {
				case 0, 1: // an ID that is not used again, so that no later change hides a missed one
					err = s.Create(ctx, plant.Plant{ID: random.Int64(), Name: name})
				case 2:
					_, err = s.CreateAll(ctx, []plant.Plant{{ID: id, Name: name}, {ID: 200 - id, Name: name}, {ID: -1 - id, Name: name}})
				case 3:
					_, _, err = s.Put(ctx, plant.Plant{ID: id, Name: name}, plant.Precondition{})
				case 4:
					_, err = s.Patch(ctx, id, plant.Patch{Name: &name}, plant.Precondition{})
				default:
					err = s.Delete(ctx, id, "", plant.Precondition{})
				}
				if err == nil {
					written.Add(1)
				} else if !errors.Is(err, plant.ErrExists) && !errors.Is(err, plant.ErrNotFound) {
					t.Errorf("a write failed: %v", err)
					return
				}
			}
		})
	}
	all := make([]*Follower, 8)
	for i := range all {
		all[i] = &Follower{Store: stores[i%2], Limit: []int{1000, 3, 50, 1}[i/2]}
	}
	stop := wait.Repeat(len(all), func(i int) bool {
		if _, err := all[i].Next(t); err != nil {
			t.Errorf("Changes = %v", err)
			return false
		}
		if all[i].Limit == 50 {
			time.Sleep(time.Duration(rand.IntN(3)) * time.Millisecond) // another schedule
		}
		return true
	})
	writers.Wait()
	stop()
	if t.Failed() {
		return
	}
	for _, f := range all {
		f.Drain(t)
		f.WantCopy(t)
		if f.Restarts > 0 {
			t.Errorf("the position of a follower was not valid %d times", f.Restarts)
		}
	}
	t.Logf("%d writes, position %d", written.Load(), all[0].Position.At)
	if written.Load() == 0 {
		t.Error("no write succeeded")
	}
}
