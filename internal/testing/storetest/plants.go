// Package storetest tests that a store keeps the promises of [plant.Store] and
// [token.Store]. Each subtest is one promise; its name is the promise. The tests of
// an engine only open its store. A bug that is found in one engine becomes a
// subtest that all engines must pass.
//
// It also tests that the migrations of a release are not edited: see [Migrations].
package storetest

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plantstore/plantstore/internal/plant"
)

// Plants tests the promises of [plant.Store]. Each call of open returns an empty
// store and closes it when the test ends.
func Plants(t *testing.T, open func(t *testing.T) plant.Store) {
	t.Run("create", func(t *testing.T) { create(t, open) })
	t.Run("create a batch", func(t *testing.T) { createBatch(t, open) })
	t.Run("list", func(t *testing.T) { list(t, open) })
	t.Run("names", func(t *testing.T) { names(t, open) })
	t.Run("orders", func(t *testing.T) { orders(t, open) })
	t.Run("search", func(t *testing.T) { search(t, open) })
	t.Run("put, patch and delete", func(t *testing.T) { change(t, open) })
	t.Run("versions and preconditions", func(t *testing.T) { version(t, open) })
}

// timeout returns a context for a call of a store. It ends after a minute, so that
// no test waits for ever.
func timeout(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// samplePlants returns plants with different IDs, and with values that an engine
// may handle in a special way.
func samplePlants() []plant.Plant {
	plants := []plant.Plant{
		{ID: 0, Name: "zero"},
		{ID: -1, Name: "minus one", Tag: new("")},
		{ID: math.MinInt64, Name: "first", Tag: new("tag")},
		{ID: math.MaxInt64, Name: "last", Tag: new("tag")},
	}
	texts := []string{
		"", " ", "\x00", "a\x00b", "\x00\x00", "'; DROP TABLE plants; --", `"\`, "%_", "NULL", "\r\n\t",
		"Épinette à feuilles d'if", "E\u0301pinette", "蘭", "🌵", "\u2028", "\ufeff", "\U0010FFFF", "\ufffd",
		"00012", "1e5", strings.Repeat("x", plant.MaxName), strings.Repeat("🌵", plant.MaxName),
	}
	for i, text := range texts {
		tag := string([]rune(text)[:min(utf8.RuneCountInString(text), plant.MaxTag)])
		plants = append(plants,
			plant.Plant{ID: int64(100 + 2*i), Name: text},
			plant.Plant{ID: int64(101 + 2*i), Name: text, Tag: &tag})
	}
	return plants
}

func mustCreate(t *testing.T, store plant.Store, p plant.Plant) {
	t.Helper()
	if err := store.Create(timeout(t), p); err != nil {
		t.Fatalf("Create(%s) = %v, want nil", show(p), err)
	}
}

// wantCreated fails unless the store has a plant with the ID, name and tag of want.
func wantCreated(t *testing.T, store plant.Store, want plant.Plant) {
	t.Helper()
	got, err := store.Get(timeout(t), want.ID)
	if err != nil {
		t.Fatalf("Get(%d) = %v, want %s", want.ID, err, show(want))
	}
	if diff := cmp.Diff(want, got, asCreated); diff != "" {
		t.Fatalf("Get(%d) (-want +got):\n%s", want.ID, diff)
	}
}

// asCreated compares the members of plants that clients set.
var asCreated = cmpopts.IgnoreFields(plant.Plant{}, "ETag", "CreatedAt", "UpdatedAt")

func show(p plant.Plant) string {
	tag := "no tag"
	if p.Tag != nil {
		tag = fmt.Sprintf("tag %.40q", *p.Tag)
	}
	return fmt.Sprintf("plant %d %.40q, %s", p.ID, p.Name, tag)
}

func mustGet(t *testing.T, store plant.Store, id int64) plant.Plant {
	t.Helper()
	p, err := store.Get(timeout(t), id)
	if err != nil {
		t.Fatalf("Get(%d) = %v", id, err)
	}
	return p
}

// wantStored fails unless the store has exactly this plant, with its ETag and times.
func wantStored(t *testing.T, store plant.Store, want plant.Plant) {
	t.Helper()
	if diff := cmp.Diff(want, mustGet(t, store, want.ID)); diff != "" {
		t.Fatalf("Get(%d) (-want +got):\n%s", want.ID, diff)
	}
}
