package client_test

import (
	"testing"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/api/client/clienttest"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// The history of a plant has what other clients have changed, also over many pages, and leads back.
func TestHistory(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := clienttest.New(t).Client()
	must.NoError(t, c.Create(ctx, client.Plant{ID: 1, Name: "0", Tag: new("t")}))
	const changes = 1002 // more than a page
	for i := range changes {
		_, err := c.Patch(ctx, 1, client.Patch{Name: new(string(rune('a' + i%2)))})
		must.NoError(t, err)
	}
	must.NoError(t, c.Delete(ctx, 1))
	var all []client.HistoryEntry
	for entry, err := range c.History(ctx, 1) {
		must.NoError(t, err)
		all = append(all, entry)
	}
	if len(all) != changes+1 || all[0].Change != client.Deleted || all[1].Change != client.Patched {
		t.Fatalf("the history has %d entries, want %d, the last one of a delete: %+v", len(all), changes+1, all[:2])
	}
	first := all[changes]
	if first.Plant.Name != "0" || *first.Plant.Tag != "t" || first.ChangedBy == "" || first.ChangedBy != first.Plant.ChangedBy || first.ChangedAt.IsZero() {
		t.Errorf("the oldest entry is %+v", first)
	}
	back, err := c.Insert(ctx, first.Plant)
	must.NoError(t, err)
	if back.Name != "0" || back.ETag == first.Plant.ETag {
		t.Errorf("what was brought back is %+v", back)
	}
	for _, err := range c.History(ctx, 2) {
		wantError(t, err, client.ErrNoSuchPlant)
	}
}
