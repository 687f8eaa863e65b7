package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/plantstore/plantstore/api/contracttest/internal/draft"
	"github.com/plantstore/plantstore/api/contracttest/internal/judge"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// session is one run of a test.
type session struct {
	*Runner
	user   scenario.User
	ctx    context.Context
	target Target
	test   scenario.Test
	draft  *draft.Draft
	// How many others were made to run beside it.
	besides int

	// What is expected of the next response.
	asked judge.Asked
	// It may be refused because there are too many requests.
	mayBeLimited bool
	// The last request, which a failure shows as what was sent. Where later requests only explain a failure, Create puts
	// the request back that has shown it.
	last scenario.Interaction
	// Of responses that are not as the document says. Those of requests that are only tried are taken out again: see
	// Create, CreateIfPossible and confirm.
	failures []scenario.Failure
	// What is wrong with what was created, and lets the test go on.
	noted []scenario.Failure
	// What must be true before a failure counts; nil: nothing.
	doubt func() error
	// How many requests were sent.
	requests int
	steps    *steps
}

// steps are the interactions of a test, in the order of their responses.
type steps struct {
	mu  sync.Mutex
	all []scenario.Interaction
}

const (
	mostSteps  = 1000     // that are remembered
	mostOfStep = 64 << 10 // bytes of a response: a script takes from it what the service has chosen
	readable   = 50       // steps that a person reads
	lastSteps  = 10
)

// add adds an interaction.
func (s *steps) add(x scenario.Interaction) {
	if len(x.Body) > mostOfStep {
		x.Receive(x.Status, x.Header, nil)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, x)
	s.all = s.all[max(0, len(s.all)-mostSteps):]
}

// keep forgets all steps but some.
func (s *steps) keep(some ...scenario.Interaction) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = some
}

// shown returns the steps. Of a long test they are the first creates and the last steps.
func (s *steps) shown() (some []scenario.Interaction) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) <= readable {
		return slices.Clone(s.all)
	}
	before, last := s.all[:len(s.all)-lastSteps], s.all[len(s.all)-lastSteps:]
	for _, step := range before {
		isCreate := step.Method == http.MethodPost && step.Status < http.StatusBadRequest
		if isCreate && len(some) < readable-lastSteps {
			some = append(some, step)
		}
	}
	return append(some, last...)
}

// mostRequests is how many requests a test may send. A service may lead in a circle.
const mostRequests = 100_000

// Draw gives things identities.
func (s *session) Draw(things ...*scenario.Thing) {
	s.draft.Draw(things...)
}

// Create creates a thing, and what it is below. If the service refuses a body with all members, one with the required members is
// sent: only if that is refused, too, what was wrong with the first response counts. Failures of a thing that was inferred are
// confirmed at the end of the test: see conclude.
func (s *session) Create(thing *scenario.Thing) error {
	x := s.draft.Resources.CreatedBy(thing.Creator)
	if x == nil {
		return scenario.Brokenf("%s creates no resource that a test can use", thing.Creator)
	}
	if parent := s.draft.Parent(x, thing); parent != nil {
		if err := s.Create(parent); err != nil {
			return err
		}
	}
	creation, err := s.draft.Creation(x, thing)
	if err != nil {
		return err
	}
	if x.IsInferred {
		s.doubt = func() error { return s.areAlike(x) }
	}
	before := s.failures
	got, err := s.createWith(x, thing, creation.Body)
	if creation.Least == nil || got.Status < http.StatusBadRequest {
		return err
	}
	withFirst := s.failures
	if _, failed := s.createWith(x, thing, creation.Least); failed != nil {
		s.failures = withFirst
		s.last = got
		return err
	}
	s.failures = before
	return nil
}

// note notes a failure after which the test goes on, once for each cause.
func (s *session) note(failure scenario.Failure) {
	isSame := func(other scenario.Failure) bool { return other.Cause == failure.Cause }
	if !slices.ContainsFunc(s.noted, isSame) {
		s.noted = append(s.noted, failure)
	}
}

// createWith creates a thing with a body. What the response has lost of the body is noted, and the test goes on.
func (s *session) createWith(x *resources.Resource, thing *scenario.Thing, body map[string]any) (scenario.Interaction, error) {
	call := scenario.Call{Operation: x.Create.ID, Of: x.Target(thing), Body: body}
	got, err := s.Do(call, scenario.Accepted)
	if err != nil {
		return got, err
	}
	lost, err := s.draft.HasCreated(x, thing, body, got)
	for _, wrong := range lost {
		s.note(s.failure(brokenOf(wrong)))
	}
	return got, err
}

// areAlike returns why a failure does not count, or nil: the service responds alike to creates of different things, or a guessed
// identity does not lead to what was created.
func (s *session) areAlike(x *resources.Resource) error {
	first, second := s.draft.Confirmations(x)
	one, err := s.Do(first, scenario.Expectation{})
	if err != nil {
		return err
	}
	other, err := s.Do(second, scenario.Expectation{})
	if err != nil {
		return err
	}
	if x.IsGuessed {
		read, err := s.Do(s.draft.ReadOf(x, first, one), scenario.Expectation{})
		if err != nil {
			return err
		}
		if read.Status >= http.StatusBadRequest {
			return scenario.NotTested("what identifies it was guessed, and reads nothing: say it in Resources of the options")
		}
	}
	return draft.AreAlike(one, other)
}

// CreateIfPossible creates a thing, or makes it missing. What is wrong with the responses does not count then, but for a crash.
func (s *session) CreateIfPossible(thing *scenario.Thing) {
	before, noted, doubt := len(s.failures), s.noted, s.doubt
	err := s.Create(thing)
	s.doubt = doubt
	if err == nil {
		return
	}
	thing.Missing = true
	s.noted = noted
	isNoCrash := func(failure scenario.Failure) bool { return failure.Rank != scenario.Crash }
	crashes := slices.DeleteFunc(s.failures[before:], isNoCrash)
	s.failures = s.failures[:before+len(crashes)]
}

// Do sends a request in terms of the document. If that needs the ETag of what it changes, a read comes before.
func (s *session) Do(call scenario.Call, expect scenario.Expectation) (scenario.Interaction, error) {
	etag := ""
	if read, isNeeded := s.draft.ReadBefore(call); isNeeded {
		got, err := s.Do(read, scenario.Expectation{})
		if err != nil {
			return scenario.Interaction{}, err
		}
		etag = got.Header.Get("ETag")
	}
	request, err := s.draft.Request(call, etag)
	if err != nil {
		return scenario.Interaction{}, err
	}
	return s.Send(request, expect)
}

// Send sends a request, judges the response, and returns it. If there is none that could be judged, it is zero.
func (s *session) Send(request scenario.Request, expect scenario.Expectation) (scenario.Interaction, error) {
	if s.requests++; s.requests > mostRequests {
		return scenario.Interaction{}, scenario.NotTested("it does not come to an end")
	}
	s.asked = judge.Asked{Violation: cmp.Or(expect.Violation, expect.Wrong), Promise: s.firstPromise()}
	s.mayBeLimited = expect.MayBeLimited
	if err := s.sendWhenAllowed(request); err != nil {
		return scenario.Interaction{}, err
	}
	return s.last, s.Named(s.meets(expect))
}

// Beside returns a session of what runs at the same time, so that neither side sees the last response of the other, and each
// draws its own values. Its function says what was wrong with responses of that session.
func (s *session) Beside() (scenario.Engine, func() error) {
	s.besides++
	other := *s
	other.draft = s.Plan.Draft(fmt.Sprint(s.test.Promise().ID(), s.besides))
	other.failures = nil
	other.noted = nil
	return &other, other.wrongBeside
}

// wrongBeside is what was wrong with responses of a session beside another one, as an error, or nothing.
func (s *session) wrongBeside() error {
	wrong := slices.Concat(s.failures, s.noted)
	if len(wrong) == 0 {
		return nil
	}
	first := wrong[0]
	return scenario.Broken{Cause: first.Cause, Rank: first.Rank, Message: "meanwhile: " + first.Message}
}

// meets returns an error unless the last response is what was expected.
func (s *session) meets(expected scenario.Expectation) error {
	switch {
	case expected.Success:
		return s.Plan.Accepted(s.last)
	case expected.Violation != nil:
		return s.judge().Refused(s.last, *expected.Violation, s.firstPromise())
	}
	return nil
}

// Named replaces the cause of a 404 at something that was created, if no GET has ever found such a thing: all tests that begin with
// the create then fail for one cause. Any other error is returned as it is.
func (s *session) Named(wrong error) error {
	broken, is := errors.AsType[scenario.Broken](wrong)
	if !is || s.last.Status != http.StatusNotFound {
		return wrong
	}
	if creator := s.Plan.World.NeverFound(s.last.Path); creator != "" {
		broken.Cause = scenario.Cause{Kind: scenario.CreatedIsNotFound, Operation: creator}
		return broken
	}
	return wrong
}

// firstPromise is what a refusal is about. A failure is about the last one: see [scenario.Test].
func (s *session) firstPromise() scenario.Promise {
	if len(s.test.Shows) == 0 {
		return s.test.Promise()
	}
	return s.test.Shows[0]
}

// As returns a session of a user. It has its own credentials and its own memory of what it has created.
func (s *session) As(user scenario.User) scenario.Engine {
	as := *s
	as.Runner = s.Users[user]
	as.user = user
	as.draft = as.Plan.Draft(s.test.Promise().ID() + string(user))
	if user != scenario.Owner {
		as.target.Credentials = nil
	}
	return &as
}

// headerOf is the header of a user, which is secret.
func (s *session) headerOf(user scenario.User) http.Header {
	if as := s.Users[user]; as != nil {
		return as.Header
	}
	return s.Header
}
