package run

import (
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/api/contracttest/internal/plan"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// crashing is a service that ends without a response to /pots/9, and may accept connections again later.
type crashing struct {
	back  time.Duration // after its end; 0: it does not come back
	with  error         // what a client of package http sees when it ends
	ended time.Time
}

func (s *crashing) RoundTrip(r *http.Request) (*http.Response, error) {
	isAway := !s.ended.IsZero() && (s.back == 0 || time.Since(s.ended) < s.back)
	switch {
	case isAway:
		return nil, syscall.ECONNREFUSED
	case strings.HasSuffix(r.URL.Path, "/9"):
		s.ended = time.Now()
		return nil, s.with
	}
	return &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{}, Body: http.NoBody}, nil
}

// What comes after a crash waits until the service is back, and is not accused. A service that does not come back is one cause,
// which names the request that has ended it.
func TestRestart(t *testing.T) {
	t.Parallel()
	const isGone = "after GET /pots/9 the service accepted no connection"
	const advice = ", and nothing more was tested: exclude getPot (--exclude)"
	for name, c := range map[string]struct {
		back        time.Duration
		with        error
		next, later string
		warning     string
	}{
		"at once":               {time.Millisecond, io.EOF, "kept", "kept", ""},
		"soon":                  {9 * time.Second, io.EOF, "kept", "kept", ""},
		"never":                 {0, io.EOF, "connection refused, for 10s", "not tested: " + isGone, isGone + advice},
		"never, and sent again": {0, syscall.ECONNREFUSED, "not tested: " + isGone, "not tested: " + isGone, isGone + advice},
	} {
		synctest.Test(t, func(t *testing.T) {
			runner := runnerOf(t)
			target := Target{URL: "http://pots.example", Transport: &crashing{back: c.back, with: c.with}}
			var got []string
			for _, path := range []string{"/pots/7", "/pots/9", "/pots/7", "/pots/8"} {
				outcome := runner.Run(t.Context(), plan.Test{Test: testOf(step("GET", path, scenario.Expectation{}))}, target)
				got = append(got, said(outcome))
			}
			ended := "EOF"
			if c.with != io.EOF {
				ended = "connection refused, for 10s"
			}
			want := []string{"kept", ended, c.next, c.later}
			for i, text := range want {
				if !strings.Contains(got[i], text) {
					t.Errorf("%s: request %d: %s, want %s", name, i, got[i], text)
				}
			}
			if runner.Ended() != c.warning {
				t.Errorf("%s: the warning is %q, want %q", name, runner.Ended(), c.warning)
			}
		})
	}
}

// A service that was not there yet is not waited for, and a later run may find it.
func TestNotThereYet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		runner, service := runnerOf(t), &crashing{ended: time.Now(), back: time.Minute}
		run := func() string {
			test := testOf(step("GET", "/pots/7", scenario.Expectation{}))
			return said(runner.Run(t.Context(), plan.Test{Test: test}, Target{URL: "http://pots.example", Transport: service}))
		}
		if got := run(); got != "broken: connection refused, for 0s" || runner.Ended() != "" {
			t.Errorf("before it is there: %s, and %q", got, runner.Ended())
		}
		time.Sleep(time.Minute)
		if got := run(); got != "kept" {
			t.Errorf("once it is there: %s", got)
		}
	})
}
