package run

import (
	"net/http"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/judge"
	"github.com/plantstore/plantstore/api/contracttest/internal/plan"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// A run ends where a change has ended what others need, which requests show that were accepted before.
func TestEnded(t *testing.T) {
	t.Parallel()
	const text = `
openapi: 3.0.3
info: {title: Parts, version: "1"}
security: [{token: []}]
paths:
  /a: {get: {operationId: a, responses: &any {default: {description: Any.}}}, post: {operationId: change, responses: *any}}
  /a/open: {get: {operationId: openPart, security: [], responses: *any}}
  /b: {get: {operationId: b, responses: *any}}
  /c: {get: {operationId: c, responses: *any}}
  /open: {get: {operationId: open, security: [], responses: *any}}
components: {securitySchemes: {token: {type: http, scheme: bearer}}}
`
	read, err := document.Parse([]byte(text))
	must.NoError(t, err)
	const credentials = "after POST /a the service no longer accepted the credentials"
	const breaks = "broken: after it, GET /a and all others that were accepted before fail"
	const advice = ", and nothing more was tested: exclude change (--exclude)"
	for name, c := range map[string]struct {
		requests    string // a space between; * sets what follows
		after       string // path=status, after the change
		want, ended string // of the last request, and of the run
		sent        int
	}{
		"the credentials end":            {"GET/a POST/a GET/b", "/a=401 /b=401", "not tested: " + credentials, credentials + advice + ", or give credentials of another user", 4},
		"nothing is sent afterwards":     {"GET/a POST/a GET/b GET/a", "/a=401 /b=401", "not tested: " + credentials, credentials + advice + ", or give credentials of another user", 4},
		"one part refuses them":          {"GET/a POST/a GET/b", "/b=401", "kept", "", 4},
		"nothing has changed":            {"GET/a GET/b", "/a=401 /b=401", "kept", "", 2},
		"what is open shows nothing":     {"GET/open POST/a GET/b", "/open=401 /b=401", "kept", "", 3},
		"what is closed counts more":     {"GET/a/open GET/a POST/a GET/b", "/a=401 /b=401", "not tested: " + credentials, credentials + advice + ", or give credentials of another user", 5},
		"it is asked once of a change":   {"GET/a POST/a GET/b GET/b", "/b=401", "kept", "", 5},
		"it is asked after each change":  {"GET/a POST/a GET/b POST/a GET/b", "/b=401", "kept", "", 7},
		"a change that is refused":       {"GET/a POST/a GET/b", "/b=401 change=400", "kept", "", 3},
		"the service breaks":             {"GET/a GET/b POST/a GET/c", "/a=500 /b=500 /c=500", breaks, "after POST /a every request failed" + advice, 6},
		"another part does not fail":     {"GET/a GET/b POST/a GET/c", "/a=500 /c=500", "kept", "", 6},
		"one part alone shows nothing":   {"GET/a POST/a GET/a", "/a=500", "kept", "", 3},
		"the service is closed a while":  {"GET/a GET/b POST/a GET/c", "/a=503 /b=503 /c=503", "kept", "", 4},
		"wrong credentials show nothing": {"GET/a POST/a GET/b!", "/a=401 /b=401", "kept", "", 3},
		"no path of the document":        {"GET/a POST/a GET/none", "/a=401 /none=401", "kept", "", 3},
	} {
		runner := &Runner{
			Plan:    plan.New(judge.New(read, nil, judge.Settings{}), plan.Settings{}),
			Observe: func(scenario.Interaction, string, judge.Asked) []scenario.Failure { return nil },
		}
		after := map[string]int{}
		for pair := range strings.FieldsSeq(c.after) {
			path, status, _ := strings.Cut(pair, "=")
			after[path] = map[string]int{"400": 400, "401": 401, "500": 500, "503": 503}[status]
		}
		hasChanged := !strings.Contains(c.requests, "POST")
		target := &recorded{service: func(r *http.Request, _ string) (int, string) {
			if r.Method == http.MethodPost {
				hasChanged = true
				return max(http.StatusOK, after["change"]), ""
			}
			if !hasChanged {
				return http.StatusOK, ""
			}
			return max(http.StatusOK, after[r.URL.Path]), ""
		}}
		got := ""
		for sent := range strings.FieldsSeq(c.requests) {
			sent, isWrong := strings.CutSuffix(sent, "!")
			method, path, _ := strings.Cut(sent, "/")
			request := scenario.Request{Method: method, Path: "/" + path, Header: http.Header{}}
			if isWrong {
				request.Access = scenario.Access{Edit: func(scenario.Given) scenario.Credentials { return scenario.Credentials{"token": "Bearer x"} }}
			}
			outcome := runner.Run(t.Context(), plan.Test{Test: testOf(sending(request))}, Target{
				URL: "http://parts.example", Transport: target, Credentials: scenario.Credentials{"token": "t"},
			})
			got = said(outcome)
		}
		if got != c.want || runner.Ended() != c.ended || len(target.sent) != c.sent {
			t.Errorf("%s: %s after %d requests, %q; want %s after %d, %q", name, got, len(target.sent), runner.Ended(), c.want, c.sent, c.ended)
		}
	}
}

// The credentials of a run are its own if a request has all that were given for some schemes.
func TestIsOwn(t *testing.T) {
	t.Parallel()
	s := closedRunner(t, false).newSession(t.Context(), Target{Credentials: scenario.Credentials{"token": "t", "one": "1"}}, "")
	edited := func(with scenario.Credentials) scenario.Access {
		return scenario.Access{Edit: func(scenario.Given) scenario.Credentials { return with }}
	}
	for name, c := range map[string]struct {
		access scenario.Access
		want   bool
	}{
		"usual":   {scenario.Access{}, true},
		"one":     {scenario.Only("token"), true},
		"none":    {scenario.Only(), false},
		"wrong":   {edited(scenario.Credentials{"token": "Bearer x"}), false},
		"unknown": {edited(scenario.Credentials{"other": "2"}), false},
	} {
		if got := s.isOwn(c.access); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
