package run

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"syscall"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/judge"
	"github.com/plantstore/plantstore/api/contracttest/internal/plan"
	"github.com/plantstore/plantstore/api/contracttest/report"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// failing is a transport that fails some times before it responds.
type failing struct {
	with  error
	times int
	sent  int
}

func (f *failing) RoundTrip(*http.Request) (*http.Response, error) {
	f.sent++
	if f.sent <= f.times {
		return nil, f.with
	}
	return &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{}, Body: http.NoBody}, nil
}

// A connection that was closed is tried again, once. What fails otherwise is the failure of the operation, and that the
// service is gone the failure of all.
func TestNoResponse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		with  error
		times int
		sent  int
		want  string // rank, cause, message
	}{
		"closed once":  {io.EOF, 1, 2, "kept"},
		"closed twice": {io.EOF, 2, 2, "0 getPot gives no response: EOF"},
		"reset once":   {syscall.ECONNRESET, 1, 2, "kept"},
		"refused":      {fmt.Errorf("dial: %w", syscall.ECONNREFUSED), 2, 1, "0 the service accepts no connection: connection refused, for 0s"},
		"broken":       {errors.New("malformed"), 2, 1, "0 getPot gives no response: malformed"},
	} {
		service := &failing{with: c.with, times: c.times}
		test := testOf(step("GET", "/pots/7", scenario.Expectation{}))
		outcome := runnerOf(t).Run(t.Context(), plan.Test{Test: test}, Target{URL: "http://pots.example", Transport: service})
		got := said(outcome)
		if len(outcome.Failures) > 0 {
			failure := outcome.Failures[0]
			got = fmt.Sprintf("%d %s: %s", failure.Rank, report.CauseText(failure.Cause), failure.Message)
			if failure.Sent.URL != "http://pots.example/pots/7" || failure.Sent.Status != 0 {
				t.Errorf("%s: sent was %+v", name, failure.Sent)
			}
			if len(failure.Steps) != 1 {
				t.Errorf("%s: the steps are %+v, want the request without a response", name, failure.Steps)
			}
		}
		if got != c.want || service.sent != c.sent {
			t.Errorf("%s: %s after %d requests, want %s after %d", name, got, service.sent, c.want, c.sent)
		}
	}
}

// A failure shows all steps of a test, without the longest bodies. Of a long test it shows the creates and the last steps.
func TestSteps(t *testing.T) {
	t.Parallel()
	s := &steps{}
	s.add(scenario.Interaction{Method: "POST", Status: 201, Body: make([]byte, mostOfStep)})
	s.add(scenario.Interaction{Method: "POST", Status: 400, Body: make([]byte, mostOfStep+1)})
	for range readable - 2 {
		s.add(scenario.Interaction{Method: "GET", Status: 200})
	}
	if got := s.shown(); len(got) != readable || len(got[0].Body) != mostOfStep || len(got[1].Body) != 0 {
		t.Errorf("%d steps are shown, with bodies of %d and %d bytes", len(got), len(got[0].Body), len(got[1].Body))
	}
	s.add(scenario.Interaction{Method: "DELETE", Status: 204})
	if got := s.shown(); len(got) != 1+lastSteps || got[0].Status != 201 || got[lastSteps].Method != "DELETE" {
		t.Errorf("of a long test %d steps are shown, from %d to %s", len(got), got[0].Status, got[len(got)-1].Method)
	}
}

// promisesOf are promises with names.
func promisesOf(names ...string) (all []scenario.Promise) {
	for _, name := range names {
		all = append(all, scenario.Promise{Kind: scenario.DeclaredPromise, Place: name})
	}
	return all
}

// causeOf is a cause with a title.
func causeOf(title string) scenario.Cause {
	return scenario.Cause{Kind: scenario.BrokenPromise, Promise: promisesOf(title)[0]}
}

// A failure has the test, the last request without what is secret, and a cause: its own, the crash of the service, or the
// promise of the test.
func TestFailureOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		err    error
		want   string
	}{
		"a promise":              {404, scenario.Brokenf("wrong"), "1 shown: wrong, sent GET"},
		"a cause":                {404, scenario.BrokenBy(causeOf("a cause"), "wrong"), "1 a cause: wrong, sent GET"},
		"a cause and a crash":    {500, scenario.BrokenBy(causeOf("a cause"), "wrong"), "1 a cause: wrong, sent GET"},
		"a crash":                {500, scenario.Brokenf("wrong"), "0 getPot responds with 500: wrong, sent GET"},
		"a check of the options": {404, errors.New("wrong"), "1 shown: wrong, sent GET"},
		"a response":             {404, scenario.Broken{Rank: scenario.Response, Root: causeOf("root"), Message: "wrong"}, "2 shown: wrong, sent GET, root"},
	} {
		runner := runnerOf(t)
		runner.Observe = func(scenario.Interaction, string, judge.Asked) []scenario.Failure { return nil }
		runner.Header = http.Header{"Key": {"secret"}}
		test := scenario.Test{Name: "a test", Shows: promisesOf("first", "shown"), Run: executing(step("GET", "/pots/7", scenario.Expectation{}), verify(func() error { return c.err }))}
		outcome := runner.Run(t.Context(), plan.Test{Test: test}, Target{URL: "http://pots.example", Transport: &carried{status: c.status}})
		if len(outcome.Failures) != 1 {
			t.Fatalf("%s: %+v", name, outcome)
		}
		failure := outcome.Failures[0]
		got := fmt.Sprintf("%d %s: %s, sent %s", failure.Rank, report.CauseText(failure.Cause), failure.Message, failure.Sent.Method)
		if failure.Root != (scenario.Cause{}) {
			got += ", " + report.CauseText(failure.Root)
		}
		wantKey := "$KEY"
		if failure.Sent.Method == "" {
			wantKey = ""
		}
		if key := failure.Sent.RequestHeader.Get("Key"); key != wantKey || failure.Test != "a test" {
			t.Errorf("%s: the key is %q in %q", name, key, failure.Test)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// What a response is judged by is what its step expects, or says that is wrong, and the first promise of the test.
func TestAsked(t *testing.T) {
	t.Parallel()
	wrong := step("GET", "/pots/7", scenario.Expectation{Wrong: &scenario.Violation{Kind: scenario.Conflict}})
	for name, c := range map[string]struct {
		step  part
		shows []scenario.Promise
		want  string
	}{
		"nothing":  {step("GET", "/pots/7", scenario.Expectation{}), nil, " a test"},
		"expected": {step("GET", "/pots/7", scenario.Refused(scenario.UnknownResource)), promisesOf("first", "shown"), "unknown resource first"},
		"wrong":    {wrong, promisesOf("first", "shown"), "conflict first"},
	} {
		runner := runnerOf(t)
		got := ""
		runner.Observe = func(_ scenario.Interaction, _ string, asked judge.Asked) []scenario.Failure {
			if asked.Violation != nil {
				got = string(asked.Violation.Kind)
			}
			got += " " + report.Name(asked.Promise)
			return nil
		}
		test := scenario.Test{Name: "a test", Shows: c.shows, Run: executing(c.step)}
		runner.Run(t.Context(), plan.Test{Test: test}, Target{URL: "http://pots.example", Transport: &carried{status: 404}})
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
