package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/plantstore/plantstore/api/contracttest/internal/draft"
	"github.com/plantstore/plantstore/api/contracttest/internal/judge"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// session is one run of a test.
type session struct {
	*Runner
	ctx    context.Context
	target Target
	test   scenario.Test
	draft  *draft.Draft

	// What the step that is executed expects.
	asked judge.Asked
	// It may be refused because there are too many requests.
	mayBeLimited bool
	// The last request, which a failure shows as what was sent. Where other requests only explain it, this one is put
	// back: see succeedsInstead.
	last scenario.Interaction
	// Of responses that are not as the document says. Those of steps that are only tried are taken out again: see
	// optional, succeedsInstead and confirm.
	failures []scenario.Failure
	// What must be true before a failure counts; nil: nothing.
	doubt func() []scenario.Step
	// How many steps were executed.
	executed int
	// The test must not take long.
	isRehearsal bool
}

// mostSteps is how many steps a test may have. A service may lead in a circle.
const mostSteps = 200_000

// execute executes steps, and those that follow from them, until one of them ends the test. It has a stack
// of its own and does not call itself, because a list may have thousands of pages.
func (s *session) execute(steps []scenario.Step) error {
	// The next one is the last, so that those that follow from it are put on top.
	waiting := reversed(nil, steps)
	for ; s.executed < mostSteps; s.executed++ {
		if len(waiting) == 0 {
			return nil
		}
		last := len(waiting) - 1
		step := waiting[last]
		more, err := s.step(step)
		if err != nil {
			return err
		}
		waiting = reversed(waiting[:last], more)
	}
	return scenario.Untried("it does not come to an end")
}

// Execute executes steps for a trial.
func (s *session) Execute(steps ...scenario.Step) (scenario.Interaction, error) {
	err := s.execute(steps)
	return s.last, err
}

// Beside returns a session of what runs at the same time, so that neither side sees the last response of the other. Its
// function says what was wrong with responses of that session.
func (s *session) Beside() (scenario.Steps, func() error) {
	other := *s
	other.failures = nil
	return &other, other.wrongBeside
}

// wrongBeside is what was wrong with responses of a session beside another one, as an error, or nothing.
func (s *session) wrongBeside() error {
	if len(s.failures) == 0 {
		return nil
	}
	first := s.failures[0]
	return scenario.Broken{
		Cause:   first.Cause,
		Rank:    first.Rank,
		Message: fmt.Sprint("meanwhile: ", first.Message),
	}
}

// reversed puts steps on others, the first one on top.
func reversed(waiting, steps []scenario.Step) []scenario.Step {
	for _, step := range slices.Backward(steps) {
		waiting = append(waiting, step)
	}
	return waiting
}

// step executes a step and returns those that follow from it.
func (s *session) step(step scenario.Step) ([]scenario.Step, error) {
	switch {
	case step.Optional:
		return s.optional(step)
	case step.IsExpanded():
		return s.draft.Expand(step), nil
	}
	judgedBefore := s.failures
	if step.Send != nil {
		s.asked = judge.Asked{
			Violation: cmp.Or(step.Expect.Violation, step.Expect.Wrong),
			Promise:   s.firstPromise(),
		}
		s.mayBeLimited = step.MayBeLimited
		if err := s.request(step); err != nil {
			return nil, err
		}
		s.considerDoubt(step)
	}
	got := s.last
	if s.succeedsInstead(step, got, judgedBefore) {
		return then(step, s.last), nil
	}
	if err := s.meets(step, got); err != nil {
		return nil, s.named(got, err)
	}
	return then(step, got), nil
}

// considerDoubt remembers what must be true before a failure counts.
func (s *session) considerDoubt(step scenario.Step) {
	if step.Doubt != nil {
		s.doubt = step.Doubt
	}
}

// then are the steps that follow from a response.
func then(step scenario.Step, got scenario.Interaction) []scenario.Step {
	if step.Then == nil {
		return nil
	}
	return step.Then(got)
}

// optional executes a step that may fail. If it does, what is wrong with its response does not count either.
func (s *session) optional(step scenario.Step) ([]scenario.Step, error) {
	failures := s.failures
	follows := step.Then
	step.Optional = false
	step.Then = nil
	err := s.execute([]scenario.Step{step})
	s.doubt = nil
	if err != nil {
		s.failures = failures
		if step.Create != nil {
			step.Create.Missing = true
		}
	}
	step.Then = follows
	return then(step, s.last), nil
}

// succeedsInstead executes the steps in place of a request that was refused. If they succeed, what was
// wrong with the response does not count.
func (s *session) succeedsInstead(step scenario.Step, got scenario.Interaction, judgedBefore []scenario.Failure) bool {
	if step.Instead == nil || got.Status < http.StatusBadRequest {
		return false
	}
	judged := s.failures
	if err := s.execute(step.Instead()); err != nil {
		s.failures = judged
		s.last = got
		return false
	}
	s.failures = judgedBefore
	return true
}

// meets returns an error unless a response is what a step expects.
func (s *session) meets(step scenario.Step, got scenario.Interaction) error {
	var wrong error
	switch expected := step.Expect; {
	case expected.Success:
		wrong = s.Plan.Accepted(got, scenario.Promise{})
	case expected.Violation != nil:
		wrong = s.judge().Refused(got, *expected.Violation, s.firstPromise())
	}
	if wrong == nil && step.Check != nil {
		return step.Check(got)
	}
	return wrong
}

// named names the cause if what a create has made does not exist: no test that begins with it can be right.
// Where a GET has found such a thing, something else is not found, or the service does not have the operation.
func (s *session) named(got scenario.Interaction, wrong error) error {
	broken, is := errors.AsType[scenario.Broken](wrong)
	creator := s.creatorOf(got.Path)
	_, wasFound := s.found.Load(creator)
	if is && got.Status == http.StatusNotFound && creator != "" && !wasFound {
		broken.Cause = scenario.Cause{Kind: scenario.CreatedIsNotFound, Operation: creator}
		return broken
	}
	return wrong
}

// firstPromise is what a refusal is about.
func (s *session) firstPromise() scenario.Promise {
	if len(s.test.Shows) == 0 {
		return s.test.Promise()
	}
	return s.test.Shows[0]
}

// request sends the request of a step, while other steps run, and judges the response.
func (s *session) request(step scenario.Step) error {
	request, err := step.Send()
	if err != nil {
		return err
	}
	ended := s.meanwhile(step.Meanwhile)
	err = s.sendWhenAllowed(request)
	return cmp.Or(err, <-ended)
}

// meanwhile runs steps at the same time. What is wrong with their responses is an error. The other steps
// have a session of their own, so that neither side sees the last response of the other.
func (s *session) meanwhile(steps []scenario.Step) <-chan error {
	ended := make(chan error, 1)
	if len(steps) == 0 { // as of nearly all requests
		close(ended)
		return ended
	}
	other, wrong := s.Beside()
	go func() {
		_, err := other.Execute(steps...)
		if err == nil {
			err = wrong()
		}
		ended <- err
	}()
	return ended
}
