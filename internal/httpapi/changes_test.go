package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/metricstest"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// changes requests a page of changes.
func (s *service) changes(query string) plantapi.Changes {
	s.t.Helper()
	return decode[plantapi.Changes](s.t, s.call(http.MethodGet, "/changes?"+query, "").wantStatus(s.t, http.StatusOK).body)
}

// A client that closes its sending half, as a client with a body of a fixed length
// may, gets the response at once.
func TestHalfClosedClientGetsPage(t *testing.T) {
	t.Parallel()
	newService(t).speak(rawGet("/changes?wait=30"), true).wantStatus(t, http.StatusOK) // within the deadline of speak
}

// A refused position holds no permit of a list: others can list plants afterwards.
func TestRefusedPositionsHoldNoPermit(t *testing.T) {
	t.Parallel()
	after := newService(t).changes("").Position // of another store
	s := newService(t)
	for id := range 3 {
		s.post(fmt.Sprintf(`{"id":%d,"name":"Ficus"}`, id)).wantStatus(t, http.StatusOK)
	}
	for range 4 * runtime.GOMAXPROCS(0) {
		for _, path := range []string{"/changes?after=", "/changes:stream?after="} {
			s.call(http.MethodGet, path+after, "").wantError(t, plantapi.CodePositionGone)
		}
	}
	s.call(http.MethodGet, "/plants", "").wantStatus(t, http.StatusOK)
}

// With from=now the changes begin after the plants that are there. A position has
// precedence.
func TestChangesFromNow(t *testing.T) {
	t.Parallel()
	s := newService(t)
	empty := s.changes("from=now").Position
	s.fill(3)
	begun := s.follow("after=" + s.changes("from=now").Position)
	page := s.changes("from=now")
	if len(page.Changes) != 0 || page.More {
		t.Errorf("from=now has %d changes, more %v; want none", len(page.Changes), page.More)
	}
	s.post(`{"id":7,"name":"Ficus"}`).wantStatus(t, http.StatusOK)
	if got := begun.event(); got != "stored 7" {
		t.Errorf("the first event from now on is %q, want that plant 7 is stored", got)
	}
	for position, want := range map[string]int{page.Position: 1, empty: 4} {
		page := s.changes("from=now&after=" + position)
		if len(page.Changes) != want || page.Changes[want-1].ID != 7 {
			t.Errorf("after the position there are the changes %+v, want %d, the last one of plant 7", page.Changes, want)
		}
	}
}

// HEAD never waits.
func TestHeadDoesNotWait(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for _, path := range []string{"/changes?wait=30", "/changes:stream"} {
		began := time.Now()
		a := s.call(http.MethodHead, path, "").wantStatus(t, http.StatusOK)
		if took := time.Since(began); took > 29*time.Second || a.body != "" {
			t.Errorf("%s took %v, the body is %q", path, took, a.body)
		}
	}
}

// Requests that wait do not take the place of others, and others do not take theirs.
// They are neither slow nor in flight, nor in the histogram.
func TestStreamsHaveALimitOfTheirOwn(t *testing.T) {
	t.Parallel()
	s, log, registry := observed(t, nil, func(o *httpapi.Options) { o.MaxStreams, o.MaxInFlight, o.LogSlow = 2, 1, time.Nanosecond })
	first, second := s.follow(""), s.follow("")
	for _, path := range []string{"/changes", "/changes:stream"} {
		if a := s.call(http.MethodGet, path, ""); a.wantError(t, plantapi.CodeUnavailable).Error == 0 ||
			a.Header.Get("Retry-After") == "" {
			t.Errorf("%s has no Retry-After", path)
		}
	}
	gauge := func(name string) float64 { return metricstest.Scrape(t, registry)[name] }
	if streams, inFlight := gauge("plantstore_http_streams"), gauge("plantstore_http_requests_in_flight"); streams != 2 || inFlight != 0 {
		t.Errorf("%v streams and %v requests in flight, want 2 and 0", streams, inFlight)
	}
	s.call(http.MethodGet, "/plants", "").wantStatus(t, http.StatusOK)
	first.Body.Close()
	wait.Until(t, "the stream of a client that has disconnected ends", func() bool {
		return gauge("plantstore_http_streams") == 1
	})
	s.changes("")
	s.feed.Stop()
	second.want("end 50300", "EOF")
	wantCounts(t, registry, map[string]float64{"listPlants 200": 1, "failure 50300": 2})
	for _, l := range log.lines(t) {
		if l.Operation != "listPlants" && l.Msg != "request failed" {
			t.Errorf("logged %+v", l)
		}
	}
}

// noFeed is a store of an earlier release.
type noFeed struct{ plant.Store }

func (noFeed) Changes(context.Context, *plant.Position, int) ([]plant.Change, plant.Position, error) {
	return nil, plant.Position{}, fmt.Errorf("store: %w", plant.NoChangesError{Reason: "run plantstore migrate --changes"})
}

func TestStoreWithoutFeed(t *testing.T) {
	t.Parallel()
	s := newService(t, wrapPlants(func(real plant.Store) plant.Store { return noFeed{real} }))
	for _, path := range []string{"/changes", "/changes?wait=30", "/changes:stream"} {
		a := s.call(http.MethodGet, path, "")
		if e := a.wantError(t, plantapi.CodeNoChanges); !strings.Contains(e.Message, "run plantstore migrate --changes") || a.Header["Retry-After"] != nil {
			t.Errorf("%s: the message is %q, Retry-After is %q", path, e.Message, a.Header["Retry-After"])
		}
	}
}

// oneChange is a feed with one change, whose event has 6 MiB. Its position is
// positionOfOne.
type oneChange struct{ mapPlants }

const positionOfOne = "AAAAAAAAAAAAAAAAAAAAAAEAAAAAAAAAAQAAAAAAAAAAoeWN"

func (*oneChange) Changed() <-chan struct{} { return nil }

func (s *oneChange) Changes(_ context.Context, after *plant.Position, _ int) (changes []plant.Change, next plant.Position, err error) {
	if next = (plant.Position{At: 1, Seen: 1}); after == nil {
		changes = []plant.Change{{Position: next, ID: 1, Plant: &plant.Plant{ID: 1, Name: strings.Repeat("\x01", 1<<20)}}}
	}
	return changes, next, nil
}

// slowChanges is a feed without changes, which counts the reads at the same time.
type slowChanges struct {
	plant.Store
	now, most atomic.Int64
}

func (*slowChanges) Changed() <-chan struct{} { return nil }

func (s *slowChanges) Changes(_ context.Context, after *plant.Position, _ int) ([]plant.Change, plant.Position, error) {
	defer s.now.Add(-1)
	for now, most := s.now.Add(1), s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); most = s.most.Load() {
	}
	time.Sleep(time.Millisecond)
	return nil, *after, nil
}

// Changes are read with the permit of a list, so that few pages are in memory.
func TestReadsOfChangesAreFew(t *testing.T) {
	for _, path := range []string{"/changes", "/changes:stream"} {
		synctest.Test(t, func(t *testing.T) {
			most := 2 * runtime.GOMAXPROCS(0)
			store := &slowChanges{}
			get := servePipes(t, store, false)
			var wg sync.WaitGroup
			for range 2 * most {
				wg.Go(func() {
					resp, err := get(path + "?after=" + positionOfOne)
					if err != nil || resp.StatusCode != http.StatusOK {
						t.Errorf("%s: %v, %v", path, resp, err)
						return
					}
					resp.Body.Close()
				})
			}
			wg.Wait()
			time.Sleep(time.Second) // the streams end
			if got := store.most.Load(); got != int64(most) {
				t.Errorf("%s: %d reads at the same time, want %d", path, got, most)
			}
		})
	}
}

// slowLists are plants whose list takes until a channel is closed.
type slowLists struct {
	plant.Store
	polled, began, end chan struct{}
}

func (s slowLists) Changed() <-chan struct{} {
	select {
	case s.polled <- struct{}{}:
	default:
	}
	return s.Store.Changed()
}

func (s slowLists) List(context.Context, plant.Page) ([]plant.Plant, bool, error) {
	s.began <- struct{}{}
	<-s.end
	return nil, false, nil
}

// Clients that wait get a change without the permit of a list.
func TestWaitingNeedsNoPermit(t *testing.T) {
	t.Parallel()
	lists := slowLists{polled: make(chan struct{}, 1), began: make(chan struct{}, 1000), end: make(chan struct{})}
	end := sync.OnceFunc(func() { close(lists.end) })
	s := newService(t, wrapPlants(func(real plant.Store) plant.Store { lists.Store = real; return lists }))
	t.Cleanup(end) // before the server is closed
	after := s.changes("").Position
	f := s.follow("after=" + after)
	wait.For(t, "a read of the poller, which begins once the stream waits", lists.polled)
	var wg sync.WaitGroup
	for range 2 * runtime.GOMAXPROCS(0) {
		wg.Go(func() { s.call(http.MethodGet, "/plants", "").wantStatus(t, http.StatusOK) })
		wait.For(t, "a list", lists.began)
	}
	waiting := make(chan response, 1)
	go func() { waiting <- s.call(http.MethodGet, "/changes?wait=30&after="+after, "") }()
	s.post(`{"id":1,"name":"a"}`)
	f.want("stored 1")
	if a := wait.For(t, "a page", waiting); !strings.Contains(a.body, `"id":1`) {
		t.Errorf("got %s %s", a.Status, a.body)
	}
	end()
	wg.Wait()
}

// A list of the default size does not wait for longer ones.
func TestShortListsDoNotWait(t *testing.T) {
	t.Parallel()
	lists := slowLists{polled: make(chan struct{}, 1), began: make(chan struct{}, 1000), end: make(chan struct{})}
	end := sync.OnceFunc(func() { close(lists.end) })
	s := newService(t, wrapPlants(func(real plant.Store) plant.Store { lists.Store = real; return lists }))
	t.Cleanup(end) // before the server is closed
	var wg sync.WaitGroup
	list := func(path string) {
		wg.Go(func() { s.call(http.MethodGet, path, "").wantStatus(t, http.StatusOK) })
		wait.For(t, "a list, "+path, lists.began)
	}
	for range 2 * runtime.GOMAXPROCS(0) {
		list("/plants?limit=101")
	}
	list("/plants")
	list("/plants?limit=100")
	end()
	wg.Wait()
}
