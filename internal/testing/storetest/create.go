package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/expect"
)

func create(t *testing.T, open func(t *testing.T) plant.Store) {
	// Texts come back byte for byte, also those that SQL or a driver could treat in another way.
	t.Run("Get returns a plant as it was created", func(t *testing.T) {
		store := open(t)
		for i, p := range samplePlants() {
			mustCreate(t, store, p)
			got, err := store.Get(timeout(t), p.ID)
			if err != nil {
				t.Fatalf("Get(%d) after creating case %d: %v", p.ID, i, err)
			}
			if diff := cmp.Diff(p, got, asCreated); diff != "" {
				t.Errorf("case %d (-want +got):\n%s", i, diff)
			}
		}
	})

	// A create never overwrites a plant, however little differs.
	t.Run("creating another plant with a taken id is ErrExists and changes nothing", func(t *testing.T) {
		first := plant.Plant{ID: 1, Name: "Ficus lyrata", Tag: new("Moraceae")}
		for _, other := range []plant.Plant{
			{ID: 1, Name: "Ficus elastica", Tag: new("Moraceae")},
			{ID: 1, Name: "Ficus lyrata", Tag: new("moraceae")},
			{ID: 1, Name: "Ficus lyrata", Tag: new("")},
			{ID: 1, Name: "Ficus lyrata"},
		} {
			store := open(t)
			mustCreate(t, store, first)
			expect.Error(t, "Create of "+show(other), store.Create(timeout(t), other), plant.ErrExists)
			wantCreated(t, store, first)
		}
	})

	// SQL makes it easy to take NULL for an empty text.
	t.Run("no tag and an empty tag are different", func(t *testing.T) {
		store := open(t)
		mustCreate(t, store, plant.Plant{ID: 1, Name: "n"})
		err := store.Create(timeout(t), plant.Plant{ID: 1, Name: "n", Tag: new("")})
		expect.Error(t, "Create with an empty tag over none", err, plant.ErrExists)
	})

	// Two clients must not both believe that the id is theirs.
	t.Run("of concurrent creates of one id exactly one succeeds", func(t *testing.T) {
		store := open(t)
		const clients = 32
		errs := make([]error, clients)
		var wg sync.WaitGroup
		for i := range clients {
			wg.Go(func() {
				errs[i] = store.Create(timeout(t), plant.Plant{ID: 7, Name: fmt.Sprint(i)})
			})
		}
		wg.Wait()
		winner := -1
		for i, err := range errs {
			switch {
			case err == nil && winner >= 0:
				t.Fatalf("clients %d and %d both created plant 7", winner, i)
			case err == nil:
				winner = i
			case !errors.Is(err, plant.ErrExists):
				t.Fatalf("Create %d = %v, want nil or %v", i, err, plant.ErrExists)
			}
		}
		if winner < 0 {
			t.Fatal("no client created plant 7")
		}
		wantCreated(t, store, plant.Plant{ID: 7, Name: fmt.Sprint(winner)})
	})

	// Creates at the same time share transactions. None may lose the plant of another one.
	t.Run("all plants of concurrent creates are stored", func(t *testing.T) {
		store := open(t)
		const clients, each = 16, 20
		var wg sync.WaitGroup
		for c := range clients {
			wg.Go(func() {
				for i := range each {
					p := plant.Plant{ID: int64(c*each + i), Name: fmt.Sprint(c, i)}
					if err := store.Create(timeout(t), p); err != nil {
						t.Errorf("Create(%s) = %v", show(p), err)
					}
				}
			})
		}
		wg.Wait()
		for c := range clients {
			for i := range each {
				wantCreated(t, store, plant.Plant{ID: int64(c*each + i), Name: fmt.Sprint(c, i)})
			}
		}
	})

	// The caller has given up before the write began.
	t.Run("a create with a cancelled context changes nothing", func(t *testing.T) {
		store := open(t)
		ctx, cancel := context.WithCancel(timeout(t))
		cancel()
		err := store.Create(ctx, plant.Plant{ID: 1, Name: "n"})
		expect.Error(t, "Create with a cancelled context", err, context.Canceled)
		expect.Error(t, "then Get(1)", second(store.Get(timeout(t), 1)), plant.ErrNotFound)
	})
}
