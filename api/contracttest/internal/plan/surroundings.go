package plan

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/plantstore/plantstore/api/contracttest/internal/draft"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/lessons"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// A request alone shows little. That it was refused shows nothing if what it needs did not exist, and a status
// says nothing of what was stored. So a test creates what the path names, reads it before and after a request
// that must be refused, and looks for what a refused create may have left behind.

// surroundings are what is around the request of a test in one run.
type surroundings struct {
	*single
	*draft.Trial

	thing  *scenario.Thing // that the path names; its identity is nil if the path names none
	absent bool            // the path names nothing: its test wants that, or the thing could not be created
	before bool            // the thing was read before the request
	needs  []string        // what the request names, and the test has not created
}

// run creates what the request needs, sends it, and checks the response and what has changed.
func (s *surroundings) run() {
	s.create()
	if s.promise.Kind == scenario.ParameterRobustness && s.isOfPath() {
		s.lookForFailure()
	}
	filled, needs := s.filled(s.Draft)
	s.needs = needs
	sent := filled.request(s.thing)
	got := s.Send(sent, scenario.Expectation{Wrong: cmp.Or(s.why, s.changed)})
	if got.Status >= http.StatusInternalServerError && s.isOfParameter() {
		s.lookForFailure()
	}
	s.Check(s.sure(sent, got))
	if s.why == nil || s.isOfRobustness() {
		return
	}
	// A service that refuses and stores all the same is worse than one that accepts.
	if s.before {
		s.Unchanged(s.thing, "a refused request")
	}
	s.hasCreatedNothing()
}

// sure says whether a response is right, as judge does, but sends more requests to confirm a refusal that may be right. What
// is wrong is shown with the response itself, because the last one may be another by now.
func (s *surroundings) sure(sent scenario.Request, got scenario.Interaction) error {
	wrong := s.judge(got)
	broken, isBroken := errors.AsType[scenario.Broken](wrong)
	switch {
	case isBroken && s.canBeConfirmed(got.Status):
		return s.confirm(sent)
	case isBroken:
		broken.Shown = &got
		return broken
	}
	return wrong
}

// create creates what the request needs, and reads the thing that its path names. If that cannot be created, the path gets
// the plainest parameters. Another parameter may name nothing below the thing, as {part} in /tickets/{id}/parts/{part}: then the
// thing is created, and not read.
func (s *surroundings) create() {
	s.thing = &scenario.Thing{ID: s.id}
	s.absent = s.namesNothing
	// So that there is something to stream, whatever it is.
	if s.Operation.Streams() && len(s.Resources.All) > 0 {
		s.CreateOf(s.Resources.All[0])
	}
	if s.use == nil {
		return
	}
	s.thing = s.use.Thing(s.id)
	if s.use.IsInferred { // the guess may be wrong
		s.CreateIfPossible(s.thing)
	} else {
		s.Create(s.thing)
	}
	if s.thing.Missing {
		s.single = s.withoutThing(s.Draft)
		s.absent = true
	}
	if !s.absent {
		_, s.before = s.Read(s.thing) // without a read, nothing is compared after the request
	}
}

// isOfParameter reports whether a test is about a value of a parameter.
func (s *surroundings) isOfParameter() bool {
	return s.promise.Kind == scenario.ParameterKeyword || s.promise.Kind == scenario.ParameterRobustness
}

// isOfPath reports whether a test is about a parameter of the path that does not name what the test has created.
func (s *surroundings) isOfPath() bool { return s.named() != nil && s.named().In == "path" }

// lookForFailure looks, once for each operation, whether the service fails on the plainest request, too: the parameter of the
// test has its plainest value, or none. Then no value of a parameter is why. It looks before the first robustness test of a
// path, because what a path names decides most, or else after a failure.
func (s *surroundings) lookForFailure() {
	if s.Lessons.Of(s.Operation).IsLookedAt {
		return
	}
	s.Lessons.Teach(s.Operation, func(l *lessons.Lesson) { l.IsLookedAt = true })
	plain, _ := s.filled(s.Draft)
	if parameter := s.named(); parameter != nil && parameter.Required {
		text, _ := s.Draft.Values.BaseParameter(parameter)
		plain.Set(parameter, text)
	} else if parameter != nil {
		plain.Unset(parameter)
	}
	if got := s.Send(plain.request(s.thing), scenario.Expectation{}); got.Status >= http.StatusInternalServerError {
		s.Judge.NoteFailing(s.Operation.ID, got.Status)
	}
}

// mostLookups is how many identities of a refused body are looked up.
const mostLookups = 3

// hasCreatedNothing fails if a refused request has created something under one of the first identities in its body.
//
//	POST /shelves {"code": "A", "room": "x"}   400
//	GET /shelves/A                             must be 404
func (s *surroundings) hasCreatedNothing() {
	described := s.Operation.BodySchema()
	if described == nil {
		return
	}
	value, _ := jsonvalue.Decode(s.body) // a malformed body names nothing
	ids := s.Draft.Values.Identities(described, value)
	for _, x := range s.Resources.All {
		isFindable := x.Operations[http.MethodGet] != nil && !x.IsAssigned && x.Parent == nil
		if !isFindable {
			continue
		}
		for _, id := range ids[:min(len(ids), mostLookups)] {
			doesNotExist(s.Trial, x, id)
		}
	}
}

// doesNotExist fails if something exists under an identity. If something is found, it asks for what was never created, and
// then once more: a service that finds everything, or what is gone in a moment, shows nothing.
func doesNotExist(t *draft.Trial, x *resources.Resource, id any) {
	if found := t.Call(http.MethodGet, x.Thing(id), nil); found.Status >= http.StatusBadRequest {
		return
	}
	other := t.Call(http.MethodGet, x.Thing(t.Values.Identity(x.Identity)), nil)
	findsAll := other.Status < http.StatusBadRequest
	again := t.Call(http.MethodGet, x.Thing(id), nil)
	isAbsent := findsAll || again.Status >= http.StatusBadRequest
	t.Require(isAbsent, "the create was refused, but %v exists: %s", id, again.Body)
}
