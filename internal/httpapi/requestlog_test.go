package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/metricstest"
)

// outage is a store of one plant, whose creates fail if err is set.
type outage struct {
	*mapPlants
	err   error
	takes time.Duration // each call
}

func (s *outage) Create(context.Context, plant.Plant) error {
	time.Sleep(s.takes)
	return s.err
}

func (s *outage) Get(ctx context.Context, id int64) (plant.Plant, error) {
	time.Sleep(s.takes)
	return s.mapPlants.Get(ctx, id)
}

// outageService is a service over such a store, with its log. It must be made in a synctest bubble.
type outageService struct {
	*service
	outage
	log      logged
	registry *prometheus.Registry
	taken    int // lines of the log
}

func newOutageService(t *testing.T, logAll bool) *outageService {
	s := &outageService{outage: outage{mapPlants: newMapPlants(1)}, registry: prometheus.NewRegistry()}
	s.service = newService(t, offline, withPlants(&s.outage), withTokens(noTokens{}), withLog(&s.log), withOptions(func(o *httpapi.Options) {
		o.LogAll, o.LogSlow, o.Metrics = logAll, time.Second, s.registry
	}))
	return s
}

func (s *outageService) write() { s.post(`{"id":1,"name":"n"}`) }

func (s *outageService) read() { s.call(http.MethodGet, "/plants/1", "") }

// take returns the lines since the last call, and how many there are of each kind.
func (s *outageService) take(t *testing.T) (lines []line, kinds map[string]int) {
	synctest.Wait()
	all := s.log.lines(t)
	lines, s.taken = all[s.taken:], len(all)
	kinds = map[string]int{}
	for _, l := range lines {
		kinds[l.Msg]++
		if l.Msg == "lines left out" {
			kinds[l.Line+" left out"] += l.Count
		}
	}
	return lines, kinds
}

// An outage of twelve seconds gives two lines about the store. The lines about single
// requests are at most ten in a second, and one with the number of the others.
func TestStoreOutageIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newOutageService(t, false)
		s.err = fmt.Errorf("sqlite: %w: disk I/O error", plant.ErrUnavailable)
		const perSecond, seconds = 50, 12
		for range perSecond * seconds {
			s.write()
			s.read() // reads succeed, and do not end the outage of writes
			time.Sleep(time.Second / perSecond)
		}
		time.Sleep(time.Second)
		lines, kinds := s.take(t)
		if l := lines[0]; l.Msg != "store unavailable" || l.Scope != "write" || l.Err != s.err.Error() {
			t.Errorf("the first line is %+v", l)
		}
		failed, leftOut := kinds["request failed"], kinds["request failed left out"]
		if kinds["store unavailable"] != 1 || failed > 10*(seconds+1) || failed+leftOut != perSecond*seconds || len(kinds) != 4 {
			t.Errorf("logged %v, want one line that the store is unavailable, and 10 of the failures in each second", kinds)
		}
		if got := metricstest.Scrape(t, s.registry)[`plantstore_http_failures_total{error="50300"}`]; got != perSecond*seconds {
			t.Errorf("the metrics have %v failures, want %d", got, perSecond*seconds)
		}

		s.err = nil
		s.read() // says nothing about writes
		if got, _ := s.take(t); len(got) != 0 {
			t.Errorf("logged %+v", got)
		}
		s.write()
		s.write()
		got, _ := s.take(t)
		if len(got) != 1 || got[0].Msg != "store available again" || got[0].Scope != "write" ||
			got[0].FailedRequests != perSecond*seconds || got[0].Seconds < seconds-1 || got[0].Seconds > seconds {
			t.Errorf("logged %+v, want that %d requests failed in %d seconds", got, perSecond*seconds, seconds)
		}
	})
}

// A store with the order of names of another version of Unicode works, as one with a locked plant
// does: only some requests fail.
func TestFailuresOfSomeRequestsAreNoOutage(t *testing.T) {
	for _, cause := range []error{plant.ErrOtherUnicode, plant.ErrLocked} {
		synctest.Test(t, func(t *testing.T) {
			s := newOutageService(t, false)
			s.err = fmt.Errorf("%w: %w", plant.ErrUnavailable, cause)
			s.write() // the only requests that get the error
			if _, got := s.take(t); !maps.Equal(got, map[string]int{"request failed": 1}) {
				t.Errorf("%v: logged %v, want the failed request alone", cause, got)
			}
		})
	}
}

// If some writes succeed and others fail, the log does not report a change with each
// of them.
func TestStoreOutageDoesNotFlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newOutageService(t, false)
		for range 1000 {
			s.err = plant.ErrUnavailable
			s.write()
			s.err = nil
			s.write()
			time.Sleep(10 * time.Millisecond)
		}
		_, kinds := s.take(t)
		if states := kinds["store unavailable"] + kinds["store available again"]; states != 1 {
			t.Errorf("the state was logged %d times, want once", states)
		}
	})
}

// The lines of each kind are limited, unless all requests are logged.
func TestLogLinesOfEachKindAreLimited(t *testing.T) {
	for logAll, want := range map[bool]map[string]int{
		false: {"request failed": 10, "slow request": 10, "lines left out": 2, "request failed left out": 20, "slow request left out": 20},
		true:  {"request failed": 30, "slow request": 30},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newOutageService(t, logAll)
			s.takes, s.err = 2*time.Second, errors.New("bug")
			for range 30 {
				go s.write()
				go s.read()
			}
			time.Sleep(5 * time.Second)
			if _, kinds := s.take(t); !maps.Equal(kinds, want) {
				t.Errorf("logged %v, want %v", kinds, want)
			}
		})
	}
}
