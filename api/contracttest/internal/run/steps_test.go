package run

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Steps run in order, those that follow from one before those that come next, also beside others.
func TestOrder(t *testing.T) {
	t.Parallel()
	follows := step("GET", "/pots/1", scenario.Expectation{})
	follows.Then = func(scenario.Interaction) []scenario.Step {
		return []scenario.Step{step("GET", "/pots/2", scenario.Expectation{}), step("GET", "/pots/3", scenario.Expectation{})}
	}
	optional := step("GET", "/pots/4", scenario.Accepted)
	optional.Optional = true
	optional.Then = func(scenario.Interaction) []scenario.Step {
		return []scenario.Step{step("GET", "/pots/5", scenario.Expectation{})}
	}
	allowed := step("GET", "/pots/9", scenario.Expectation{})
	allowed.Optional = true
	allowed.Then = func(scenario.Interaction) []scenario.Step {
		return []scenario.Step{step("GET", "/pots/10", scenario.Expectation{})}
	}
	instead := step("GET", "/pots/6", scenario.Accepted)
	instead.Instead = func() []scenario.Step { return []scenario.Step{step("GET", "/pots/7", scenario.Expectation{})} }
	instead.Then = func(got scenario.Interaction) []scenario.Step {
		return []scenario.Step{step("GET", "/pots/after"+strings.TrimPrefix(got.Path, "/pots/"), scenario.Expectation{})}
	}
	outcome, sent := outcomeOf(t, always(404, ""), follows, optional, instead, step("GET", "/pots/8", scenario.Expectation{}), allowed)
	var paths []string
	for _, line := range sent {
		paths = append(paths, strings.TrimSuffix(strings.TrimPrefix(line, "GET /pots/"), " "))
	}
	if want := []string{"1", "2", "3", "4", "5", "6", "7", "after7", "8", "9", "10"}; !outcome.IsKept() || !slices.Equal(paths, want) {
		t.Errorf("%s after %q, want %q", said(outcome), paths, want)
	}
}

// A thing that could not be created is missing, if that is optional.
func TestMissing(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]bool{201: false, 403: true} {
		thing := &scenario.Thing{Creator: "createPot", ID: int64(7), Sent: map[string]any{}}
		outcome, _ := outcomeOf(t, always(status, `{"id":7}`), scenario.Step{Create: thing, Optional: true})
		if !outcome.IsKept() || thing.Missing != want {
			t.Errorf("after %d it is missing: %v, %s", status, thing.Missing, said(outcome))
		}
	}
}

// A request that cannot be made ends the test, and is not sent.
func TestCannotSend(t *testing.T) {
	t.Parallel()
	never := scenario.Step{Send: func() (scenario.Request, error) { return scenario.Request{}, scenario.Untried("there is none") }}
	wrong := step("GET", "/pots/7", scenario.Expectation{})
	wrong.Send = func() (scenario.Request, error) {
		return scenario.Request{Method: "no method", Path: "/", Header: http.Header{}}, nil
	}
	for want, first := range map[string]scenario.Step{"untried: there is none": never, "broken: net/http: invalid method \"no method\"": wrong} {
		outcome, sent := outcomeOf(t, always(404, ""), first, step("GET", "/pots/7", scenario.Expectation{}))
		if got := said(outcome); got != want || len(sent) > 0 {
			t.Errorf("it is %s after %q, want %s", got, sent, want)
		}
	}
}

// What comes meanwhile is sent, also if the request of its step fails, and neither side sees the last response of the
// other.
func TestMeanwhile(t *testing.T) {
	t.Parallel()
	var last []string
	check := func(got scenario.Interaction) error {
		last = append(last, got.Path)
		return nil
	}
	beside := step("GET", "/pots/8", scenario.Expectation{})
	beside.Check = check
	failing := step("GET", "/pots/9", scenario.Accepted)
	first := step("GET", "/pots/7", scenario.Expectation{})
	unsent := scenario.Step{Send: func() (scenario.Request, error) {
		return scenario.Request{Method: "no method", Path: "/", Header: http.Header{}}, nil
	}}
	outcome, _ := outcomeOf(t, always(202, ""), first, scenario.Step{Send: first.Send, Meanwhile: []scenario.Step{scenario.Verify(func() error { return nil })}})
	if len(outcome.Failures) != 2 {
		t.Errorf("what was wrong before comes again: %+v", outcome.Failures)
	}
	for name, c := range map[string]struct {
		status    int // of all but the first request
		first     scenario.Step
		meanwhile []scenario.Step
		want      string
	}{
		"right":                      {200, first, []scenario.Step{beside}, "kept"},
		"wrong beside":               {404, first, []scenario.Step{beside, failing}, "broken: the request is valid, but was refused"},
		"wrong response":             {202, first, []scenario.Step{beside}, "broken: meanwhile: the status is 202, but status: responses: the document does not list 202 for getPot"},
		"wrong response and refused": {500, first, []scenario.Step{beside, failing}, "broken: the request is valid, but was refused"},
		"wrong on both sides":        {404, unsent, []scenario.Step{beside, failing}, "broken: net/http: invalid method"},
	} {
		last = nil
		c.first.Meanwhile = c.meanwhile
		outcome, sent := outcomeOf(t, func(r *http.Request, _ string) (int, string) {
			if r.URL.Path == "/pots/7" {
				return http.StatusOK, `{"id":7}`
			}
			return c.status, `{"id":7}`
		}, c.first, scenario.Step{Check: check})
		isSeen := slices.Contains(last, "/pots/8") && (c.want != "kept" || slices.Contains(last, "/pots/7"))
		mostSent := 1 + len(c.meanwhile)
		if strings.Contains(c.want, "invalid method") {
			mostSent--
		}
		if got := said(outcome); !strings.HasPrefix(got, c.want) || !isSeen || len(sent) != mostSent {
			t.Errorf("%s: %s, want %s; after %q the last ones are %q", name, got, c.want, sent, last)
		}
	}
}
