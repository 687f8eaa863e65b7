//go:build unix

package system_test

import (
	"context"
	"hash/maphash"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/internal/store/open"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// TestWalk lets a client follow a store from nothing while others write, and while the
// changes from before the walk are forgotten. The walk must not begin again, and the
// copy must be equal in the end. PLANTSTORE_TEST_WALK_PLANTS is the number of plants.
func TestWalk(t *testing.T) {
	n := must.Number(t, "PLANTSTORE_TEST_WALK_PLANTS", 0)
	if n == 0 {
		t.Skip("needs a minute: .ci/drill test-walk")
	}
	m := &mortal{store: filepath.Join(t.TempDir(), "plants.db")}
	fillStore(t, m.store, int64(n))
	m.start(t)
	defer func() { m.kill() }()
	c := m.client(t)
	var old client.Position // of a client that never continues
	for change, err := range c.Changes(t.Context(), "") {
		must.NoError(t, err)
		old = change.Position
		break
	}
	w := &writers{t: t, size: int64(n), plants: map[int64]string{}}
	w.write(c, 0)
	stopWriting := sync.OnceFunc(w.start(m))
	defer stopWriting()
	wait.Until(t, "there are 50 writes", func() bool { return w.writes.Load() >= 50 })

	began, writes := time.Now(), w.writes.Load()
	stopForgetting := forgetBefore(t, m.store, began)
	defer stopForgetting()
	copied := map[int64]uint64{}
	var position client.Position
	apply := func(change client.Change, err error) {
		if err != nil {
			t.Fatalf("after %d plants: %v", len(copied), err)
		}
		if position = change.Position; change.Plant == nil {
			delete(copied, change.ID)
		} else {
			copied[change.ID] = sumOf(*change.Plant)
		}
	}
	for change, err := range c.Changes(t.Context(), "") {
		apply(change, err)
		if _, walks := positionNumbers(t, position); !walks {
			break
		}
	}
	took := time.Since(began)
	writes = w.writes.Load() - writes
	stopForgetting()
	stopWriting()
	for _, err := range c.ChangesUntilNow(t.Context(), old) {
		expect.Error(t, "the changes from before the walk were not forgotten", err, client.ErrPositionGone)
		break
	}
	for change, err := range c.ChangesUntilNow(t.Context(), position) {
		apply(change, err)
	}
	listed := 0
	for p, err := range c.All(t.Context(), client.PageSize(1000)) {
		must.NoError(t, err)
		if listed++; copied[p.ID] != sumOf(p) {
			t.Errorf("the copy lacks plant %d, or has an older state", p.ID)
		}
		if name, written := w.plants[p.ID]; written && name != p.Name {
			t.Errorf("plant %d has the name %s, want %s", p.ID, p.Name, name)
		}
	}
	if len(copied) != listed {
		t.Errorf("the copy has %d plants, want %d", len(copied), listed)
	}
	exporting := time.Now()
	m.r.Do(t, "export", filepath.Join(t.TempDir(), "plants.ndjson"))
	exported := time.Since(exporting)
	t.Logf("figures: a walk of %d plants took %v, %.0f a second, during %d writes; an export after them took %v, %.0f a second",
		n, took.Round(10*time.Millisecond), float64(n)/took.Seconds(), writes, exported.Round(10*time.Millisecond), float64(listed)/exported.Seconds())
}

// sumOf returns a checksum of a plant, which takes less memory.
func sumOf(p client.Plant) uint64 {
	type content struct {
		name, tag, etag  string
		tagged           bool
		created, updated int64
	}
	c := content{name: p.Name, etag: string(p.ETag), tagged: p.Tag != nil, created: p.CreatedAt.UnixMicro(), updated: p.UpdatedAt.UnixMicro()}
	if p.Tag != nil {
		c.tag = *p.Tag
	}
	return maphash.Comparable(walkSeed, c)
}

var walkSeed = maphash.MakeSeed()

// forgetBefore forgets the changes of a store from before a time, as each of its
// servers does, until the returned function is called.
func forgetBefore(t *testing.T, path string, before time.Time) (stop func()) {
	t.Helper()
	s, err := open.Open(t.Context(), path)
	must.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var forgetting sync.WaitGroup
	forgetting.Go(func() {
		for ctx.Err() == nil {
			expect.NoError(t, s.ForgetChanges(t.Context(), before))
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	return sync.OnceFunc(func() {
		cancel()
		forgetting.Wait()
		expect.NoError(t, s.Close())
	})
}
