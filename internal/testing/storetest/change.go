package storetest

import (
	"math"
	"testing"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/expect"
)

func change(t *testing.T, open func(t *testing.T) plant.Store) {
	// The caller responds with 201 or 200, and with the stored plant.
	t.Run("put creates a plant or replaces it", func(t *testing.T) {
		store := open(t)
		for _, p := range samplePlants() {
			for _, c := range []struct {
				p       plant.Plant
				created bool
			}{{plant.Plant{ID: p.ID, Name: "another", Tag: new("another")}, true}, {p, false}, {p, false}} {
				stored, created, err := store.Put(timeout(t), c.p, plant.Precondition{})
				if err != nil || created != c.created || !stored.Same(c.p) {
					t.Fatalf("Put(%s) = %s, %v, %v, want the same plant, created = %v", show(c.p), show(stored), created, err, c.created)
				}
				wantStored(t, store, stored)
			}
		}
	})

	// A patch that names no tag keeps it. One that sets none removes it.
	t.Run("patch changes only the members that it names", func(t *testing.T) {
		base := plant.Plant{ID: 1, Name: "name", Tag: new("tag")}
		for name, c := range map[string]struct {
			change plant.Patch
			want   plant.Plant
		}{
			"nothing":         {plant.Patch{}, base},
			"the name":        {plant.Patch{Name: new("")}, plant.Plant{ID: 1, Name: "", Tag: new("tag")}},
			"the tag":         {plant.Patch{SetTag: true, Tag: new("")}, plant.Plant{ID: 1, Name: "name", Tag: new("")}},
			"remove the tag":  {plant.Patch{SetTag: true}, plant.Plant{ID: 1, Name: "name"}},
			"both":            {plant.Patch{Name: new("蘭\x00"), SetTag: true, Tag: new("\x00")}, plant.Plant{ID: 1, Name: "蘭\x00", Tag: new("\x00")}},
			"the same values": {plant.Patch{Name: new("name"), SetTag: true, Tag: new("tag")}, base},
		} {
			t.Run(name, func(t *testing.T) {
				store := open(t)
				mustCreate(t, store, base)
				stored, err := store.Patch(timeout(t), 1, c.change, plant.Precondition{})
				if err != nil || !stored.Same(c.want) {
					t.Fatalf("Patch = %s, %v, want %s", show(stored), err, show(c.want))
				}
				wantStored(t, store, stored)
			})
		}
	})

	// Also from the index of tags.
	t.Run("a deleted plant is gone, and deleting it again is ErrNotFound", func(t *testing.T) {
		store := open(t)
		for _, id := range []int64{math.MinInt64, -1, 0, math.MaxInt64} {
			mustCreate(t, store, plant.Plant{ID: id, Name: "n", Tag: new("t")})
			if err := store.Delete(timeout(t), id, "", plant.Precondition{}); err != nil {
				t.Fatalf("Delete(%d) = %v", id, err)
			}
			expect.Error(t, "Delete again", store.Delete(timeout(t), id, "", plant.Precondition{}), plant.ErrNotFound)
		}
		if got := listIDs(t, store, plant.Page{Limit: 10}); got != nil {
			t.Errorf("plants %v are still stored", got)
		}
		if got := listIDs(t, store, plant.Page{Tag: new("t"), Limit: 10}); got != nil {
			t.Errorf("plants %v are still listed by their tag", got)
		}
	})

	// A missing plant is ErrNotFound, except for a Put, which would create it without the condition.
	t.Run("a write that needs a plant fails if it is missing, and changes nothing", func(t *testing.T) {
		store := open(t)
		for name, condition := range map[string]plant.Precondition{
			"without precondition": {}, "with If-Match: *": {IfMatch: anyVersion},
		} {
			_, err := store.Patch(timeout(t), 1, plant.Patch{Name: new("n")}, condition)
			expect.Error(t, "Patch "+name, err, plant.ErrNotFound)
			expect.Error(t, "Delete "+name, store.Delete(timeout(t), 1, "", condition), plant.ErrNotFound)
		}
		_, _, err := store.Put(timeout(t), plant.Plant{ID: 1, Name: "n"}, plant.Precondition{IfMatch: anyVersion})
		expect.Error(t, "Put with If-Match: *", err, plant.ErrPrecondition)
		if got := listIDs(t, store, plant.Page{Limit: 10}); got != nil {
			t.Errorf("stored plants are %v, want none", got)
		}
	})
}
