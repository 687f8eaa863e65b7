package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// etags returns a list of ETags for a precondition.
func etags(etags ...string) *plant.ETags { return &plant.ETags{List: etags} }

var anyVersion = &plant.ETags{Any: true}

func version(t *testing.T, open func(t *testing.T) plant.Store) {
	// The client has seen another version than the stored one.
	t.Run("a write whose precondition fails is ErrPrecondition and changes nothing", func(t *testing.T) {
		store := open(t)
		first := plant.Plant{ID: 1, Name: "first", Tag: new("t")}
		mustCreate(t, store, first)
		current := mustGet(t, store, 1)
		for name, condition := range map[string]plant.Precondition{
			"If-Match of another ETag":         {IfMatch: etags("another")},
			"If-Match of no ETag":              {IfMatch: etags()},
			"If-None-Match of the ETag":        {IfNoneMatch: etags("another", current.ETag)},
			"If-None-Match: *":                 {IfNoneMatch: anyVersion},
			"If-Match: * and If-None-Match: *": {IfMatch: anyVersion, IfNoneMatch: anyVersion},
		} {
			_, _, err := store.Put(timeout(t), plant.Plant{ID: 1, Name: "second"}, condition)
			expect.Error(t, "Put with "+name, err, plant.ErrPrecondition)
			_, err = store.Patch(timeout(t), 1, plant.Patch{Name: new("second")}, condition)
			expect.Error(t, "Patch with "+name, err, plant.ErrPrecondition)
			expect.Error(t, "Delete with "+name, store.Delete(timeout(t), 1, "", condition), plant.ErrPrecondition)
			wantStored(t, store, current)
		}
	})

	// A list of ETags holds if one of them matches.
	t.Run("a write whose precondition holds succeeds", func(t *testing.T) {
		store := open(t)
		if _, created, err := store.Put(timeout(t), plant.Plant{ID: 1, Name: "a"}, plant.Precondition{IfNoneMatch: anyVersion}); err != nil || !created {
			t.Fatalf("Put with If-None-Match: * = created %v, %v", created, err)
		}
		for _, condition := range []func(etag string) plant.Precondition{
			func(etag string) plant.Precondition { return plant.Precondition{IfMatch: etags("another", etag)} },
			func(string) plant.Precondition { return plant.Precondition{IfMatch: anyVersion} },
			func(string) plant.Precondition { return plant.Precondition{IfNoneMatch: etags("another")} },
		} {
			before := mustGet(t, store, 1)
			after, err := store.Patch(timeout(t), 1, plant.Patch{Name: new(before.Name + "b")}, condition(before.ETag))
			must.NoError(t, err)
			wantStored(t, store, after)
		}
		if err := store.Delete(timeout(t), 1, "", plant.Precondition{IfMatch: etags(mustGet(t, store, 1).ETag)}); err != nil {
			t.Errorf("Delete with If-Match of the ETag = %v", err)
		}
	})

	// A client with an old ETag must not take a later plant for the one that it has seen.
	t.Run("an ETag is never used twice, not even after a delete", func(t *testing.T) {
		store := open(t)
		seen := map[string]bool{}
		for deletes := range 20 {
			mustCreate(t, store, plant.Plant{ID: 1, Name: "same"})
			for step, change := range []plant.Patch{{}, {Name: new("other")}, {Name: new("same")}, {SetTag: true, Tag: new("")}} {
				p, err := store.Patch(timeout(t), 1, change, plant.Precondition{})
				must.NoError(t, err)
				if seen[p.ETag] || p.ETag == "" {
					t.Fatalf("after %d deletes, change %d has the ETag %q, which was used before", deletes, step, p.ETag)
				}
				seen[p.ETag] = true
			}
			must.NoError(t, store.Delete(timeout(t), 1, "", plant.Precondition{}))
		}
	})

	// A repeated write must not make the copies of other clients stale.
	t.Run("a write that changes nothing keeps the ETag and the times", func(t *testing.T) {
		store := open(t)
		p := plant.Plant{ID: 1, Name: "n", Tag: new("t")}
		mustCreate(t, store, p)
		current := mustGet(t, store, 1)
		mustCreate(t, store, p)
		must.NoError(t, second(store.CreateAll(timeout(t), []plant.Plant{p})))
		put, _, err := store.Put(timeout(t), p, plant.Precondition{})
		if diff := cmp.Diff(current, put); err != nil || diff != "" {
			t.Errorf("Put of the stored plant: %v (-want +got)\n%s", err, diff)
		}
		patched, err := store.Patch(timeout(t), 1, plant.Patch{Name: new("n")}, plant.Precondition{})
		if diff := cmp.Diff(current, patched); err != nil || diff != "" {
			t.Errorf("Patch to the stored values: %v (-want +got)\n%s", err, diff)
		}
		wantStored(t, store, current)
	})

	// If-None-Match: * claims an id.
	t.Run("of concurrent puts of a new plant exactly one creates it", func(t *testing.T) {
		store := open(t)
		for id := range int64(20) {
			const clients = 8
			var creations, losses atomic.Int64
			var wg sync.WaitGroup
			for c := range clients {
				wg.Go(func() {
					p := plant.Plant{ID: id, Name: fmt.Sprint(c)}
					_, created, err := store.Put(timeout(t), p, plant.Precondition{IfNoneMatch: anyVersion})
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
			if creations.Load() != 1 || losses.Load() != clients-1 {
				t.Errorf("of %d clients %d created plant %d, want 1", clients, creations.Load(), id)
			}
		}
	})

	// Otherwise a client overwrites a change that it has not seen.
	t.Run("of concurrent writes with the same If-Match exactly one succeeds", func(t *testing.T) {
		store := open(t)
		mustCreate(t, store, plant.Plant{ID: 1, Name: "n"})
		for round := range 10 {
			current := mustGet(t, store, 1)
			const clients = 8
			errs := make([]error, clients)
			var wg sync.WaitGroup
			for c := range clients {
				wg.Go(func() {
					name := fmt.Sprint(round, c)
					if c%2 == 0 {
						_, errs[c] = store.Patch(timeout(t), 1, plant.Patch{Name: &name}, plant.Precondition{IfMatch: etags(current.ETag)})
					} else {
						_, _, errs[c] = store.Put(timeout(t), plant.Plant{ID: 1, Name: name}, plant.Precondition{IfMatch: etags(current.ETag)})
					}
				})
			}
			wg.Wait()
			winner := slices.Index(errs, nil)
			if winner < 0 || slices.Contains(errs[winner+1:], nil) {
				t.Fatalf("errors are %v, want exactly one nil", errs)
			}
			for c, err := range errs {
				if c != winner && !errors.Is(err, plant.ErrPrecondition) {
					t.Errorf("another client got %v, want %v", err, plant.ErrPrecondition)
				}
			}
			wantCreated(t, store, plant.Plant{ID: 1, Name: fmt.Sprint(round, winner)})
		}
	})
}
