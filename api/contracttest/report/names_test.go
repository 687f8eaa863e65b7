package report

import (
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Baselines have ids: those of promises and causes stay what they are, whatever their sentences become.
func TestIDs(t *testing.T) {
	t.Parallel()
	promised := scenario.Promise{Operation: "createPot", Kind: scenario.BodyKeyword, Place: "/color", Keyword: "maxLength", Duty: scenario.MustRefuse}
	accepted := scenario.Cause{Kind: scenario.Accepts, In: "body", Component: "Pot", Place: "/color", Keyword: "nullable"}
	for want, got := range map[string]string{
		"cbe0ef2a": promised.ID(),
		"2cd2a615": scenario.Effect("listPots", "limit").ID(),
		"a502d2b9": accepted.ID(),
		"358849db": scenario.Cause{Kind: scenario.Accepts, Keyword: "nullable"}.ID(),
		"e99221da": scenario.Cause{Kind: scenario.Crashes, Operation: "createPot", Status: 500}.ID(),
	} {
		if got != want {
			t.Errorf("an id is %s, want %s", got, want)
		}
	}
	if broken := (scenario.Cause{Kind: scenario.BrokenPromise, Promise: promised}); broken.ID() != promised.ID() {
		t.Errorf("a promise has the id %s, and %s if it is broken", promised.ID(), broken.ID())
	}
}

// Each kind has a sentence, in which nothing is left to be filled in.
func TestSentences(t *testing.T) {
	t.Parallel()
	for kind := range plainNames {
		check(t, string(kind), Name(scenario.Promise{Operation: "createPot", Kind: kind, Place: "/color", Duty: scenario.MustRefuse}))
	}
	for kind := range sequences {
		promise := scenario.Promise{Operation: "createPot", Kind: kind, Place: "getPot"}
		check(t, string(kind), Name(promise))
		wrong := CauseText(scenario.Cause{Kind: scenario.BrokenPromise, Promise: promise})
		check(t, string(kind), wrong)
		if wrong == Name(promise) {
			t.Errorf("what is wrong if %s is broken is told as what is promised", kind)
		}
	}
	for kind := range plainCauses {
		check(t, string(kind), CauseText(scenario.Cause{
			Kind: kind, Operation: "createPot", Place: "/color", Keyword: "type", Violation: scenario.Conflict, Status: 500, Value: "a",
		}))
	}
}

// check fails if a sentence lacks something.
func check(t *testing.T, kind, sentence string) {
	t.Helper()
	for _, left := range []string{"PLACE", "DUTY", "OPERATION", "STATUS", "VALUE", "VIOLATION", "KEYWORD", "TEXT", "  "} {
		if sentence == "" || strings.Contains(sentence, left) {
			t.Errorf("the sentence of %s is %q", kind, sentence)
		}
	}
}
