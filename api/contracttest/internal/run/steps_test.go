package run

import (
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
	instead := step("GET", "/pots/6", scenario.Accepted)
	instead.Instead = func() []scenario.Step { return []scenario.Step{step("GET", "/pots/7", scenario.Expectation{})} }
	instead.Then = func(got scenario.Interaction) []scenario.Step {
		return []scenario.Step{step("GET", "/pots/after"+strings.TrimPrefix(got.Path, "/pots/"), scenario.Expectation{})}
	}
	outcome, sent := outcomeOf(t, always(404, ""), follows, optional, instead, step("GET", "/pots/8", scenario.Expectation{}))
	var paths []string
	for _, line := range sent {
		paths = append(paths, strings.TrimSuffix(strings.TrimPrefix(line, "GET /pots/"), " "))
	}
	if want := []string{"1", "2", "3", "4", "5", "6", "7", "after7", "8"}; !outcome.IsKept() || !slices.Equal(paths, want) {
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
