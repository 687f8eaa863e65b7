package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/metricstest"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/token"
)

// logLine is what these tests read of a line of the log.
type logLine struct {
	Msg, Line, Scope, Err string
	Count                 int
	FailedRequests        int `json:"failed_requests"`
	Seconds               float64
}

// storeLog is the log of requests to a store that may be unavailable.
type storeLog struct {
	t        *testing.T
	text     bytes.Buffer
	counts   *counts
	registry *prometheus.Registry
	handler  http.Handler
	err      error         // of writes
	takes    time.Duration // each request
}

func newStoreLog(t *testing.T, all bool) *storeLog {
	read, write := &operation{id: "getPlant", requiredScope: token.Read}, &operation{id: "createPlant", requiredScope: token.Write}
	s := &storeLog{t: t, registry: prometheus.NewRegistry()}
	s.counts = newCounts(s.registry)
	log := slog.New(slog.NewJSONHandler(&s.text, nil))
	opts := &Options{Tokens: token.NewVerifier(nil, ""), Log: log, LogAll: all, LogSlow: time.Second}
	s.handler = observer{counts: s.counts, log: newRequestLog(opts)}.observe(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(s.takes)
		recorderOf(w).scope.operation = read
		if r.Method == http.MethodPost {
			recorderOf(w).scope.operation = write
			if s.err != nil {
				failures{s.counts}.write(w, r, s.err)
				return
			}
		}
		w.WriteHeader(http.StatusOK)
	}))
	return s
}

func (s *storeLog) send(method string) {
	s.handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(s.t.Context(), method, "/plants", nil))
}

// take returns the lines since the last call.
func (s *storeLog) take() (lines []logLine) {
	s.t.Helper()
	synctest.Wait()
	for dec := json.NewDecoder(&s.text); dec.More(); {
		var l logLine
		must.NoError(s.t, dec.Decode(&l))
		lines = append(lines, l)
	}
	return lines
}

// An outage of twelve seconds gives two lines about the store. The lines about single
// requests are at most ten in a second, and one with the number of the others.
func TestStoreOutageIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStoreLog(t, false)
		s.err = fmt.Errorf("sqlite: %w: disk I/O error", plant.ErrUnavailable)
		const perSecond, seconds = 500, 12
		for range perSecond * seconds {
			s.send(http.MethodPost)
			s.send(http.MethodGet) // reads succeed, and do not end the outage of writes
			time.Sleep(time.Second / perSecond)
		}
		time.Sleep(time.Second)
		lines, leftOut := map[string]int{}, 0
		for i, l := range s.take() {
			lines[l.Msg]++
			leftOut += l.Count
			if l.Msg == "store unavailable" && (i != 0 || l.Scope != "write" || l.Err != s.err.Error()) {
				t.Errorf("line %d is %+v", i, l)
			}
			if l.Msg == "lines left out" && (l.Line != "request failed" || l.Count > perSecond) {
				t.Errorf("line %d is %+v", i, l)
			}
		}
		if lines["store unavailable"] != 1 || len(lines) != 3 {
			t.Errorf("logged %v, want one line that the store is unavailable", lines)
		}
		if got := lines["request failed"]; got < 10 || got > 10*(seconds+1) {
			t.Errorf("%d failed requests were logged in %d seconds, want 10 for each", got, seconds)
		}
		if got := lines["request failed"] + leftOut; got != perSecond*seconds {
			t.Errorf("%d failed requests were logged or counted, want %d", got, perSecond*seconds)
		}
		if got := metricstest.Scrape(t, s.registry)[`plantstore_http_failures_total{error="50300"}`]; got != perSecond*seconds {
			t.Errorf("the metrics have %v failures, want %d", got, perSecond*seconds)
		}

		s.err = nil
		s.send(http.MethodGet) // says nothing about writes
		if got := s.take(); len(got) != 0 {
			t.Errorf("logged %+v", got)
		}
		s.send(http.MethodPost)
		s.send(http.MethodPost)
		got := s.take()
		if len(got) != 1 || got[0].Msg != "store available again" || got[0].Scope != "write" ||
			got[0].FailedRequests != perSecond*seconds || got[0].Seconds < seconds-1 || got[0].Seconds > seconds {
			t.Errorf("logged %+v, want that %d requests failed in %d seconds", got, perSecond*seconds, seconds)
		}
	})
}

// A store with the order of names of another version of Unicode works: only some reads fail.
func TestOtherUnicodeIsNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStoreLog(t, false)
		s.err = fmt.Errorf("%w: %w", plant.ErrUnavailable, plant.ErrOtherUnicode)
		s.send(http.MethodPost) // the only requests that get the error
		if got := s.take(); len(got) != 1 || got[0].Msg != "request failed" {
			t.Errorf("logged %+v, want the failed request alone", got)
		}
	})
}

// If some writes succeed and others fail, the log does not report a change with each
// of them.
func TestStoreOutageDoesNotFlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStoreLog(t, false)
		fault := fmt.Errorf("sqlite: %w", plant.ErrUnavailable)
		for range 1000 {
			s.err = fault
			s.send(http.MethodPost)
			s.err = nil
			s.send(http.MethodPost)
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Second)
		states := 0
		for _, l := range s.take() {
			if l.Msg == "store unavailable" || l.Msg == "store available again" {
				states++
			}
		}
		if states != 1 {
			t.Errorf("the state was logged %d times, want once", states)
		}
	})
}

// The lines of each kind are limited, unless all requests are logged.
func TestLogLinesOfEachKindAreLimited(t *testing.T) {
	for _, all := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newStoreLog(t, all)
			s.takes = 2 * time.Second
			s.err = errors.New("bug")
			for range 30 {
				go s.send(http.MethodGet)
				go s.send(http.MethodPost)
			}
			time.Sleep(5 * time.Second)
			lines := map[string]int{}
			for _, l := range s.take() {
				lines[l.Msg]++
				if l.Msg == "lines left out" {
					lines[l.Line+" left out"] += l.Count
				}
			}
			want := map[string]int{"request failed": 10, "slow request": 10, "lines left out": 2, "request failed left out": 20, "slow request left out": 20}
			if all {
				want = map[string]int{"request failed": 30, "slow request": 30}
			}
			if fmt.Sprint(lines) != fmt.Sprint(want) {
				t.Errorf("logged %v, want %v", lines, want)
			}
		})
	}
}
