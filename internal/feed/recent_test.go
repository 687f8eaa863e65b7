package feed

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store/sqlite"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// poll creates plants in one transaction, and returns a feed whose poller has read that
// transaction and nothing before it.
func poll(t *testing.T, s plant.Store, after plant.Position, ids ...int64) *Feed {
	t.Helper()
	f := newFeed(t, s)
	got := goNext(t, f, t.Context(), &after)
	createAll(t, s, ids...)
	r := wait.For(t, "a change", got)
	if r.err != nil || r.page.from == (plant.Position{}) {
		t.Fatalf("Next = %+v, %v, want a page of the poller", r.page, r.err)
	}
	goNext(t, f, t.Context(), &r.page.Next) // or the poller ends after a second
	return f
}

func createAll(t *testing.T, s plant.Store, ids ...int64) {
	t.Helper()
	var plants []plant.Plant
	for _, id := range ids {
		plants = append(plants, plant.Plant{ID: id, Name: "old"})
	}
	_, err := s.CreateAll(t.Context(), plants)
	must.NoError(t, err)
}

// last returns the position after limit changes, as a client has it that reads the store.
func last(t *testing.T, s plant.Feed, after *plant.Position, limit int) plant.Position {
	t.Helper()
	_, next, err := s.Changes(t.Context(), after, limit)
	must.NoError(t, err)
	return next
}

// A client that is behind the pages of the poller misses no change, and gets none twice, also if it
// reads a page in parts.
func TestClientBehindThePoller(t *testing.T) {
	s := openStore(t, sqlite.Memory)
	behind := last(t, s, nil, 10)
	create(t, s, 1)
	f := poll(t, s, last(t, s, &behind, 10), 2, 3)
	wantNext(t, f, &behind, wait.Limit, 1, 2, 3)
	wantNext(t, f, nil, wait.Limit, 1, 2, 3)
	after := last(t, s, &behind, 1)
	part, err := f.Next(t.Context(), &after, 1, wait.Limit)
	if err != nil || part.own || !slices.Equal(ids(part), []int64{2}) {
		t.Fatalf("Next = %+v, %v, want 2 from the poller", part, err)
	}
	rest := wantNext(t, f, &part.Next, wait.Limit, 3)
	create(t, s, 4)
	wantNext(t, f, &rest.Next, wait.Limit, 4)
}

// A client that has seen what a store had before it was replaced by its backup is told
// so, also if the poller has as many changes since then as are gone: it must not keep
// what is gone, and miss what came instead.
func TestClientOfAStoreBeforeItsRestore(t *testing.T) {
	path, backup := filepath.Join(t.TempDir(), "plants.db"), filepath.Join(t.TempDir(), "backup.db")
	s := openStore(t, path)
	create(t, s, 1)
	before := last(t, s, nil, 10)
	must.NoError(t, sqlite.Copy(t.Context(), path, backup, func(int64, int64) {}))
	createAll(t, s, 10, 11)
	restored := openStore(t, backup)
	f := poll(t, restored, last(t, restored, &before, 10), 20, 21)
	for limit := 1; limit <= 2; limit++ { // within the page of the poller, and at its end
		gone := last(t, s, &before, limit)
		if page, err := f.Next(t.Context(), &gone, 10, time.Millisecond); !errors.Is(err, plant.ErrPosition) {
			t.Errorf("Next after %+v = %v, %v, want %v", gone, page, err, plant.ErrPosition)
		}
	}
}

// A client that has read a newer snapshot than the poller gets no older state from it,
// and no page without changes.
func TestClientAheadOfThePoller(t *testing.T) {
	s := &faulty{Store: openStore(t, sqlite.Memory), poller: true}
	before := last(t, s, nil, 10)
	f := poll(t, s, before, 1, 2)
	s.err.Store(&plant.ErrUnavailable) // the poller stays where it is
	_, _, err := s.Put(t.Context(), plant.Plant{ID: 2, Name: "new"}, plant.Precondition{})
	must.NoError(t, err)
	for limit := 1; limit <= 2; limit++ { // within the page of the poller, and at its end
		ahead := last(t, s.Store, &before, limit)
		page, err := f.Next(t.Context(), &ahead, 1, time.Millisecond)
		if err != nil || len(page.Changes) != 1 || page.Changes[0].Plant.Name != "new" {
			t.Errorf("Next after %+v = %+v, %v, want the new state of plant 2", ahead, page, err)
		}
	}
}
