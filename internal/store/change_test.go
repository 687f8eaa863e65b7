package store_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
)

// What becomes of a plant is decided without a database.
func TestDecide(t *testing.T) {
	first, second := store.NewPlantRow(plant.Plant{ID: 1, Name: "old"}, nil), store.NewPlantRow(plant.Plant{ID: 2, Name: "old"}, nil)
	old, other := first.Stored(), second.Stored()
	stored := func(id int64) *plant.Plant { return map[int64]*plant.Plant{1: &old, 2: &other}[id] }
	match := func(etags ...string) plant.Precondition {
		return plant.Precondition{IfMatch: &plant.ETags{List: etags}}
	}
	absent := plant.Precondition{IfNoneMatch: &plant.ETags{Any: true}}
	p := func(id int64, name string) plant.Plant { return plant.Plant{ID: id, Name: name} }
	type effect struct{ Insert, Update, Remove []int64 }
	for name, c := range map[string]struct {
		write func(store.Writer) error
		want  effect
		err   error
	}{
		"create":                    {create(p(3, "new")), effect{Insert: []int64{3}}, nil},
		"create again":              {create(p(1, "old")), effect{}, nil},
		"create with a taken id":    {create(p(1, "new")), effect{}, plant.ErrExists},
		"batch":                     {create(p(4, "new"), p(1, "old"), p(3, "new")), effect{Insert: []int64{4, 3}}, nil},
		"batch with two taken ids":  {create(p(3, "new"), p(1, "new"), p(2, "new")), effect{}, plant.ExistsError{Indexes: []int{1, 2}}},
		"put a new plant":           {put(p(3, "new"), absent), effect{Insert: []int64{3}}, nil},
		"put another plant":         {put(p(1, "new"), match(other.ETag, old.ETag)), effect{Update: []int64{1}}, nil},
		"put the same":              {put(p(1, "old"), plant.Precondition{}), effect{}, nil},
		"put what must not be":      {put(p(1, "old"), absent), effect{}, plant.ErrPrecondition},
		"put what must be there":    {put(p(3, "new"), match(old.ETag)), effect{}, plant.ErrPrecondition},
		"patch":                     {patch(1, "new", match(old.ETag)), effect{Update: []int64{1}}, nil},
		"patch nothing":             {patch(1, "old", plant.Precondition{}), effect{}, nil},
		"patch with another ETag":   {patch(1, "new", match(other.ETag)), effect{}, plant.ErrPrecondition},
		"patch what is not there":   {patch(3, "new", match(old.ETag)), effect{}, plant.ErrNotFound},
		"delete":                    {remove(1, plant.Precondition{}), effect{Remove: []int64{1}}, nil},
		"delete with another ETag":  {remove(1, match(other.ETag)), effect{}, plant.ErrPrecondition},
		"delete what is not there":  {remove(3, match(old.ETag)), effect{}, plant.ErrNotFound},
		"create a batch of nothing": {create(), effect{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got effect
			err := c.write(store.Writer{Apply: func(_ context.Context, change store.Change) error {
				for range 2 { // only the last run counts
					e, err := change.Decide(stored)
					if err != nil {
						return err
					}
					got = effect{ids(e.Insert), ids(e.Update), e.Remove}
				}
				return nil
			}})
			if !errors.Is(err, c.err) && !cmp.Equal(err, c.err) { // an ExistsError has a slice
				t.Errorf("the error is %v, want %v", err, c.err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("the effect (-want +got):\n%s", diff)
			}
		})
	}
}

// The changes of a transaction see the effects of those before them.
func TestGroup(t *testing.T) {
	old := store.NewPlantRow(plant.Plant{ID: 1, Name: "old"}, nil)
	replaced, created := plant.Plant{ID: 1, Name: "new"}, plant.Plant{ID: 3, Name: "new"}
	random := cmpopts.IgnoreFields(store.PlantRow{}, "CreatedAt", "UpdatedAt", "Version", "NameKey")
	for name, c := range map[string]struct {
		writes []func(store.Writer) error
		errs   []error
		want   store.Effect
	}{
		"delete and create": {
			[]func(store.Writer) error{remove(1, plant.Precondition{}), create(replaced)},
			[]error{nil, nil},
			store.Effect{Update: []store.PlantRow{{Plant: replaced}}},
		},
		"create and delete": {
			[]func(store.Writer) error{create(created), remove(3, plant.Precondition{})},
			[]error{nil, nil},
			store.Effect{},
		},
		"delete twice": {
			[]func(store.Writer) error{remove(1, plant.Precondition{}), remove(1, plant.Precondition{})},
			[]error{nil, plant.ErrNotFound},
			store.Effect{Remove: []int64{1}},
		},
		"create twice": {
			[]func(store.Writer) error{create(created), create(plant.Plant{ID: 3, Name: "newer"})},
			[]error{nil, plant.ErrExists},
			store.Effect{Insert: []store.PlantRow{{Plant: created}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			group := store.NewGroup([]int64{3, 1, 1})
			group.Found(old.Stored())
			for i, write := range c.writes {
				err := write(store.Writer{Apply: func(_ context.Context, c store.Change) error { return group.Decide(c) }})
				if !errors.Is(err, c.errs[i]) {
					t.Errorf("the error of write %d is %v, want %v", i+1, err, c.errs[i])
				}
			}
			got, changed := group.Effect()
			if diff := cmp.Diff(c.want, got, random); diff != "" {
				t.Errorf("the effect (-want +got):\n%s", diff)
			}
			if want := slices.Concat(ids(got.Insert), ids(got.Update), got.Remove); !slices.Equal(changed, want) {
				t.Errorf("%v are changed, want %v", changed, want)
			}
		})
	}
}

func ids(rows []store.PlantRow) (ids []int64) {
	for _, row := range rows {
		ids = append(ids, row.ID)
	}
	return ids
}

func create(plants ...plant.Plant) func(store.Writer) error {
	return func(w store.Writer) error {
		if len(plants) == 1 {
			return w.Create(context.Background(), plants[0])
		}
		_, err := w.CreateAll(context.Background(), plants)
		return err
	}
}

func put(p plant.Plant, condition plant.Precondition) func(store.Writer) error {
	return func(w store.Writer) error {
		got, created, err := w.Put(context.Background(), p, condition)
		if err == nil && (!got.Same(p) || got.ETag == "" || created != (p.ID == 3)) {
			return errors.New("Put returns another plant")
		}
		return err
	}
}

func patch(id int64, name string, condition plant.Precondition) func(store.Writer) error {
	return func(w store.Writer) error {
		got, err := w.Patch(context.Background(), id, plant.Patch{Name: &name}, condition)
		if err == nil && (got.Name != name || got.ETag == "") {
			return errors.New("Patch returns another plant")
		}
		return err
	}
}

func remove(id int64, condition plant.Precondition) func(store.Writer) error {
	return func(w store.Writer) error { return w.Delete(context.Background(), id, condition) }
}

// Plants that fit into a page of a list do not fit into a page of changes. The walk goes on after
// those that do.
func TestWalkGoesOnAfterAFullPage(t *testing.T) {
	var plants []plant.Plant
	for size := 0; size < plant.MaxPage-200; size += plants[len(plants)-1].JSONSize() {
		plants = append(plants, plant.Plant{ID: int64(len(plants)), Name: strings.Repeat("n", 100)})
	}
	changes, next, err := store.FeedState{}.WalkPage(nil, plants, false)
	if err != nil || len(changes) == 0 || len(changes) == len(plants) {
		t.Fatalf("a page of a walk has %d of %d plants, %v, want some", len(changes), len(plants), err)
	}
	if last := changes[len(changes)-1]; next.Walk == nil || *next.Walk != last.ID {
		t.Errorf("after plant %d the walk goes on after %v", last.ID, next.Walk)
	}
}
