package storetest

import (
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/testing/metricstest"
)

// Durations tests that a store counts each call that requests wait for once, as its
// operation, and no other call.
func Durations(t *testing.T, s store.Store) {
	ctx, p, some := timeout(t), plant.Plant{ID: 1, Name: "n"}, plant.Precondition{}
	want := map[string]float64{}
	check := func(after string) {
		t.Helper()
		got := map[string]float64{}
		for series, n := range metricstest.Of(t, s.Metrics()) {
			if operation, ok := strings.CutPrefix(series, "plantstore_store_duration_seconds_count{operation="); ok {
				got[strings.Trim(operation, `"}`)] = n
			}
		}
		if !maps.Equal(got, want) {
			t.Fatalf("after %s the counts of NewDurations (internal/store/operators.go) are %v, want %v", after, got, want)
		}
	}
	calls := map[string]func(){
		"create":       func() { _ = s.Create(ctx, p) },
		"create_all":   func() { _, _ = s.CreateAll(ctx, []plant.Plant{p}) },
		"get":          func() { _, _ = s.Get(ctx, 1) },
		"list":         func() { _, _, _ = s.List(ctx, plant.Page{Limit: 1}) },
		"search":       func() { _, _, _ = s.Search(ctx, plant.Search{Limit: 1, Examine: 1}) },
		"count":        func() { _, _, _ = s.Count(ctx, plant.Page{Limit: 1}) },
		"count_search": func() { _, _, _ = s.CountSearch(ctx, plant.Search{Limit: 1, Examine: 1}) },
		"tags":         func() { _, _, _ = s.Tags(ctx, plant.TagPage{Limit: 1}) },
		"changes":      func() { _, _, _ = s.Changes(ctx, nil, 1) },
		"history":      func() { _, _, _ = s.History(ctx, 1, plant.HistoryPage{Limit: 1}) },
		"put":          func() { _, _, _ = s.Put(ctx, p, some) },
		"patch":        func() { _, _ = s.Patch(ctx, 1, plant.Patch{}, some) },
		"delete":       func() { _ = s.Delete(ctx, 1, "", some) },
		"token":        func() { _, _ = s.Token(ctx, "unknown") },
	}
	for operation := range calls {
		want[operation] = 0
	}
	check("no call")
	for operation, call := range calls {
		call()
		want[operation]++
		check(operation)
	}
	_ = s.TouchTokens(ctx, map[string]time.Time{"unknown": time.Now()}) // no request waits for it
	_ = s.Changed()
	check("TouchTokens")
	// Changed returns at once; Token is not of plant.Store.
	if methods := reflect.TypeFor[plant.Store]().NumMethod(); len(calls)-1 != methods-1 {
		t.Errorf("plant.Store has %d methods and %d are measured: call them in internal/testing/storetest/durations.go", methods, len(calls)-1)
	}
}
