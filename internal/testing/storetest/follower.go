package storetest

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plantstore/plantstore/internal/plant"
)

// Follower applies the feed of a store to a copy of its plants, as a client does.
type Follower struct {
	Store    plant.Store
	Limit    int             // of a page
	Position *plant.Position // nil: from the beginning
	Restarts int             // how often the position was not valid

	copy map[int64]plant.Plant
}

// Next applies a page, and returns it. If the position is not valid, the follower
// begins again.
func (f *Follower) Next(t testing.TB) ([]plant.Change, error) {
	changes, next, err := f.Store.Changes(timeout(t), f.Position, f.Limit)
	if errors.Is(err, plant.ErrPosition) {
		f.Position, f.copy = nil, nil
		f.Restarts++
		return f.Next(t)
	}
	if err != nil {
		return nil, err
	}
	if f.copy == nil {
		f.copy = map[int64]plant.Plant{}
	}
	last := f.Position
	for _, c := range changes {
		if c.Plant != nil && c.Plant.ID != c.ID {
			t.Errorf("the change of plant %d has plant %d", c.ID, c.Plant.ID)
		}
		if last != nil && last.Walk == nil && (c.Position.Walk != nil || c.Position.Compare(*last) <= 0) {
			t.Errorf("position %+v comes after %+v", c.Position, *last)
		}
		last = &c.Position
		f.apply(c)
	}
	if len(changes) > f.Limit {
		t.Errorf("a page has %d changes, want at most %d", len(changes), f.Limit)
	}
	if len(changes) > 0 && next.Compare(*last) != 0 {
		t.Errorf("the position after a page is %+v, want that of its last change, %+v", next, *last)
	}
	f.Position = &next
	return changes, nil
}

func (f *Follower) apply(c plant.Change) {
	if c.Plant == nil {
		delete(f.copy, c.ID)
	} else {
		f.copy[c.ID] = *c.Plant
	}
}

// Drain applies pages until there are no more changes.
func (f *Follower) Drain(t testing.TB) (all []plant.Change) {
	t.Helper()
	for {
		changes, err := f.Next(t)
		if err != nil {
			t.Fatalf("Changes(%+v) = %v", f.Position, err)
		}
		if len(changes) == 0 {
			return all
		}
		all = append(all, changes...)
	}
}

// WantCopy fails unless the copy of the follower is equal to the list of the plants.
func (f *Follower) WantCopy(t testing.TB) {
	t.Helper()
	want := map[int64]plant.Plant{}
	for _, p := range walk(t, f.Store, plant.Page{Limit: 1000}, nil) {
		want[p.ID] = p
	}
	if diff := cmp.Diff(want, f.copy); diff != "" {
		t.Errorf("the copy of a follower is not equal to the list (-list +copy):\n%.2000s", diff)
	}
}

// wantNext fails unless the next changes are those of the given IDs, with the states
// that the store has.
func (f *Follower) wantNext(t *testing.T, ids ...int64) {
	t.Helper()
	all := f.Drain(t)
	if got := changedIDs(all); !slices.Equal(got, ids) {
		t.Fatalf("the next changes are of the plants %v, want %v", got, ids)
	}
	for _, c := range all {
		p, err := f.Store.Get(timeout(t), c.ID)
		if c.Plant == nil && !errors.Is(err, plant.ErrNotFound) || c.Plant != nil && cmp.Diff(p, *c.Plant) != "" {
			t.Errorf("the change of plant %d has the state %+v, want %+v, %v", c.ID, c.Plant, p, err)
		}
	}
}
