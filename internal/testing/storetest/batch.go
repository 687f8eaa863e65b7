package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// PartsOfBatches creates batches while it lists plants. It returns how many pages had
// a part of a batch that was being stored. Only a sharded store has such pages.
func PartsOfBatches(t *testing.T, store plant.Store) (parts int) {
	t.Helper()
	const size, count = 50, 20
	stored := make(chan int, count)
	var writer sync.WaitGroup
	defer writer.Wait()
	writer.Go(func() {
		defer close(stored)
		for n := range count {
			batch := make([]plant.Plant, size)
			for i := range batch { // each batch is all over the ids
				batch[i] = plant.Plant{ID: int64(i*count + n), Name: fmt.Sprint(n)}
			}
			if _, err := store.CreateAll(timeout(t), batch); err != nil {
				t.Error(err)
			}
			stored <- n + 1
		}
	})
	for done, open := 0, true; open; {
		have := map[int64]int{}
		plants, _, err := store.List(timeout(t), plant.Page{Limit: size * count})
		must.NoError(t, err)
		for _, p := range plants {
			have[p.ID%count]++
		}
		for n := range int64(count) {
			switch got := have[n]; {
			case n < int64(done) && got != size:
				t.Errorf("a page has %d of the %d plants of a batch that was stored before", got, size)
			case got != 0 && got != size:
				parts++
			}
		}
		select {
		case n, more := <-stored:
			open = more
			if more {
				done = n
			}
		default:
		}
	}
	return parts
}

func createBatch(t *testing.T, open func(t *testing.T) plant.Store) {
	// A batch takes other statements than a single create, with the same values.
	t.Run("all plants of a batch are stored", func(t *testing.T) {
		store := open(t)
		if created, err := store.CreateAll(timeout(t), samplePlants()); created != len(samplePlants()) || err != nil {
			t.Fatalf("CreateAll = %d, %v, want %d", created, err, len(samplePlants()))
		}
		for _, p := range samplePlants() {
			wantCreated(t, store, p)
		}
	})

	// A client repeats a batch whose response was lost, and learns how many plants are new.
	t.Run("creating a batch again, or with some plants stored already, succeeds", func(t *testing.T) {
		store := open(t)
		mustCreate(t, store, samplePlants()[3])
		for _, want := range []int{len(samplePlants()) - 1, 0} {
			if created, err := store.CreateAll(timeout(t), samplePlants()); created != want || err != nil {
				t.Fatalf("CreateAll = %d, %v, want %d", created, err, want)
			}
		}
	})

	// The client corrects all faults at once, and finds nothing of the batch stored.
	t.Run("a batch with a taken id is an ExistsError with every such index and changes nothing", func(t *testing.T) {
		store := open(t)
		mustCreate(t, store, plant.Plant{ID: 3, Name: "first"})
		mustCreate(t, store, plant.Plant{ID: 5, Name: "first"})
		mustCreate(t, store, plant.Plant{ID: 1, Name: "a"})
		batch := []plant.Plant{{ID: 1, Name: "a"}, {ID: 2, Name: "b"}, {ID: 3, Name: "second"}, {ID: 4, Name: "d"}, {ID: 5, Name: "e"}}
		_, err := store.CreateAll(timeout(t), batch)
		if taken, ok := errors.AsType[plant.ExistsError](err); !ok || !slices.Equal(taken.Indexes, []int{2, 4}) || !errors.Is(err, plant.ErrExists) {
			t.Fatalf("CreateAll = %v, want an ExistsError for plants 2 and 4", err)
		}
		wantCreated(t, store, plant.Plant{ID: 3, Name: "first"})
		if got := listIDs(t, store, plant.Page{Limit: 10}); !slices.Equal(got, []int64{1, 3, 5}) {
			t.Errorf("stored plants are %v, want only 1, 3 and 5", got)
		}
	})

	// Batches that lock the same ids in another order must not block each other for ever.
	t.Run("of concurrent batches with the same ids exactly one is stored, completely", func(t *testing.T) {
		store := open(t)
		const clients = 8
		errs := make([]error, clients)
		var wg sync.WaitGroup
		for c := range clients {
			wg.Go(func() {
				var batch []plant.Plant
				for id := range int64(50) {
					batch = append(batch, plant.Plant{ID: id, Name: fmt.Sprint(c)})
				}
				if c%2 == 1 {
					slices.Reverse(batch)
				}
				_, errs[c] = store.CreateAll(timeout(t), batch)
			})
		}
		wg.Wait()
		winner := slices.Index(errs, nil)
		if winner < 0 || slices.Contains(errs[winner+1:], nil) {
			t.Fatalf("errors are %v, want exactly one nil", errs)
		}
		for id := range int64(50) {
			wantCreated(t, store, plant.Plant{ID: id, Name: fmt.Sprint(winner)})
		}
	})
}
