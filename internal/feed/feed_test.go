package feed

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store/sqlite"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

func openStore(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path)
	must.NoError(t, err)
	t.Cleanup(func() { expect.NoError(t, s.Close()) })
	return s
}

func newFeed(t *testing.T, changes plant.Feed) *Feed {
	f := New(changes)
	t.Cleanup(f.Stop)
	return f
}

func create(t *testing.T, s plant.Store, ids ...int64) {
	t.Helper()
	for _, id := range ids {
		must.NoError(t, s.Create(t.Context(), plant.Plant{ID: id, Name: "n"}))
	}
}

func ids(p *Page) (ids []int64) {
	for _, c := range p.Changes {
		ids = append(ids, c.ID)
	}
	return ids
}

func wantNext(t *testing.T, f *Feed, after *plant.Position, wait time.Duration, want ...int64) *Page {
	t.Helper()
	page, err := f.Next(t.Context(), after, 10, wait)
	if err != nil || !slices.Equal(ids(page), want) {
		t.Fatalf("Next = %v, %v, want %v", page, err, want)
	}
	return page
}

// goNext calls Next in a goroutine, and returns once it waits.
func goNext(t *testing.T, f *Feed, ctx context.Context, after *plant.Position) <-chan result {
	t.Helper()
	f.mu.Lock()
	before := f.waiting
	f.mu.Unlock()
	got := make(chan result, 1)
	go func() {
		page, err := f.Next(ctx, after, 10, 2*wait.Limit)
		got <- result{page, err}
	}()
	wait.Until(t, "Next waits", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.waiting > before
	})
	return got
}

type result struct {
	page *Page
	err  error
}

// Next does not wait if there are changes, and not without a wait.
func TestNextAtOnce(t *testing.T) {
	s := openStore(t, sqlite.Memory)
	f := newFeed(t, s)
	empty := wantNext(t, f, nil, 0)
	wantNext(t, newFeed(t, s), nil, time.Millisecond) // with a feed of its own: its poller may read one change of the two
	create(t, s, 1, 2)
	wantNext(t, f, nil, wait.Limit, 1, 2)
	page := wantNext(t, f, &empty.Next, wait.Limit, 1, 2)
	wantNext(t, f, &page.Next, 0)
	wantNext(t, f, &page.Next, time.Millisecond)
}

// A wait ends with a change, also of another program, with the end of its time, with
// Stop, and if the client is gone.
func TestNextWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plants.db")
	s, other := openStore(t, path), openStore(t, path)
	f := newFeed(t, s)
	after := wantNext(t, f, nil, 0).Next
	for id, writer := range map[int64]plant.Store{1: s, 2: other} {
		got := goNext(t, f, t.Context(), &after)
		create(t, writer, id)
		r := wait.For(t, "a change", got)
		if r.err != nil || !slices.Equal(ids(r.page), []int64{id}) {
			t.Fatalf("Next = %v, %v, want %d", r.page, r.err, id)
		}
		after = r.page.Next
	}
	ctx, cancel := context.WithCancel(t.Context())
	got := goNext(t, f, ctx, &after)
	cancel()
	if r := wait.For(t, "the end of a wait whose client is gone", got); !errors.Is(r.err, context.Canceled) {
		t.Errorf("Next = %v, %v, want %v", r.page, r.err, context.Canceled)
	}
	got = goNext(t, f, t.Context(), &after)
	f.Stop()
	if f.running {
		t.Error("Stop has not waited for the poller")
	}
	if r := wait.For(t, "the end of a wait after Stop", got); r.err != nil || len(r.page.Changes) > 0 ||
		r.page.Next != after {
		t.Errorf("Next = %+v, %v, want no changes and the position %+v", r.page, r.err, after)
	}
	create(t, s, 3)
	wantNext(t, f, &after, wait.Limit, 3) // what there is
}

// A page is the last one only if it was read after the request: one of the poller can
// lack what was acknowledged since.
func TestIsLast(t *testing.T) {
	s := &faulty{Store: openStore(t, sqlite.Memory)}
	f := newFeed(t, s)
	after := wantNext(t, f, nil, 0).Next
	began := time.Now()
	got := goNext(t, f, t.Context(), &after)
	create(t, s, 1)
	page := wait.For(t, "a change", got).page
	if !page.IsLast(began) {
		t.Error("a page that was read during the wait is not the last one")
	}
	goNext(t, f, t.Context(), &page.Next) // or the poller ends after a second
	s.err.Store(&plant.ErrUnavailable)
	failed := s.calls.Load() + 2
	wait.Until(t, "the poller stays where it is", func() bool { return s.calls.Load() > failed })
	create(t, s, 2)
	began = time.Now()
	if page := wantNext(t, f, &after, wait.Limit, 1); page.IsLast(began) {
		t.Error("a page that lacks a plant is the last one")
	}
	if page := wantNext(t, f, &page.Next, time.Millisecond); page.IsLast(began) {
		t.Error("a page without changes is the last one, although there is a plant")
	}
	s.err.Store(nil)
	if page := wantNext(t, f, &after, 0, 1, 2); !page.IsLast(began) {
		t.Error("a page of all plants is not the last one")
	}
}

// faulty is a feed that fails if err is set, and counts its calls.
type faulty struct {
	plant.Store
	err    atomic.Pointer[error]
	poller bool // only the reads of the poller fail
	calls  atomic.Int64
}

func (f *faulty) Changes(ctx context.Context, after *plant.Position, limit int) ([]plant.Change, plant.Position, error) {
	f.calls.Add(1)
	if err := f.err.Load(); err != nil && (!f.poller || limit == pageLimit) {
		return nil, plant.Position{}, *err
	}
	return f.Store.Changes(ctx, after, limit)
}

// A client that waits is told that its position is not valid any more. It is not
// told of other errors of the poller, which tries again.
func TestErrorsWhileWaiting(t *testing.T) {
	s := &faulty{Store: openStore(t, sqlite.Memory)}
	f := newFeed(t, s)
	after := wantNext(t, f, nil, 0).Next
	got := goNext(t, f, t.Context(), &after)
	s.err.Store(&plant.ErrUnavailable)
	failed := s.calls.Load() + 3
	wait.Until(t, "the poller has failed and tried again", func() bool { return s.calls.Load() > failed })
	s.err.Store(nil)
	create(t, s, 1)
	r := wait.For(t, "a change after a failure of the store", got)
	if r.err != nil || !slices.Equal(ids(r.page), []int64{1}) {
		t.Fatalf("Next = %v, %v, want 1", r.page, r.err)
	}
	for _, err := range []error{plant.ErrPosition, plant.ErrNoChanges} {
		got = goNext(t, f, t.Context(), &r.page.Next)
		s.err.Store(&err)
		if r := wait.For(t, "the end of a wait with "+err.Error(), got); !errors.Is(r.err, err) {
			t.Errorf("Next = %v, %v, want %v", r.page, r.err, err)
		}
		s.err.Store(nil)
	}
}

// meanwhile is a feed on which something happens at the end of the next read of a client, or of the poller.
type meanwhile struct {
	*faulty
	happens  func()
	ofPoller bool
}

func (m *meanwhile) Changes(ctx context.Context, after *plant.Position, limit int) ([]plant.Change, plant.Position, error) {
	changes, next, err := m.faulty.Changes(ctx, after, limit)
	if (limit == pageLimit) == m.ofPoller && m.happens != nil {
		happens := m.happens
		m.happens = nil
		happens()
	}
	return changes, next, err
}

// A client that is ahead of the poller reads the store itself. A change that the poller finds meanwhile ends its wait.
func TestChangeDuringTheReadOfAClient(t *testing.T) {
	s := &meanwhile{faulty: &faulty{Store: openStore(t, sqlite.Memory), poller: true}}
	f := newFeed(t, s)
	start := wantNext(t, f, nil, 0).Next
	goNext(t, f, t.Context(), &start) // so that the poller runs
	s.err.Store(&plant.ErrUnavailable)
	failed := s.calls.Load() + 2
	wait.Until(t, "the poller stays where it is", func() bool { return s.calls.Load() > failed })
	create(t, s, 1)
	ahead := wantNext(t, f, &start, 0, 1).Next
	s.happens = func() {
		s.err.Store(nil)
		create(t, s, 2)
		wait.Until(t, "the poller finds the change", func() bool {
			page := f.recent(&ahead, 1)
			return page != nil && len(page.Changes) > 0
		})
	}
	began := time.Now()
	wantNext(t, f, &ahead, wait.Limit, 2)
	if time.Since(began) > wait.Limit/2 {
		t.Error("the wait did not end with the change")
	}
}

// A change that is committed while the poller reads is in its next page, and does not wait for a tick.
func TestChangeDuringTheReadOfThePoller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &meanwhile{faulty: &faulty{Store: openStore(t, sqlite.Memory)}, ofPoller: true}
		f := newFeed(t, s)
		after := wantNext(t, f, nil, 0).Next
		s.happens = func() { create(t, s, 1) }
		began := time.Now()
		wantNext(t, f, &after, wait.Limit, 1)
		if took := time.Since(began); took > gap {
			t.Errorf("the change came after %v, want at most %v", took, gap)
		}
	})
}

// The poller ends some time after the last client, and starts again.
func TestPollerEnds(t *testing.T) {
	s := openStore(t, sqlite.Memory)
	f := newFeed(t, s)
	after := wantNext(t, f, nil, 0).Next
	for id := range int64(2) {
		got := goNext(t, f, t.Context(), &after)
		create(t, s, id)
		after = wait.For(t, "a change", got).page.Next
		wait.Until(t, "the poller ends", func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return !f.running && f.pages == nil
		})
	}
}

// The poller reads page after page, and keeps them all for the clients.
func TestPollerReadsOn(t *testing.T) {
	s := openStore(t, sqlite.Memory)
	f := newFeed(t, s)
	after := wantNext(t, f, nil, 0).Next
	var plants []plant.Plant
	for id := range int64(3 * pageLimit) {
		plants = append(plants, plant.Plant{ID: id})
	}
	_, err := s.CreateAll(t.Context(), plants)
	must.NoError(t, err)
	f.startPoller(after, true) // for a client that stays
	wait.Until(t, "the poller has all changes", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		read := 0
		for _, page := range f.pages {
			read += len(page.Changes)
		}
		return read == len(plants)
	})
}

// Clients that wait share the reads of the poller, and each page is encoded once.
func TestClientsSharePages(t *testing.T) {
	s := &faulty{Store: openStore(t, sqlite.Memory)}
	f := newFeed(t, s)
	after := wantNext(t, f, nil, 0).Next
	const clients, creates = 100, 30
	var encoded, pages atomic.Int64
	var waiting sync.WaitGroup
	for range clients {
		waiting.Go(func() {
			for after, n := after, 0; n < creates; {
				page, err := f.Next(t.Context(), &after, 1000, wait.Limit)
				if err != nil {
					t.Error(err)
					return
				}
				if page.from != (plant.Position{}) { // it is the poller's
					page.Text(func(p *Page) []byte { encoded.Add(1); return []byte(fmt.Sprint(len(p.Changes))) })
				}
				pages.Add(1)
				n += len(page.Changes)
				after = page.Next
			}
		})
	}
	wait.Until(t, "all clients wait", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.waiting == clients
	})
	before := s.calls.Load()
	for id := range int64(creates) {
		create(t, s, id)
		time.Sleep(time.Millisecond)
	}
	waiting.Wait()
	if n := s.calls.Load() - before; n > pages.Load()/2 {
		t.Errorf("%d clients got %d pages with %d reads of the store: they share none", clients, pages.Load(), n)
	}
	if encoded.Load() > creates {
		t.Errorf("%d creates were encoded %d times", creates, encoded.Load())
	}
}

// The poller keeps a limited number of pages: the newest.
func TestPagesTakeLittleMemory(t *testing.T) {
	f := New(nil)
	var all []*Page
	for range 2 * keptPages {
		all = append(all, &Page{})
		f.add(all[len(all)-1])
	}
	if !slices.Equal(f.pages, all[keptPages:]) {
		t.Errorf("the feed keeps %d pages, want the newest %d", len(f.pages), keptPages)
	}
}
