// Package run executes tests on a service.
//
// A [Runner] runs one test after the other: it does what the test says (session.go), sends the requests with the
// credentials that they need (send.go, access.go), and returns an
// [scenario.Outcome]. The tests themselves are in package plan, and each response is judged by package
// judge; this package decides when a test has ended, and what that means.
//
// # How a test ends
//
// A test ends with an error, in one of three ways, and [Runner.Run] makes a value of it:
//
//   - No error: the promises are kept, unless a response on the way was not as the document says.
//   - [scenario.NotTested]: the promises could not be tried. It is never a failure of the service.
//   - [scenario.Broken], or any other error: a promise is broken.
//
// What was wrong with responses is collected beside that, because one fault must not hide the others. Two
// things take failures back: a create that succeeds without what is optional, and a doubt that turns out
// to be right, because what the service is for had only been inferred.
//
// # What a service cannot do to a run
//
// It cannot make it wait: a response has seconds, or a minute where it may be a long poll (hangs.go). It cannot fill the memory:
// of a response only [scenario.MostRead] bytes are read. It cannot lead in a circle: a test sends at most so many requests. And
// no failure shows what the credentials were.
package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plantstore/plantstore/api/contracttest/internal/judge"
	"github.com/plantstore/plantstore/api/contracttest/internal/plan"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Target is a service.
type Target struct {
	URL         string
	Transport   http.RoundTripper // nil: [http.DefaultTransport]
	Credentials scenario.Credentials
	// By the scope that they lack.
	Without map[string]scenario.Credentials
}

// Runner runs tests. Several goroutines may use it.
type Runner struct {
	Plan   *plan.Planner
	Header http.Header // sent with every request
	// NotWritten is the status of an operation that is not written yet.
	NotWritten int
	// Observe judges a response, remembers what it shows, and returns what is wrong with it. A failure
	// is the test's; asked is what it expected of the response.
	Observe func(x scenario.Interaction, test string, asked judge.Asked) []scenario.Failure
	// Users send the requests of [scenario.Trial.As].
	Users map[scenario.User]*Runner

	// Timeout is how long a response may take; 0: [DefaultTimeout].
	Timeout time.Duration

	hangs  hangs
	state  serviceState
	closed sync.Map     // operations that have asked for credentials when none were given
	left   atomic.Int64 // see Left
}

// judge is that of the plan: tests and responses are judged by the same document.
func (r *Runner) judge() *judge.Judge { return r.Plan.Judge }

// Run runs a test and returns what it has shown.
func (r *Runner) Run(ctx context.Context, test plan.Test, target Target) scenario.Outcome {
	s := r.newSession(ctx, target, test.Promise().ID())
	s.test = test.Test
	return s.run()
}

// newSession returns a session without a test. The values of its requests are drawn for a name.
func (r *Runner) newSession(ctx context.Context, target Target, name string) *session {
	target.URL = strings.TrimSuffix(target.URL, "/")
	return &session{Runner: r, ctx: ctx, target: target, draft: r.Plan.Draft(name), steps: new(steps)}
}

// run runs a test.
func (s *session) run() scenario.Outcome {
	test := s.test
	ended := scenario.Try(s, test.Run)
	_, isUndecided := errors.AsType[scenario.Undecided](ended)
	sent := s.steps.shown() // before conclude adds those that confirm a failure
	notTested := s.conclude(ended)
	if test.Cleanup != nil {
		// What is not removed breaks no promise.
		_ = scenario.Try(s, test.Cleanup)
	}
	for i, step := range sent {
		sent[i] = step.Hidden(s.headerOf(step.User))
	}
	for i, failure := range s.failures {
		s.failures[i].Sent = failure.Sent.Hidden(s.headerOf(failure.Sent.User))
		s.failures[i].Steps = sent
	}
	if len(s.failures) > 0 {
		notTested = ""
	}
	return scenario.Outcome{Failures: s.failures, NotTested: notTested, IsUndecided: isUndecided}
}

// removeTimeout is how long the removal of what was created may take.
const removeTimeout = 30 * time.Second

// RemoveCreated removes what tests have created and not deleted, as far as the document has a DELETE for it. What the second user has
// created, its own runner removes, which knows that alone and has no further users. What is not removed breaks no promise: Left
// says how much that is. A run that is interrupted does not wait for it.
func (r *Runner) RemoveCreated(ctx context.Context, target Target) {
	defer r.noteLeft()
	switch ended := ctx.Err(); {
	case errors.Is(ended, context.Canceled):
		return
	case ended != nil: // its time is over
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, removeTimeout)
	defer cancel()
	if other := r.Users[scenario.Other]; other != nil {
		other.RemoveCreated(ctx, Target{URL: target.URL, Transport: target.Transport})
	}
	left := r.Plan.World.Created()
	for _, path := range slices.Sorted(maps.Keys(left)) {
		s := r.newSession(ctx, target, path)
		if call, isPossible := s.draft.Removal(left[path]); isPossible {
			_, _ = s.Do(call, scenario.Expectation{})     // what is wrong with a response does not matter here
			if isSilent := s.last.Status == 0; isSilent { // it would be so to all others
				return
			}
		}
	}
}

// noteLeft notes how much is left of what both users have created.
func (r *Runner) noteLeft() {
	left := len(r.Plan.World.Created())
	if other := r.Users[scenario.Other]; other != nil {
		left += len(other.Plan.World.Created())
	}
	r.left.Store(int64(left))
}

// Left says how much of what tests have created RemoveCreated has left at the service, or nothing.
func (r *Runner) Left() string {
	count := r.left.Load()
	if count == 0 {
		return ""
	}
	return fmt.Sprintf("%d of the things that tests have created are left: there was no time to delete them, or the service has not", count)
}

// conclude adds what was noted, and the error with which a test has ended, to the failures, unless a doubt about one of them turns
// out to be right. It returns why the promises could not be tried, or nothing.
func (s *session) conclude(ended error) (notTested string) {
	reason, isNotTested := errors.AsType[scenario.NotTested](ended)
	found := s.noted
	if ended != nil && !isNotTested {
		found = append(found, s.failure(brokenOf(ended)))
	}
	isOfBehaviour := func(failure scenario.Failure) bool { return failure.Rank == scenario.Behaviour }
	if slices.ContainsFunc(found, isOfBehaviour) {
		if doubt := s.confirm(); doubt != "" {
			return doubt
		}
	}
	s.failures = append(s.failures, found...)
	return string(reason)
}

// brokenOf is an error as what is wrong. One of another type comes from a check of the options, and is a failure like any other.
func brokenOf(err error) scenario.Broken {
	if broken, is := errors.AsType[scenario.Broken](err); is {
		return broken
	}
	return scenario.Broken{Rank: scenario.Behaviour, Message: err.Error()}
}

// failure is what is wrong with the service, with the request that has shown it.
func (s *session) failure(broken scenario.Broken) scenario.Failure {
	failure := scenario.Failure{
		Cause:   broken.Cause,
		Root:    broken.Root,
		Message: broken.Message,
		Test:    s.test.Name,
		Rank:    broken.Rank,
		Sent:    *cmp.Or(broken.Shown, &s.last),
	}
	failure.Operation = s.judge().Name(failure.Sent)
	isCrash := failure.Sent.Status >= http.StatusInternalServerError
	switch {
	case failure.Cause != (scenario.Cause{}):
	case isCrash:
		failure.Cause = judge.CrashOf(failure.Operation, failure.Sent.Status)
		failure.Rank = scenario.Crash
	default:
		failure.Cause = scenario.Cause{Kind: scenario.BrokenPromise, Promise: s.test.Promise()}
	}
	return failure
}

// confirm returns why a failure of behaviour does not count, or nothing: what the service is for was inferred, and its responses
// show that it is for something else. What is wrong with these responses does not count.
func (s *session) confirm() (reason string) {
	if s.doubt == nil {
		return ""
	}
	failures := s.failures
	err := s.doubt()
	s.failures = failures
	if notTested, is := errors.AsType[scenario.NotTested](err); is {
		return string(notTested)
	}
	return ""
}
