package run

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/plantstore/plantstore/api/contracttest/internal/plan"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// A test of random bodies is one test, however many bodies it draws: each cause is told once, with the
// smallest body that shows it.

const (
	// mostShrinks is how often a body that fails is made smaller.
	mostShrinks = 100
	// mostShrunk is for how many causes that is done.
	mostShrunk = 3
)

// drawnRun runs a test with bodies that are drawn.
type drawnRun struct {
	*Runner
	ctx    context.Context
	test   plan.Test
	target Target

	told     map[scenario.Cause]bool
	failures []scenario.Failure
}

// runDrawn runs a test for each of its draws, and tells each cause once.
func (r *Runner) runDrawn(ctx context.Context, test plan.Test, target Target) scenario.Outcome {
	d := &drawnRun{
		Runner: r,
		ctx:    ctx,
		test:   test,
		target: target,
		told:   map[scenario.Cause]bool{},
	}
	random := rand.New(rand.NewPCG(r.Plan.Seed, test.Number))
	for range test.Draws {
		draws := values.NewDraws(random)
		outcome := d.attempt(draws)
		if outcome.Untried != "" && len(d.failures) == 0 {
			return outcome
		}
		for _, failure := range outcome.Failures {
			if isSilent := d.tell(failure, draws); isSilent {
				return scenario.Outcome{Failures: d.failures}
			}
		}
	}
	return scenario.Outcome{Failures: d.failures}
}

// attempt runs the test with the body of one draw.
func (d *drawnRun) attempt(draws *values.Draws) scenario.Outcome {
	return d.session(d.ctx, d.test.Drawn(draws), d.target).run()
}

// tell adds a failure, shrunk, if it is the first of its cause. It reports whether there was no
// response: waiting for none takes long.
func (d *drawnRun) tell(failure scenario.Failure, draws *values.Draws) (isSilent bool) {
	if d.told[failure.Cause] {
		return false
	}
	d.told[failure.Cause] = true
	isSilent = failure.Sent.Status == 0
	if !isSilent && len(d.told) <= mostShrunk {
		failure = d.shrink(failure, draws)
	}
	d.failures = append(d.failures, failure)
	return isSilent
}

// shrink looks for a smaller body that fails for the same cause.
func (d *drawnRun) shrink(failure scenario.Failure, draws *values.Draws) scenario.Failure {
	values.Shrink(draws.Made, mostShrinks, func(again []uint64) bool {
		failures := d.attempt(values.Again(again)).Failures
		i := slices.IndexFunc(failures, func(other scenario.Failure) bool {
			return other.Cause == failure.Cause
		})
		if i < 0 {
			return false
		}
		failure = failures[i]
		return true
	})
	return failure
}
