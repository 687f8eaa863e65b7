package run

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/judge"
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
		steps := []part{step("GET", "/pots/7", scenario.Accepted)}
		if draws > 1 {
			steps = []part{verify(func() error { return scenario.Untried("no body can be drawn") })}
		}
		return testOf(steps...)
	}}
	target := &recorded{service: always(http.StatusNotFound, "")}
	outcome := runnerOf(t).Run(t.Context(), test, Target{URL: "http://pots.example", Transport: target})
	if len(outcome.Failures) != 1 || draws != 2 {
		t.Errorf("%+v after %d draws", outcome, draws)
	}
}

// Each cause of a test of draws is told once, the first ones with a body that was made smaller, and a service that does
// not respond is not asked again.
func TestDraws(t *testing.T) {
	t.Parallel()
	drawn := func(checked func(*values.Draws) error) plan.Test {
		return plan.Test{Draws: 20, Test: scenario.Test{Name: "a test"}, Drawn: func(draws *values.Draws) scenario.Test {
			return testOf(step("GET", "/pots/7", scenario.Expectation{}), verify(func() error { return checked(draws) }))
		}}
	}
	target := Target{URL: "http://pots.example", Transport: &carried{status: 404}}
	runner := runnerOf(t)
	runner.Observe = func(scenario.Interaction, string, judge.Asked) []scenario.Failure { return nil }
	outcome := runner.Run(t.Context(), drawn(func(draws *values.Draws) error {
		heads := 0
		for range 10 {
			if draws.Coin() {
				heads++
			}
		}
		if heads < 2 {
			return nil
		}
		return scenario.BrokenBy(causeOf("heads"), "%d heads", heads)
	}), target)
	if len(outcome.Failures) != 1 || outcome.Failures[0].Message != "2 heads" {
		t.Errorf("it is told that %+v", outcome.Failures)
	}
	attempts := 0
	outcome = runner.Run(t.Context(), drawn(func(draws *values.Draws) error {
		attempts++
		draws.Coin()
		return scenario.BrokenBy(causeOf(fmt.Sprintf("cause %d", attempts)), "of attempt %d", attempts)
	}), target)
	const smaller = 4 // one number can be made smaller in so many ways
	if len(outcome.Failures) != 20 || attempts != 20+mostShrunk*smaller {
		t.Errorf("after %d attempts with a cause of their own, %d failures are told", attempts, len(outcome.Failures))
	}
	silent := &failing{with: errors.New("no response"), times: 1000}
	drawing := plan.Test{Draws: 20, Drawn: func(draws *values.Draws) scenario.Test {
		draws.Coin()
		return testOf(step("GET", "/pots/7", scenario.Expectation{}))
	}}
	outcome = runner.Run(t.Context(), drawing, Target{URL: "http://pots.example", Transport: silent})
	if len(outcome.Failures) != 1 || silent.sent != 1 {
		t.Errorf("%d requests were sent to a service that does not respond: %+v", silent.sent, outcome.Failures)
	}
	outcome = runner.Run(t.Context(), drawn(func(*values.Draws) error { return scenario.Untried("why") }), target)
	if outcome.Untried != "why" || len(outcome.Failures) > 0 {
		t.Errorf("what cannot be tried is %+v", outcome)
	}
}
