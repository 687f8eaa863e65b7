package system_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// writerCount is the number of clients that write at the same time.
const writerCount = 4

// writers change plants at random. Each plant belongs to one of them. The name of a
// plant is a number that grows with each write.
type writers struct {
	t      *testing.T
	size   int64 // the IDs below it are written again and again
	writes atomic.Int64

	mu      sync.Mutex
	plants  map[int64]string                // the names of the acknowledged plants
	history map[int64][]client.HistoryEntry // what the acknowledged changes have added, oldest first; of the plants before, only the names
}

// nameOfWriter is the name of the token of writer n.
func nameOfWriter(n int64) string { return fmt.Sprint("writer ", n) }

// fill creates the plants with the IDs below size, which is a multiple of 1000.
func (w *writers) fill(c *client.Client) {
	w.t.Helper()
	for first := int64(0); first < w.size; first += 1000 {
		var plants []client.Plant
		for id := first; id < first+1000; id++ {
			plants = append(plants, client.Plant{ID: id, Name: "0"})
			w.plants[id] = "0"
		}
		_, err := c.CreateBatch(w.t.Context(), plants)
		must.NoError(w.t, err)
	}
}

// start lets the writers write until the returned function is called.
func (w *writers) start(m *mortal) (stop func()) {
	var clients [writerCount]*client.Client // each with connections of its own
	for n := range clients {
		clients[n] = m.named(w.t, nameOfWriter(int64(n)))
	}
	return wait.Repeat(writerCount, func(n int) bool {
		w.write(clients[n], int64(n))
		return !w.t.Failed()
	})
}

// write deletes a plant of writer n, replaces one, or creates some, and repeats that
// until it is acknowledged.
func (w *writers) write(c *client.Client, n int64) {
	ctx, cancel := context.WithTimeout(w.t.Context(), wait.Limit)
	defer cancel()
	count := w.writes.Add(1)
	name := fmt.Sprint(count)
	ids := []int64{rand.Int64N(w.size/writerCount)*writerCount + n}
	var try func() error
	switch rand.IntN(4) {
	case 0:
		name = ""
		try = func() error {
			err := c.Delete(ctx, ids[0])
			if errors.Is(err, client.ErrNoSuchPlant) {
				return nil
			}
			return err
		}
	case 1: // IDs that are not used again, so that no later change hides a missed one
		ids = []int64{w.size + 3*count, w.size + 3*count + 1, w.size + 3*count + 2}
		try = func() error {
			var plants []client.Plant
			for _, id := range ids {
				plants = append(plants, client.Plant{ID: id, Name: name})
			}
			_, err := c.CreateBatch(ctx, plants)
			return err
		}
	default:
		try = func() error {
			_, err := c.Put(ctx, client.Plant{ID: ids[0], Name: name})
			return err
		}
	}
	err := try()
	for errors.Is(err, client.ErrOutcomeUnknown) && ctx.Err() == nil {
		err = try()
	}
	if err != nil {
		w.t.Errorf("a write failed: %v", err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range ids {
		if before, exists := w.plants[id]; exists && w.history != nil {
			entry := client.HistoryEntry{Change: client.Replaced, ChangedBy: nameOfWriter(n), Plant: client.Plant{Name: before}}
			if name == "" {
				entry.Change = client.Deleted
			}
			w.history[id] = append(w.history[id], entry)
		}
		if w.plants[id] = name; name == "" {
			delete(w.plants, id)
		}
	}
}

// wantHistory fails unless each plant has exactly the history that was acknowledged, and each state is
// followed by the one that its change has stored.
func (w *writers) wantHistory(c *client.Client, present map[int64]client.Plant) {
	w.t.Helper()
	entries := 0
	for id := range w.size {
		want := w.history[id]
		after, exists := present[id]
		for entry, err := range c.History(w.t.Context(), id) {
			must.NoError(w.t, err)
			entries++
			if len(want) == 0 {
				w.t.Errorf("plant %d has an entry of a change that was not acknowledged: %+v", id, entry)
				break
			}
			last := want[len(want)-1]
			want = want[:len(want)-1]
			if entry.Change != last.Change || entry.ChangedBy != last.ChangedBy || entry.Plant.Name != last.Plant.Name {
				w.t.Errorf("plant %d has the entry %+v, want %+v", id, entry, last)
			}
			isFollowed := exists && after.ChangedBy == entry.ChangedBy && after.UpdatedAt.Equal(entry.ChangedAt)
			if entry.Change != client.Deleted && !isFollowed {
				w.t.Errorf("after the change %+v plant %d is %+v", entry, id, after)
			}
			after, exists = entry.Plant, true
		}
		if len(want) > 0 {
			w.t.Errorf("plant %d lacks %d entries of changes that were acknowledged", id, len(want))
		}
	}
	w.t.Logf("figures: %d changes have one entry each", entries)
}
