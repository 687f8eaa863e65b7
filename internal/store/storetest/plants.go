// Package storetest states the promises of the stores as tests. An engine's own
// test only opens its store; a bug found in one engine becomes a case that all
// must pass.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plantstore/plantstore/internal/plant"
)

// Plants holds a store to the promises of [plant.Store]. Each call of open
// returns an empty store, which open closes when its test ends.
func Plants(t *testing.T, open func(t *testing.T) plant.Store) {
	t.Run("create", func(t *testing.T) { create(t, open) })
	t.Run("create all", func(t *testing.T) { createAll(t, open) })
	t.Run("list", func(t *testing.T) { list(t, open) })
	t.Run("change", func(t *testing.T) { change(t, open) })
	t.Run("version", func(t *testing.T) { version(t, open) })
}

// within returns a context that ends when a call of a store takes longer than a
// test waits.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func create(t *testing.T, open func(t *testing.T) plant.Store) {
	t.Run("a plant comes back as it was created", func(t *testing.T) {
		store := open(t)
		for i, p := range odd() {
			mustCreate(t, store, p)
			got, err := store.Get(within(t), p.ID)
			if err != nil {
				t.Fatalf("Get(%d) after creating case %d: %v", p.ID, i, err)
			}
			if diff := cmp.Diff(p, got, said); diff != "" {
				t.Errorf("case %d came back changed (-want +got):\n%s", i, diff)
			}
		}
	})

	t.Run("a missing plant is ErrNotFound", func(t *testing.T) {
		if _, err := open(t).Get(within(t), 404); !errors.Is(err, plant.ErrNotFound) {
			t.Errorf("Get(404) = %v, want %v", err, plant.ErrNotFound)
		}
	})

	t.Run("an equal repeat is fine", func(t *testing.T) {
		store := open(t)
		for _, p := range odd() {
			mustCreate(t, store, p)
			mustCreate(t, store, p)
		}
	})

	t.Run("another plant under a taken id is ErrExists and changes nothing", func(t *testing.T) {
		first := plant.Plant{ID: 1, Name: "Ficus lyrata", Tag: new("Moraceae")}
		for _, other := range []plant.Plant{
			{ID: 1, Name: "Ficus elastica", Tag: new("Moraceae")},
			{ID: 1, Name: "Ficus lyrata", Tag: new("moraceae")},
			{ID: 1, Name: "Ficus lyrata", Tag: new("")},
			{ID: 1, Name: "Ficus lyrata"},
		} {
			store := open(t)
			mustCreate(t, store, first)
			if err := store.Create(within(t), other); !errors.Is(err, plant.ErrExists) {
				t.Errorf("Create(%s) over %s = %v, want %v", show(other), show(first), err, plant.ErrExists)
			}
			mustHold(t, store, first)
		}
	})

	t.Run("no tag and an empty tag are two things", func(t *testing.T) {
		store := open(t)
		mustCreate(t, store, plant.Plant{ID: 1, Name: "n"})
		if err := store.Create(within(t), plant.Plant{ID: 1, Name: "n", Tag: new("")}); !errors.Is(err, plant.ErrExists) {
			t.Errorf("Create with an empty tag over one without = %v, want %v", err, plant.ErrExists)
		}
	})

	t.Run("of many creates of one id exactly one plant wins", func(t *testing.T) {
		store := open(t)
		const callers = 32
		errs := make([]error, callers)
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() {
				errs[i] = store.Create(within(t), plant.Plant{ID: 7, Name: fmt.Sprint(i)})
			})
		}
		wg.Wait()
		winner := -1
		for i, err := range errs {
			switch {
			case err == nil && winner >= 0:
				t.Fatalf("both %d and %d created plant 7", winner, i)
			case err == nil:
				winner = i
			case !errors.Is(err, plant.ErrExists):
				t.Fatalf("Create %d = %v, want nil or %v", i, err, plant.ErrExists)
			}
		}
		if winner < 0 {
			t.Fatal("nobody created plant 7")
		}
		mustHold(t, store, plant.Plant{ID: 7, Name: fmt.Sprint(winner)})
	})

	t.Run("creates of many callers are all there", func(t *testing.T) {
		store := open(t)
		const callers, each = 16, 20
		var wg sync.WaitGroup
		for c := range callers {
			wg.Go(func() {
				for i := range each {
					p := plant.Plant{ID: int64(c*each + i), Name: fmt.Sprint(c, i)}
					if err := store.Create(within(t), p); err != nil {
						t.Errorf("Create(%s) = %v", show(p), err)
					}
				}
			})
		}
		wg.Wait()
		for c := range callers {
			for i := range each {
				mustHold(t, store, plant.Plant{ID: int64(c*each + i), Name: fmt.Sprint(c, i)})
			}
		}
	})

	t.Run("a call whose caller has gone before it began changes nothing", func(t *testing.T) {
		store := open(t)
		ctx, cancel := context.WithCancel(within(t))
		cancel()
		if err := store.Create(ctx, plant.Plant{ID: 1, Name: "n"}); !errors.Is(err, context.Canceled) {
			t.Errorf("Create with a cancelled context = %v, want %v", err, context.Canceled)
		}
		if _, err := store.Get(within(t), 1); !errors.Is(err, plant.ErrNotFound) {
			t.Errorf("then Get(1) = %v, want %v", err, plant.ErrNotFound)
		}
	})
}

// odd returns plants of which no two share an ID, with everything in them that
// an engine might treat in a way of its own.
func odd() []plant.Plant {
	plants := []plant.Plant{
		{ID: 0, Name: "zero"},
		{ID: -1, Name: "minus one", Tag: new("")},
		{ID: math.MinInt64, Name: "first", Tag: new("tag")},
		{ID: math.MaxInt64, Name: "last", Tag: new("tag")},
	}
	texts := []string{
		"", " ", "\x00", "a\x00b", "\x00\x00", "'; DROP TABLE plants; --", `"\`, "%_", "NULL", "\r\n\t",
		"Épinette à feuilles d'if", "E\u0301pinette", "蘭", "🌵", "\u2028", "\ufeff", "\U0010FFFF", "\ufffd",
		"00012", "1e5", strings.Repeat("x", 100_000), strings.Repeat("蘭", 5_000),
	}
	for i, text := range texts {
		plants = append(plants,
			plant.Plant{ID: int64(100 + 2*i), Name: text},
			plant.Plant{ID: int64(101 + 2*i), Name: text, Tag: new(text)})
	}
	return plants
}

func mustCreate(t *testing.T, store plant.Store, p plant.Plant) {
	t.Helper()
	if err := store.Create(within(t), p); err != nil {
		t.Fatalf("Create(%s) = %v, want nil", show(p), err)
	}
}

// mustHold fails unless the store has exactly this plant under its ID.
func mustHold(t *testing.T, store plant.Store, want plant.Plant) {
	t.Helper()
	got, err := store.Get(within(t), want.ID)
	if err != nil {
		t.Fatalf("Get(%d) = %v, want %s", want.ID, err, show(want))
	}
	if diff := cmp.Diff(want, got, said); diff != "" {
		t.Fatalf("Get(%d) (-want +got):\n%s", want.ID, diff)
	}
}

// said compares plants by what their creators said of them.
var said = cmpopts.IgnoreFields(plant.Plant{}, "ETag", "CreatedAt", "UpdatedAt")

func show(p plant.Plant) string {
	tag := "no tag"
	if p.Tag != nil {
		tag = fmt.Sprintf("tag %.40q", *p.Tag)
	}
	return fmt.Sprintf("plant %d %.40q, %s", p.ID, p.Name, tag)
}
