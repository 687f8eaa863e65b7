package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/metricstest"
	"github.com/plantstore/plantstore/internal/testing/wait"
	"github.com/plantstore/plantstore/internal/token"
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
	s, log, registry := observed(t, nil, func(o *httpapi.Options) { o.MaxStreams, o.MaxInFlight, o.LogSlow = 4, 1, time.Nanosecond })
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
	other := newToken(t, s.store, token.Read) // a token may have half of them
	s.follow("", header("Authorization", "Bearer "+other)).Body.Close()
	wait.Until(t, "the stream of the other token ends", func() bool {
		return gauge("plantstore_http_streams") == 2
	})
	s.call(http.MethodGet, "/plants", "").wantStatus(t, http.StatusOK)
	first.Body.Close()
	wait.Until(t, "the stream of a client that has disconnected ends", func() bool {
		return gauge("plantstore_http_streams") == 1
	})
	s.changes("")
	s.feed.Stop()
	second.want(comment, end(plantapi.CodeUnavailable), "EOF")
	wantCounts(t, registry, map[string]float64{"listPlants 200": 1, "failure 50300": 2})
	for _, l := range log.lines(t) {
		if l.Operation != "listPlants" && l.Msg != "request failed" {
			t.Errorf("logged %+v", l)
		}
	}
}

// noFeed is a store whose plants are spread over several servers.
type noFeed struct{ plant.Store }

func (noFeed) Changes(context.Context, *plant.Position, int) ([]plant.Change, plant.Position, error) {
	return nil, plant.Position{}, fmt.Errorf("store: %w", plant.ErrNoChanges)
}

func (noFeed) History(context.Context, int64, plant.HistoryPage) ([]plant.HistoryEntry, bool, error) {
	return nil, false, plant.ErrNoChanges
}

func TestStoreWithoutFeed(t *testing.T) {
	t.Parallel()
	s := newService(t, wrapPlants(func(real plant.Store) plant.Store { return noFeed{real} }))
	for _, path := range []string{"/changes", "/changes?wait=30", "/changes:stream", "/plants/1/history"} {
		a := s.call(http.MethodGet, path, "")
		if e := a.wantError(t, plantapi.CodeNoChanges); e.Message != plant.ErrNoChanges.Error() || a.Header["Retry-After"] != nil {
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
