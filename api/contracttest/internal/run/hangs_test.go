package run

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/api/contracttest/internal/judge"
	"github.com/plantstore/plantstore/api/contracttest/internal/plan"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// slow takes as long for a response as the text of the request says after "takes-", and refuses one with the text "refused".
type slow struct{}

func (slow) RoundTrip(r *http.Request) (*http.Response, error) {
	_, text, _ := strings.Cut(r.URL.RawQuery, "takes-")
	takes, _ := time.ParseDuration(text)
	status := http.StatusOK
	if r.URL.RawQuery == "refused" {
		status = http.StatusBadRequest
	}
	select {
	case <-time.After(takes):
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: http.NoBody}, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// The first request that hangs is accused. What comes behind it is not, until it has once responded; values that hang are
// not sent again; and what was slow before may be so again.
func TestHang(t *testing.T) {
	t.Parallel()
	const hang = "takes-999h"
	behind := "not tested: it may wait for what gave no response before: "
	synctest.Test(t, func(t *testing.T) {
		runner := runnerOf(t)
		for i, c := range []struct {
			method, path, query, body string
			want                      string
			took                      time.Duration
		}{
			{"GET", "/pots/7", "takes-50s", "", "kept", 50 * time.Second}, // a poll
			{"GET", "/pots/7", "takes-99s", "", "kept", 99 * time.Second}, // twice as long
			{"POST", "/pots", "", "", "kept", 0},
			{"POST", "/pots", hang, "", "broken: no complete response in 10s", 10 * time.Second},
			{"POST", "/pots", hang, "", "not tested: " + string(leftOut), 0},
			{"POST", "/pots", "other-" + hang, "", behind + "POST /pots", 10 * time.Second},
			{"GET", "/pots/8", hang, "", behind + "POST /pots", 198 * time.Second},
			{"PUT", "/pots/8", hang, "", behind + "POST /pots", time.Second}, // all is silent
			{"GET", "/pots/7", "refused", "", "kept", 0},                     // which may not need what the others wait for
			{"GET", "/pots/8", hang, "", behind + "POST /pots", 198 * time.Second},
			{"GET", "/pots/7", "", "", "kept", 0},
			{"GET", "/pots/9", hang, "", "broken: no complete response in 3m18s", 198 * time.Second},
			{"PUT", "/pots/9", hang, "", behind + "GET /pots/9", time.Second * 10},
			{"GET", "/pots/7", "", "", "kept", 0},                                                           // nothing waits any more
			{"PUT", "/pots/9", "other-" + hang, "", "broken: no complete response in 1m5s", RequestTimeout}, // its first
			{"PUT", "/pots/7", "", `{}`, "kept", 0},
			{"PUT", "/pots/7", "x-" + hang, `{"a":[1]}`, "broken: no complete response in 10s", 10 * time.Second},
			{"PUT", "/pots/7", "", `{"b":2,"a":[1]}`, "not tested: " + string(leftOut), 0},
			{"PUT", "/pots/7", "", `{"a":[2]}`, "kept", 0},
		} {
			runner.Observe = func(scenario.Interaction, string, judge.Asked) []scenario.Failure { return nil }
			request := scenario.Request{Method: c.method, Path: c.path, Query: strings.Split(c.query, "&"), Header: http.Header{}, Body: []byte(c.body)}
			begin := time.Now()
			outcome := runner.Run(t.Context(), plan.Test{Test: testOf(sending(request))}, Target{URL: "http://pots.example", Transport: slow{}})
			if took := time.Since(begin); said(outcome) != c.want || took != c.took {
				t.Errorf("request %d took %v: %s; want %v: %s", i, took, said(outcome), c.took, c.want)
			}
		}
	})
}

// What a run that ends has not waited for is no failure, and told. It waits no longer than a quarter of its time for what may be
// right.
func TestNotWaited(t *testing.T) {
	t.Parallel()
	const ended = "the run has ended before there was a response"
	for _, c := range []struct {
		ends         time.Duration
		want, waited string
	}{
		{time.Millisecond, "not tested: " + ended, ""},
		{5 * time.Second, "not tested: " + ended, "5s"},
		{12 * time.Second, "not tested: " + string(noTimeToWait), "10s"},
		{time.Minute, "not tested: " + string(noTimeToWait), "15s"},
		{5 * time.Minute, "broken: no complete response in 1m5s", ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), c.ends)
			defer cancel()
			request := scenario.Request{Method: "GET", Path: "/pots/7", Query: []string{"takes-999h"}, Header: http.Header{}}
			runner := runnerOf(t)
			runner.Observe = func(scenario.Interaction, string, judge.Asked) []scenario.Failure { return nil }
			outcome := runner.Run(ctx, plan.Test{Test: testOf(sending(request))}, Target{URL: "http://pots.example", Transport: slow{}})
			waited := ""
			if c.waited != "" {
				waited = "there was no response to GET /pots/7 for " + c.waited + ", and no time to wait longer"
			}
			if got := runner.NotWaitedFor(); got != waited || said(outcome) != c.want {
				t.Errorf("after %v: %s, %q; want %s, %q", c.ends, said(outcome), got, c.want, waited)
			}
		})
	}
}
