package scenario

import (
	"iter"
	"net/url"
	"runtime"
)

// Trial is one run of a test, as *testing.T is in package testing. What a method expects and does not find ends the
// test.
type Trial struct {
	steps  Steps
	failed error
}

// Steps executes steps for a trial.
type Steps interface {
	// Execute executes steps, and returns the last response, or why the test ends.
	Execute(steps ...Step) (Interaction, error)
	// Beside returns what executes steps at the same time. Its function says what was wrong with their responses.
	Beside() (Steps, func() error)
}

// Try runs a test, and returns why it has ended early, or nothing. The test has a goroutine of its own, so that a method
// of the trial can end it.
func Try(steps Steps, test func(*Trial)) error {
	t := &Trial{steps: steps}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		test(t)
	}()
	<-ended
	return t.failed
}

// Check ends the test if there is an error: [Brokenf] or [Untried]. What is wrong is then wrong with the last response.
func (t *Trial) Check(err error) {
	if err != nil {
		t.Run(Step{Check: func(Interaction) error { return err }})
	}
}

// Require ends the test as broken, unless something is so.
func (t *Trial) Require(isSo bool, format string, args ...any) {
	t.Check(Require(isSo, format, args...))
}

// NotTested ends the test without a failure.
func (t *Trial) NotTested(why Untried) { t.Check(why) }

// Run executes steps and returns the last response.
func (t *Trial) Run(steps ...Step) Interaction {
	got, err := t.steps.Execute(steps...)
	if err != nil {
		t.failed = err
		runtime.Goexit()
	}
	return got
}

// Draw gives things identities that no other test uses. It sends nothing.
func (t *Trial) Draw(things ...*Thing) { t.Run(Step{Draw: things}) }

// Create creates things. The responses, and what they have of what was sent, are checked.
func (t *Trial) Create(things ...*Thing) {
	for _, thing := range things {
		t.Run(Step{Create: thing})
	}
}

// CreateIfPossible creates a thing, which is Missing if it is refused.
func (t *Trial) CreateIfPossible(thing *Thing) { t.Run(Step{Create: thing, Optional: true}) }

// Do sends a request in terms of the document.
func (t *Trial) Do(call Call, expect Expectation) Interaction {
	return t.Run(Step{Call: func() Call { return call }, Expect: expect})
}

// Send sends a request as it is.
func (t *Trial) Send(request Request, expect Expectation) Interaction {
	return t.Run(Step{Send: func() (Request, error) { return request, nil }, Expect: expect})
}

// Pages reads the pages of an operation for a query, and those to which Link leads from it.
func (t *Trial) Pages(operation string, query url.Values) iter.Seq[Interaction] {
	return func(yield func(Interaction) bool) {
		t.Run(Step{Walk: &Walk{Operation: operation, Query: query, Visit: func(page Interaction) (enough bool, err error) {
			return !yield(page), nil
		}}})
	}
}

// Together runs functions at the same time, each with a trial of its own. If several end early, the last one counts.
func (t *Trial) Together(functions ...func(*Trial)) {
	last := len(functions) - 1
	endings := make(chan error, last)
	for _, function := range functions[:last] {
		steps, wrong := t.steps.Beside()
		go func() {
			err := Try(steps, function)
			if err == nil {
				err = wrong()
			}
			endings <- err
		}()
	}
	err := Try(t.steps, functions[last])
	for range last {
		if beside := <-endings; err == nil {
			err = beside
		}
	}
	if err != nil {
		t.failed = err
		runtime.Goexit()
	}
}
