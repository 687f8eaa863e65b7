package storetest

import (
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// UpdatedAt tests that a change never sets UpdatedAt to an earlier time, even if the
// clock was set back or the last write came from a machine whose clock is ahead.
// The function ahead adds a duration to the times of every plant in the store.
func UpdatedAt(t *testing.T, store plant.Store, ahead func(t *testing.T, by time.Duration)) {
	mustCreate(t, store, plant.Plant{ID: 1, Name: "name"})
	ahead(t, time.Hour)
	before := mustGet(t, store, 1)
	if time.Until(before.UpdatedAt) < time.Minute {
		t.Fatalf("the plant was updated at %v, want an hour from now", before.UpdatedAt)
	}
	put, _, err := store.Put(t.Context(), plant.Plant{ID: 1, Name: "put"}, plant.Precondition{})
	must.NoError(t, err)
	patched, err := store.Patch(t.Context(), 1, plant.Patch{Name: new("patched")}, plant.Precondition{})
	must.NoError(t, err)
	for _, after := range []plant.Plant{put, patched, mustGet(t, store, 1)} {
		if after.UpdatedAt.Before(before.UpdatedAt) || !after.CreatedAt.Equal(before.CreatedAt) || after.ETag == before.ETag {
			t.Errorf("the change of %+v returned %+v, want another ETag and no earlier time", before, after)
		}
	}
}
