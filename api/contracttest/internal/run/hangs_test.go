package run

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
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

// Which request hangs, and how long others wait, depends on what has responded since.
func TestHangs(t *testing.T) {
	t.Parallel()
	request := func(method, path string) scenario.Request {
		return scenario.Request{Method: method, Path: path, Body: jsonvalue.Encode(path)} // no body is a value, too
	}
	held := func(h *hangs, operation string) bool { return h.hung(operation, request("GET", "/"+operation)) != nil }
	var h hangs
	h.responded("get", request("GET", "/1"), http.StatusOK, 0)
	h.responded("post", request("POST", "/1"), http.StatusOK, 0)
	for operation, want := range map[string]time.Duration{"get": RequestTimeout, "post": time.Second} {
		method := strings.ToUpper(operation)
		if got, err := h.within(operation, request(method, "/2"), time.Second); got != want || err != nil {
			t.Errorf("after a response %s waits %v, want %v", method, got, want)
		}
	}
	if held(&h, "first") || !held(&h, "get") {
		t.Error("not the first request that hangs is accused")
	}
	h.noteWait(request("GET", "/2"), time.Minute)
	if h.notWaited != "" {
		t.Error("a wait is told although a hang was found")
	}
	h.responded("get", request("GET", "/1"), http.StatusBadRequest, 0)
	if !held(&h, "get") {
		t.Error("a refusal by what accepts requests shows that it does not wait")
	}
	h.responded("get", request("GET", "/1"), http.StatusOK, 0)
	if !held(&h, "third") {
		t.Error("a response of another operation shows that nothing waits")
	}
	if got, _ := h.within("first", request("GET", "/2"), time.Second); got != time.Second {
		t.Errorf("what has hung waits %v", got)
	}
	if _, err := h.within("first", request("GET", "/first"), time.Second); err != leftOut {
		t.Errorf("a value that hangs is sent: %v", err)
	}
	h.responded("first", request("GET", "/first"), http.StatusBadRequest, 0) // it was sent at the same time
	if got, err := h.within("first", request("GET", "/first"), time.Second); got != time.Second || err != nil {
		t.Errorf("what has hung and responded waits %v, %v", got, err)
	}
	if held(&h, "first") {
		t.Error("what accepts nothing, and has responded, waits for another one")
	}
}

// The values of a request are those that have no others below, with their places, and the body as a whole.
func TestValuesOf(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]int{
		``: 3, `{"a":["x",{"b":1}]}`: 4, `{"a":[]}`: 3, `["` + strings.Repeat("x", mostOfValues) + `","y"]`: 2,
	} {
		values := valuesOf(scenario.Request{Path: "/a", Body: []byte(body)})
		slices.Sort(values)
		if got := len(slices.Compact(values)); got != want {
			t.Errorf("%.40s has %d values, want %d", body, got, want)
		}
	}
	one, other := valuesOf(scenario.Request{Path: "/a"}), valuesOf(scenario.Request{Path: "/b", Query: []string{"a=1"}})
	if slices.Contains(other, one[0]) || len(other) != len(one)+1 {
		t.Error("a path or a pair of the query is no value")
	}
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
