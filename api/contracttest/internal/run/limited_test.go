package run

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/api/contracttest/internal/plan"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// limiting is a service that responds with 429 to its first requests.
type limiting struct {
	first, sent int
	retryAfter  func() string
}

func (s *limiting) RoundTrip(*http.Request) (*http.Response, error) {
	s.sent++
	response := &http.Response{
		StatusCode: http.StatusNotFound,
		Header:     http.Header{},
		Body:       io.NopCloser(strings.NewReader("")),
	}
	if s.sent <= s.first {
		response.StatusCode = http.StatusTooManyRequests
		response.Header.Set("Retry-After", s.retryAfter())
	}
	return response, nil
}

// A request to a service that limits requests is sent again when the service allows it, but for a step that judges the
// limit itself.
func TestLimited(t *testing.T) {
	t.Parallel()
	missing := step("GET", "/pots/7", scenario.Refused(scenario.UnknownResource))
	isLimited := func(t *scenario.Trial) {
		request := scenario.Request{Method: "GET", Path: "/pots/7", Header: http.Header{}}
		got := t.Send(request, scenario.Expectation{MayBeLimited: true})
		t.Require(got.Status == http.StatusTooManyRequests, "the status is %d", got.Status)
	}
	says := func(text string) func() string { return func() string { return text } }
	checked := step("GET", "/pots/7", scenario.Expectation{})
	const ofRun = 6 * time.Second
	date := func() string { return time.Now().Add(3 * time.Second).UTC().Format(http.TimeFormat) }
	for name, c := range map[string]struct {
		step       part
		first      int
		retryAfter func() string
		want       string
		sent       int
		waited     time.Duration
	}{
		"without a limit":               {missing, 0, nil, "kept", 1, 0},
		"seconds":                       {missing, 2, says("2"), "kept", 3, 4 * time.Second},
		"a date":                        {missing, 1, date, "kept", 2, 3 * time.Second},
		"the longest wait":              {missing, 1, says("5"), "kept", 2, 5 * time.Second},
		"too long a wait":               {missing, 1, says("6"), "not tested: " + string(limited), 1, 0},
		"more seconds than a duration":  {missing, 1, says("9999999999"), "not tested: " + string(limited), 1, 0},
		"neither seconds nor a date":    {missing, 1, says("soon"), "kept", 2, time.Second},
		"as often as requests are sent": {missing, 3, says("1"), "kept", 4, 3 * time.Second},
		"always":                        {missing, 9, says("1"), "not tested: " + string(limited), 4, 3 * time.Second},
		"longer than the run":           {missing, 3, says("4"), "not tested: " + string(limited), 2, ofRun},
		"a step that checks more":       {checked, 1, says("1"), "kept", 2, time.Second},
		"a test of the limit":           {isLimited, 1, says("1"), "kept", 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				target := &limiting{first: c.first, retryAfter: c.retryAfter}
				test := testOf(c.step)
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), ofRun)
				defer cancel()
				got := runnerOf(t).Run(ctx, plan.Test{Test: test}, Target{URL: "http://pots.example", Transport: target})
				waited := time.Since(began)
				if said(got) != c.want || target.sent != c.sent || waited != c.waited {
					t.Errorf("%s after %d requests and %v; want %s, %d, %v", said(got), target.sent, waited, c.want, c.sent, c.waited)
				}
			})
		})
	}
}
