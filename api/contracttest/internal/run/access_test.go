package run

import (
	_ "embed"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/judge"
	"github.com/plantstore/plantstore/api/contracttest/internal/plan"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
	"github.com/plantstore/plantstore/internal/testing/must"
)

//go:embed testdata/closed.yaml
var closedDocument string

// carried records the credentials of the last request, and responds with a status.
type carried struct {
	status int
	got    string
	sent   int
}

func (c *carried) RoundTrip(r *http.Request) (*http.Response, error) {
	c.got = r.URL.RawQuery
	c.sent++
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		c.got += " " + name + ": " + strings.Join(r.Header[name], ", ")
	}
	c.got = strings.TrimSpace(c.got)
	return &http.Response{StatusCode: c.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(""))}, nil
}

// closedRunner runs tests of closedDocument, or of one that says nothing of security.
func closedRunner(t *testing.T, saysNothing bool) *Runner {
	t.Helper()
	text := closedDocument
	if saysNothing {
		text = strings.Replace(text, "security: [{one: [], other: []}, {token: []}]\n", "", 1)
	}
	read, err := document.Parse([]byte(text))
	must.NoError(t, err)
	of := judge.New(read, nil, judge.Settings{})
	return &Runner{
		Plan:    plan.New(of, plan.Settings{}),
		Observe: func(scenario.Interaction, string, judge.Asked) []scenario.Failure { return nil },
	}
}

// A request has the credentials that its test is about, and no others; one of another test has those of the first set of
// schemes that there are some for.
func TestAccess(t *testing.T) {
	t.Parallel()
	all := scenario.Credentials{"one": "1", "other": "2", "query": "a&b", "token": "t", "basic": "u:p"}
	const notTested = "not tested: "
	for name, c := range map[string]struct {
		path        string
		credentials scenario.Credentials
		header      http.Header
		access      scenario.Access
		want        string
	}{
		"usual":                         {"/both", all, nil, scenario.Access{}, "Cookie: other=2 X-One: 1"},
		"usual, the second set":         {"/both", scenario.Credentials{"one": "1", "token": "t"}, nil, scenario.Access{}, "Authorization: Bearer t"},
		"usual, basic":                  {"/basic", all, nil, scenario.Access{}, "Authorization: Basic dTpw"},
		"usual, in the query":           {"/query", all, nil, scenario.Access{}, "a+key=a%26b"},
		"usual, of an open operation":   {"/open", all, nil, scenario.Access{}, ""},
		"usual, either":                 {"/either", all, nil, scenario.Access{}, "Authorization: Bearer t"},
		"usual, no operation":           {"/nowhere", scenario.Credentials{"one": "1", "token": "t"}, nil, scenario.Access{}, "Authorization: Bearer t X-One: 1"},
		"usual, none are given":         {"/both", nil, nil, scenario.Access{}, ""},
		"none":                          {"/both", all, nil, scenario.Only(), ""},
		"chosen":                        {"/both", all, nil, scenario.Only("token"), "Authorization: Bearer t"},
		"chosen, none are given":        {"/both", nil, nil, scenario.Only("token"), notTested + string(noCredentials)},
		"chosen, one of two is missing": {"/both", scenario.Credentials{"one": "1"}, nil, scenario.Only("one", "other"), notTested + string(noCredentials)},
		"without a scope":               {"/both", all, nil, scenario.Without("write"), "Authorization: Bearer reader"},
		"without another scope":         {"/both", all, nil, scenario.Without("read"), notTested + string(noCredentials)},
		"header":                        {"/both", nil, http.Header{"Authorization": {"Bearer h"}, "X-Other": {"x"}}, scenario.Access{}, "Authorization: Bearer h X-Other: x"},
		"header, byte for byte":         {"/both", nil, http.Header{"Authorization": {"bEARER  h="}}, scenario.Only("token"), "Authorization: bEARER  h="},
		"header, of another scheme":     {"/both", nil, http.Header{"Authorization": {"Basic dTpw"}}, scenario.Only("token"), notTested + string(noCredentials)},
		"header, of no scheme, usual":   {"/both", nil, http.Header{"Authorization": {"Token t"}}, scenario.Access{}, "Authorization: Token t"},
		"header, none":                  {"/both", nil, http.Header{"Authorization": {"Bearer h"}, "X-Other": {"x"}}, scenario.Only(), "X-Other: x"},
		"header, chosen":                {"/both", nil, http.Header{"Authorization": {"Bearer h"}}, scenario.Only("token"), "Authorization: Bearer h"},
		"header, basic":                 {"/basic", nil, http.Header{"Authorization": {"Basic dTpw"}}, scenario.Only("basic"), "Authorization: Basic dTpw"},
		"header, a key":                 {"/both", nil, http.Header{"X-One": {"1"}, "Cookie": {"other=2; a=b"}}, scenario.Only("one", "other"), "Cookie: other=2 X-One: 1"},
		"header, another cookie":        {"/both", nil, http.Header{"X-One": {"1"}, "Cookie": {"a=b"}}, scenario.Only("one", "other"), notTested + string(noCredentials)},
		"header, less than the target":  {"/both", scenario.Credentials{"token": "t"}, http.Header{"Authorization": {"Bearer h"}}, scenario.Access{}, "Authorization: Bearer t"},
		"header, beside the cookies":    {"/both", all, http.Header{"Cookie": {"other=3; a=b"}}, scenario.Access{}, "Cookie: other=2; a=b X-One: 1"},
		"header, open without a word":   {"/both", nil, http.Header{"Authorization": {"Bearer h"}}, scenario.Only(), notTested + string(unsaidSecurity)},
		"target, open without a word":   {"/both", all, nil, scenario.Only(), ""},
	} {
		runner := closedRunner(t, strings.HasSuffix(name, "without a word"))
		runner.Header = c.header
		service := &carried{status: http.StatusOK}
		test := testOf(sending(scenario.Request{Method: "GET", Path: c.path, Header: http.Header{}, Access: c.access}))
		target := Target{
			URL: "http://closed.example", Transport: service, Credentials: c.credentials,
			Without: map[string]scenario.Credentials{"write": {"token": "reader"}},
		}
		got := ""
		if outcome := runner.Run(t.Context(), plan.Test{Test: test}, target); outcome.IsKept() {
			got = service.got
		} else {
			got = said(outcome)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A service that asks for credentials in vain is asked once. That it asks at paths that it does not have shows nothing.
func TestAsksInVain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path        string
		status      int
		credentials scenario.Credentials
		access      scenario.Access
		want        string // twice
		sent        int
	}{
		"401":                       {"/both", 401, nil, scenario.Access{}, "not tested: " + string(noCredentials), 1},
		"403":                       {"/both", 403, nil, scenario.Access{}, "not tested: " + string(noCredentials), 1},
		"404":                       {"/both", 404, nil, scenario.Access{}, "kept", 2},
		"with credentials":          {"/both", 401, scenario.Credentials{"token": "t"}, scenario.Access{}, "kept", 2},
		"in a test of credentials":  {"/both", 401, nil, scenario.Only(), "kept", 2},
		"of an open operation":      {"/open", 401, nil, scenario.Access{}, "kept", 2},
		"at no path":                {"/nowhere", 401, nil, scenario.Access{}, "not tested: " + string(noCredentials), 2},
		"at no path, with any":      {"/nowhere", 401, scenario.Credentials{"query": "q"}, scenario.Access{}, "kept", 2},
		"at no path, not found":     {"/nowhere", 404, nil, scenario.Access{}, "kept", 2},
		"of what is not written":    {"/open", 501, nil, scenario.Access{}, "not tested: open is not written yet: it responds with 501", 2},
		"of what need not be there": {"/extra", 501, nil, scenario.Access{}, "not tested: " + string(notHere), 2},
		"of what cannot be written": {"/nowhere", 501, nil, scenario.Access{}, "kept", 2},
	} {
		runner := closedRunner(t, false)
		if c.path == "/open" {
			runner.NotWritten = http.StatusNotImplemented
		}
		service := &carried{status: c.status}
		for range 2 {
			test := testOf(sending(scenario.Request{Method: "GET", Path: c.path, Header: http.Header{}, Access: c.access}))
			outcome := runner.Run(t.Context(), plan.Test{Test: test}, Target{URL: "http://closed.example", Transport: service, Credentials: c.credentials})
			if got := said(outcome); got != c.want {
				t.Errorf("%s: %q, want %q", name, got, c.want)
			}
		}
		if service.sent != c.sent {
			t.Errorf("%s: %d requests were sent, want %d", name, service.sent, c.sent)
		}
		// What one target has asked for in vain, another one may have.
		test := testOf(step("GET", "/both", scenario.Expectation{}))
		runner.Run(t.Context(), plan.Test{Test: test}, Target{URL: "http://closed.example", Transport: service, Credentials: scenario.Credentials{"token": "t"}})
		if service.sent != c.sent+1 {
			t.Errorf("%s: with credentials %d requests were sent, want %d", name, service.sent, c.sent+1)
		}
	}
}
