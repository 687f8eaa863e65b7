package run

import (
	"net/http"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/plan"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// A draw that cannot be tried hides no failure of those before it.
func TestUntriedDraw(t *testing.T) {
	t.Parallel()
	draws := 0
	test := plan.Test{Draws: 2, Drawn: func(*values.Draws) scenario.Test {
		draws++
		steps := []scenario.Step{step("GET", "/pots/7", scenario.Accepted)}
		if draws > 1 {
			steps = fails(scenario.Untried("no body can be drawn"))()
		}
		return scenario.Test{Name: "a test", Steps: func() []scenario.Step { return steps }}
	}}
	target := &recorded{service: always(http.StatusNotFound, "")}
	outcome := runnerOf(t).Run(t.Context(), test, Target{URL: "http://pots.example", Transport: target})
	if len(outcome.Failures) != 1 || draws != 2 {
		t.Errorf("%+v after %d draws", outcome, draws)
	}
}
