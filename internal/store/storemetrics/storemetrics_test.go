package storemetrics_test

import (
	"strings"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/store/sqlite"
	"github.com/plantstore/plantstore/internal/store/storemetrics"
	"github.com/plantstore/plantstore/internal/testing/metricstest"
	"github.com/plantstore/plantstore/internal/testing/storetest"
	"github.com/plantstore/plantstore/internal/token"
)

func open(t *testing.T) *storemetrics.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Memory)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return storemetrics.New(store)
}

// The wrapped store still does what the interface promises.
func TestStore(t *testing.T) {
	storetest.Plants(t, func(t *testing.T) plant.Store { return open(t) })
	storetest.Tokens(t, func(t *testing.T) token.Store { return open(t) })
	storetest.Changes(t, func(t *testing.T) (one, two store.Store) {
		s := open(t)
		return s, s
	})
}

// Each call is counted once, as its operation.
func TestEveryCallIsCounted(t *testing.T) {
	ctx, s := t.Context(), open(t)
	p, some := plant.Plant{ID: 1, Name: "n"}, plant.Precondition{}
	for name, call := range map[string]func(){
		"create":     func() { _ = s.Create(ctx, p) },
		"create_all": func() { _, _ = s.CreateAll(ctx, []plant.Plant{p}) },
		"get":        func() { _, _ = s.Get(ctx, 1) },
		"list":       func() { _, _, _ = s.List(ctx, plant.Page{Limit: 1}) },
		"changes":    func() { _, _, _ = s.Changes(ctx, nil, 1) },
		"put":        func() { _, _, _ = s.Put(ctx, p, some) },
		"patch":      func() { _, _ = s.Patch(ctx, 1, plant.Patch{}, some) },
		"delete":     func() { _ = s.Delete(ctx, 1, some) },
		"token":      func() { _, _ = s.Token(ctx, "unknown") },
	} {
		before := counts(t, s)
		call()
		for operation, n := range counts(t, s) {
			want := before[operation]
			if operation == name {
				want++
			}
			if n != want {
				t.Errorf("after a call of %s, %s was counted %v times, want %v", name, operation, n, want)
			}
		}
	}
	// Methods that no request waits for are not measured.
	before := counts(t, s)
	_ = s.TouchTokens(ctx, map[string]time.Time{"unknown": time.Now()})
	for operation, n := range counts(t, s) {
		if n != before[operation] {
			t.Errorf("TouchTokens is counted as %s", operation)
		}
	}
}

// counts returns the number of measured calls by operation.
func counts(t *testing.T, s *storemetrics.Store) map[string]float64 {
	t.Helper()
	all := map[string]float64{}
	for series, n := range metricstest.Of(t, s.Metrics()) {
		if operation, ok := strings.CutPrefix(series, "plantstore_store_duration_seconds_count{operation="); ok {
			all[strings.Trim(operation, `"}`)] = n
		}
	}
	return all
}
