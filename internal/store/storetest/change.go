package storetest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plantstore/plantstore/internal/plant"
)

// is lists versions for a precondition.
func is(etags ...string) *plant.ETags { return &plant.ETags{List: etags} }

var anyVersion = &plant.ETags{Any: true}

func createAll(t *testing.T, open func(t *testing.T) plant.Store) {
	t.Run("all plants of a batch are stored", func(t *testing.T) {
		store := open(t)
		if created, err := store.CreateAll(within(t), odd()); created != len(odd()) || err != nil {
			t.Fatalf("CreateAll = %d, %v, want %d", created, err, len(odd()))
		}
		for _, p := range odd() {
			mustHold(t, store, p)
		}
	})

	t.Run("an equal repeat is fine, wholly or in part", func(t *testing.T) {
		store := open(t)
		mustCreate(t, store, odd()[3])
		for _, want := range []int{len(odd()) - 1, 0} {
			if created, err := store.CreateAll(within(t), odd()); created != want || err != nil {
				t.Fatalf("CreateAll = %d, %v, want %d", created, err, want)
			}
		}
	})

	t.Run("one taken id refuses the batch and is named", func(t *testing.T) {
		store := open(t)
		mustCreate(t, store, plant.Plant{ID: 3, Name: "first"})
		batch := []plant.Plant{{ID: 1, Name: "a"}, {ID: 2, Name: "b"}, {ID: 3, Name: "second"}, {ID: 4, Name: "d"}}
		_, err := store.CreateAll(within(t), batch)
		if taken, ok := errors.AsType[plant.ExistsError](err); !ok || taken.Index != 2 || !errors.Is(err, plant.ErrExists) {
			t.Fatalf("CreateAll = %v, want an ExistsError for plant 2", err)
		}
		mustHold(t, store, plant.Plant{ID: 3, Name: "first"})
		if got := walk(t, store, plant.Page{Limit: 10}); !slices.Equal(got, []int64{3}) {
			t.Errorf("stored are %v, want only 3", got)
		}
	})

	t.Run("a thousand plants", func(t *testing.T) {
		store := open(t)
		batch := make([]plant.Plant, 1000)
		for i := range batch {
			batch[i] = plant.Plant{ID: int64(i), Name: fmt.Sprint(i)}
		}
		if _, err := store.CreateAll(within(t), batch); err != nil {
			t.Fatal(err)
		}
		if got := walk(t, store, plant.Page{Limit: 1000}); len(got) != len(batch) {
			t.Errorf("stored are %d plants, want %d", len(got), len(batch))
		}
	})

	t.Run("of racing batches that overlap one wins whole", func(t *testing.T) {
		store := open(t)
		const callers = 8
		errs := make([]error, callers)
		var wg sync.WaitGroup
		for c := range callers {
			wg.Go(func() {
				var batch []plant.Plant
				for id := range int64(50) {
					batch = append(batch, plant.Plant{ID: id, Name: fmt.Sprint(c)})
				}
				if c%2 == 1 {
					slices.Reverse(batch)
				}
				_, errs[c] = store.CreateAll(within(t), batch)
			})
		}
		wg.Wait()
		winner := slices.Index(errs, nil)
		if winner < 0 || slices.Contains(errs[winner+1:], nil) {
			t.Fatalf("outcomes are %v, want one nil", errs)
		}
		for id := range int64(50) {
			mustHold(t, store, plant.Plant{ID: id, Name: fmt.Sprint(winner)})
		}
	})
}

func change(t *testing.T, open func(t *testing.T) plant.Store) {
	t.Run("put creates and replaces", func(t *testing.T) {
		store := open(t)
		for _, p := range odd() {
			for _, c := range []struct {
				p       plant.Plant
				created bool
			}{{plant.Plant{ID: p.ID, Name: "another", Tag: new("another")}, true}, {p, false}, {p, false}} {
				stored, created, err := store.Put(within(t), c.p, plant.Precondition{})
				if err != nil || created != c.created || !stored.Same(c.p) {
					t.Fatalf("Put(%s) = %s, %v, %v, want it, created = %v", show(c.p), show(stored), created, err, c.created)
				}
				mustBe(t, store, stored)
			}
		}
	})

	t.Run("patch changes what it mentions", func(t *testing.T) {
		base := plant.Plant{ID: 1, Name: "name", Tag: new("tag")}
		for name, c := range map[string]struct {
			change plant.Patch
			want   plant.Plant
		}{
			"nothing":       {plant.Patch{}, base},
			"the name":      {plant.Patch{Name: new("")}, plant.Plant{ID: 1, Name: "", Tag: new("tag")}},
			"the tag":       {plant.Patch{SetTag: true, Tag: new("")}, plant.Plant{ID: 1, Name: "name", Tag: new("")}},
			"away the tag":  {plant.Patch{SetTag: true}, plant.Plant{ID: 1, Name: "name"}},
			"both":          {plant.Patch{Name: new("蘭\x00"), SetTag: true, Tag: new("\x00")}, plant.Plant{ID: 1, Name: "蘭\x00", Tag: new("\x00")}},
			"to what it is": {plant.Patch{Name: new("name"), SetTag: true, Tag: new("tag")}, base},
		} {
			t.Run(name, func(t *testing.T) {
				store := open(t)
				mustCreate(t, store, base)
				stored, err := store.Patch(within(t), 1, c.change, plant.Precondition{})
				if err != nil || !stored.Same(c.want) {
					t.Fatalf("Patch = %s, %v, want %s", show(stored), err, show(c.want))
				}
				mustBe(t, store, stored)
			})
		}
	})

	t.Run("delete removes, once", func(t *testing.T) {
		store := open(t)
		for _, id := range []int64{math.MinInt64, -1, 0, math.MaxInt64} {
			mustCreate(t, store, plant.Plant{ID: id, Name: "n", Tag: new("t")})
			if err := store.Delete(within(t), id, plant.Precondition{}); err != nil {
				t.Fatalf("Delete(%d) = %v", id, err)
			}
			if err := store.Delete(within(t), id, plant.Precondition{}); !errors.Is(err, plant.ErrNotFound) {
				t.Errorf("Delete(%d) again = %v, want %v", id, err, plant.ErrNotFound)
			}
		}
		if got := walk(t, store, plant.Page{Limit: 10}); got != nil {
			t.Errorf("still stored are %v", got)
		}
		if got := walk(t, store, plant.Page{Tag: new("t"), Limit: 10}); got != nil {
			t.Errorf("still stored with a tag are %v", got)
		}
	})

	t.Run("a missing plant cannot be changed", func(t *testing.T) {
		store := open(t)
		for name, condition := range map[string]plant.Precondition{
			"whatever": {}, "if it is there": {IfMatch: anyVersion},
		} {
			if _, err := store.Patch(within(t), 1, plant.Patch{Name: new("n")}, condition); !errors.Is(err, plant.ErrNotFound) {
				t.Errorf("Patch %s = %v, want %v", name, err, plant.ErrNotFound)
			}
			if err := store.Delete(within(t), 1, condition); !errors.Is(err, plant.ErrNotFound) {
				t.Errorf("Delete %s = %v, want %v", name, err, plant.ErrNotFound)
			}
		}
		_, _, err := store.Put(within(t), plant.Plant{ID: 1, Name: "n"}, plant.Precondition{IfMatch: anyVersion})
		if !errors.Is(err, plant.ErrPrecondition) {
			t.Errorf("Put if it is there = %v, want %v", err, plant.ErrPrecondition)
		}
		if got := walk(t, store, plant.Page{Limit: 10}); got != nil {
			t.Errorf("stored are %v, want none", got)
		}
	})
}

func version(t *testing.T, open func(t *testing.T) plant.Store) {
	t.Run("a precondition that fails changes nothing", func(t *testing.T) {
		store := open(t)
		first := plant.Plant{ID: 1, Name: "first", Tag: new("t")}
		mustCreate(t, store, first)
		current := mustGet(t, store, 1)
		for name, condition := range map[string]plant.Precondition{
			"of another version":      {IfMatch: is("another")},
			"of no version":           {IfMatch: is()},
			"not of this version":     {IfNoneMatch: is("another", current.ETag)},
			"not there":               {IfNoneMatch: anyVersion},
			"there and of no version": {IfMatch: anyVersion, IfNoneMatch: anyVersion},
		} {
			if _, _, err := store.Put(within(t), plant.Plant{ID: 1, Name: "second"}, condition); !errors.Is(err, plant.ErrPrecondition) {
				t.Errorf("Put if %s = %v, want %v", name, err, plant.ErrPrecondition)
			}
			if _, err := store.Patch(within(t), 1, plant.Patch{Name: new("second")}, condition); !errors.Is(err, plant.ErrPrecondition) {
				t.Errorf("Patch if %s = %v, want %v", name, err, plant.ErrPrecondition)
			}
			if err := store.Delete(within(t), 1, condition); !errors.Is(err, plant.ErrPrecondition) {
				t.Errorf("Delete if %s = %v, want %v", name, err, plant.ErrPrecondition)
			}
			mustBe(t, store, current)
		}
	})

	t.Run("a precondition that holds lets the write pass", func(t *testing.T) {
		store := open(t)
		if _, created, err := store.Put(within(t), plant.Plant{ID: 1, Name: "a"}, plant.Precondition{IfNoneMatch: anyVersion}); err != nil || !created {
			t.Fatalf("Put if not there = %v, %v", created, err)
		}
		for _, condition := range []func(etag string) plant.Precondition{
			func(etag string) plant.Precondition { return plant.Precondition{IfMatch: is("another", etag)} },
			func(string) plant.Precondition { return plant.Precondition{IfMatch: anyVersion} },
			func(string) plant.Precondition { return plant.Precondition{IfNoneMatch: is("another")} },
		} {
			before := mustGet(t, store, 1)
			after, err := store.Patch(within(t), 1, plant.Patch{Name: new(before.Name + "b")}, condition(before.ETag))
			if err != nil {
				t.Fatal(err)
			}
			mustBe(t, store, after)
		}
		if err := store.Delete(within(t), 1, plant.Precondition{IfMatch: is(mustGet(t, store, 1).ETag)}); err != nil {
			t.Errorf("Delete if it is of this version = %v", err)
		}
	})

	t.Run("a version is never used twice, not even by another life of the id", func(t *testing.T) {
		store := open(t)
		seen := map[string]bool{}
		for life := range 20 {
			mustCreate(t, store, plant.Plant{ID: 1, Name: "same"})
			for step, change := range []plant.Patch{{}, {Name: new("other")}, {Name: new("same")}, {SetTag: true, Tag: new("")}} {
				p, err := store.Patch(within(t), 1, change, plant.Precondition{})
				if err != nil {
					t.Fatal(err)
				}
				if seen[p.ETag] || p.ETag == "" {
					t.Fatalf("life %d, step %d has version %q, which was there before", life, step, p.ETag)
				}
				seen[p.ETag] = true
			}
			if err := store.Delete(within(t), 1, plant.Precondition{}); err != nil {
				t.Fatal(err)
			}
		}
	})

	t.Run("a write that changes nothing leaves the version", func(t *testing.T) {
		store := open(t)
		p := plant.Plant{ID: 1, Name: "n", Tag: new("t")}
		mustCreate(t, store, p)
		current := mustGet(t, store, 1)
		mustCreate(t, store, p)
		if _, err := store.CreateAll(within(t), []plant.Plant{p}); err != nil {
			t.Fatal(err)
		}
		put, _, err := store.Put(within(t), p, plant.Precondition{})
		if diff := cmp.Diff(current, put); err != nil || diff != "" {
			t.Errorf("Put of what is there: %v (-want +got)\n%s", err, diff)
		}
		patched, err := store.Patch(within(t), 1, plant.Patch{Name: new("n")}, plant.Precondition{})
		if diff := cmp.Diff(current, patched); err != nil || diff != "" {
			t.Errorf("Patch to what is there: %v (-want +got)\n%s", err, diff)
		}
		mustBe(t, store, current)
	})

	t.Run("a change keeps the time of creation", func(t *testing.T) {
		store := open(t)
		mustCreate(t, store, plant.Plant{ID: 1, Name: "n"})
		before := mustGet(t, store, 1)
		if before.CreatedAt != before.UpdatedAt || before.CreatedAt.IsZero() {
			t.Errorf("a new plant was created %v and changed %v", before.CreatedAt, before.UpdatedAt)
		}
		after, err := store.Patch(within(t), 1, plant.Patch{Name: new("m")}, plant.Precondition{})
		if err != nil {
			t.Fatal(err)
		}
		if after.CreatedAt != before.CreatedAt || after.UpdatedAt.Before(before.UpdatedAt) {
			t.Errorf("a plant created %v is created %v and changed %v", before.CreatedAt, after.CreatedAt, after.UpdatedAt)
		}
	})

	t.Run("of racing puts of a new plant exactly one creates it", func(t *testing.T) {
		store := open(t)
		for id := range int64(20) {
			const callers = 8
			var creations, losses atomic.Int64
			var wg sync.WaitGroup
			for c := range callers {
				wg.Go(func() {
					p := plant.Plant{ID: id, Name: fmt.Sprint(c)}
					_, created, err := store.Put(within(t), p, plant.Precondition{IfNoneMatch: anyVersion})
					switch {
					case err == nil && created:
						creations.Add(1)
					case errors.Is(err, plant.ErrPrecondition):
						losses.Add(1)
					default:
						t.Errorf("Put(%s) = created %v, %v", show(p), created, err)
					}
				})
			}
			wg.Wait()
			if creations.Load() != 1 || losses.Load() != callers-1 {
				t.Errorf("of %d callers %d created plant %d, want one", callers, creations.Load(), id)
			}
		}
	})

	t.Run("of racing writes for one version exactly one wins", func(t *testing.T) {
		store := open(t)
		mustCreate(t, store, plant.Plant{ID: 1, Name: "n"})
		for round := range 10 {
			current := mustGet(t, store, 1)
			const callers = 8
			errs := make([]error, callers)
			var wg sync.WaitGroup
			for c := range callers {
				wg.Go(func() {
					name := fmt.Sprint(round, c)
					if c%2 == 0 {
						_, errs[c] = store.Patch(within(t), 1, plant.Patch{Name: &name}, plant.Precondition{IfMatch: is(current.ETag)})
					} else {
						_, _, errs[c] = store.Put(within(t), plant.Plant{ID: 1, Name: name}, plant.Precondition{IfMatch: is(current.ETag)})
					}
				})
			}
			wg.Wait()
			winner := slices.Index(errs, nil)
			if winner < 0 || slices.Contains(errs[winner+1:], nil) {
				t.Fatalf("outcomes are %v, want one nil", errs)
			}
			for c, err := range errs {
				if c != winner && !errors.Is(err, plant.ErrPrecondition) {
					t.Errorf("a loser was told %v, want %v", err, plant.ErrPrecondition)
				}
			}
			mustHold(t, store, plant.Plant{ID: 1, Name: fmt.Sprint(round, winner)})
		}
	})
}

func mustGet(t *testing.T, store plant.Store, id int64) plant.Plant {
	t.Helper()
	p, err := store.Get(within(t), id)
	if err != nil {
		t.Fatalf("Get(%d) = %v", id, err)
	}
	return p
}

// mustBe fails unless the store has exactly this plant, version included.
func mustBe(t *testing.T, store plant.Store, want plant.Plant) {
	t.Helper()
	if diff := cmp.Diff(want, mustGet(t, store, want.ID)); diff != "" {
		t.Fatalf("Get(%d) (-want +got):\n%s", want.ID, diff)
	}
}
