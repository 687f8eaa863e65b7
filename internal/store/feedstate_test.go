package store_test

import (
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
)

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
