package plan

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/draft"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/judge"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// A request alone shows little. That it was refused shows nothing if what it needs did not exist, and a status
// says nothing of what was stored. So a test creates what the path names, reads it before and after a request
// that must be refused, and looks for what a refused create may have left behind.

// surroundings are what is around one request.
type surroundings struct {
	*single
	*draft.Trial

	// That the path names; its identity is nil if it names none.
	thing  *scenario.Thing
	absent bool // the path names nothing: by its test, or because nothing could be created
	before bool // it was read before the request
	// What the request names, and the test has not created.
	needs []string
}

// run creates what the request needs, sends it, and checks the response and what has changed.
func (s *surroundings) run() {
	s.create()
	filled, needs := adapted(s.Draft, s.single)
	s.needs = needs
	got := s.Send(filled.request(s.thing), scenario.Expectation{Wrong: cmp.Or(s.why, s.changed)})
	s.Check(s.judge(got))
	if s.why == nil || s.isOdd() {
		return
	}
	// A service that refuses and stores all the same is worse than one that accepts.
	if s.before {
		s.Unchanged(s.thing, "a refused request")
	}
	s.hasCreatedNothing()
}

// create creates what the request needs.
func (s *surroundings) create() {
	s.thing = &scenario.Thing{ID: s.id}
	s.absent = s.namesNothing
	// So that there is something to stream.
	if s.operation.Streams() && len(s.Resources.All) > 0 {
		s.CreateOf(s.Resources.All[0])
	}
	if s.use == nil {
		return
	}
	s.thing = s.use.Thing(s.id)
	if s.use.IsInferred {
		s.CreateIfPossible(s.thing)
	} else {
		s.Create(s.thing)
	}
	if s.thing.Missing {
		s.single = s.withoutThing(s.Draft)
		s.absent = true
	}
	// What cannot be read cannot be compared, and the test goes on without.
	if !s.absent {
		_, s.before = s.Read(s.thing)
	}
}

// judge says whether the response to the request is right.
func (s *surroundings) judge(x scenario.Interaction) error {
	s.noteTwin(x.Status)
	switch {
	case s.absent && x.Status == http.StatusNotFound:
		return s.checkNotFound(x)
	case s.isOdd():
		return s.checkOdd(x)
	case s.why != nil:
		return s.checkRefused(x)
	}
	return s.checkValid(x)
}

// checkRefused checks the response to a request that must be refused. For another reason than the test has in mind, it
// may be refused with another status: because of what it names, for example.
func (s *surroundings) checkRefused(x scenario.Interaction) error {
	if !s.why.Allows(x.Status) && s.mayBeMissing(x.Status) {
		return s.missing()
	}
	return s.Judge.Refused(x, *s.why, s.promise)
}

const (
	noResource scenario.Untried = "it needs something that exists, and no test knows what creates it: name this operation in the links of that response"
	noIdentity scenario.Untried = "it conflicts with what exists, and no test knows what is free"
)

// checkNotFound checks the response to a request whose path names nothing. A service that looks for that first
// need not see the body. But it has read the parameters, or it would have refused the right ones.
func (s *surroundings) checkNotFound(x scenario.Interaction) error {
	isOfParameter := s.promise.Kind == scenario.ParameterKeyword || s.promise.Kind == scenario.OddParameter
	switch {
	case s.why != nil && !slices.Contains([]string{"body", ""}, s.why.In):
		return s.Judge.Refused(x, *s.why, s.promise)
	case s.why == nil && isOfParameter:
		return nil
	}
	return noResource
}

// checkOdd checks the response to a request that a service may refuse or not.
func (s *surroundings) checkOdd(x scenario.Interaction) error {
	if x.Status < http.StatusInternalServerError {
		return nil
	}
	asked := judge.Asked{Violation: s.changed, Promise: s.promise}
	return s.Judge.Crashed(x, asked, "no request may make the service fail")
}

// checkValid checks the response to a valid request. It may name a position of a list that is gone: that of
// an example, for instance.
func (s *surroundings) checkValid(x scenario.Interaction) error {
	if why := s.mayBeRefused(x.Status); why != "" {
		return why
	}
	if key, _ := s.operation.ResponseAs(x.Status); key == strconv.Itoa(http.StatusGone) {
		return nil
	}
	return s.Drafts.Accepted(x, s.reason())
}

// mayBeRefused returns why a service may refuse a valid request with a status: it depends on what only
// the service knows.
func (s *surroundings) mayBeRefused(status int) scenario.Untried {
	isConflict := status == http.StatusConflict
	isUnknown := !s.use.IsOn(s.operation) && !s.Resources.Creates(s.operation)
	isRefused := status/100 == 4
	reasons := []struct {
		holds bool
		why   scenario.Untried
	}{
		{s.isOfName() && slices.Contains(hidings, status), "the path has a name that nothing has"},
		{s.mayBeMissing(status), s.missing()},
		{isConflict && isUnknown, noIdentity},
		{isConflict && len(s.shared) > 0, "the identity is taken, and no test can remove it"},
		{isRefused && s.isPlaceholder, "only the service knows its values"},
		{isRefused && s.deletesNothing(status), "it deletes what exists, and no test knows what that may be"},
		{s.isOfState(status), "it depends on the state of the service alone"},
	}
	for _, reason := range reasons {
		if reason.holds {
			return reason.why
		}
	}
	return ""
}

// unknowns are statuses with which a service refuses a request that names something which does not exist, or is not
// in the right state.
var unknowns = []int{http.StatusForbidden, http.StatusNotFound, http.StatusConflict, http.StatusGone, http.StatusLocked}

// hidings are statuses with which a service may say that nothing has a name, beside those that say so.
var hidings = []int{http.StatusForbidden, http.StatusConflict, http.StatusLocked}

// isOfName reports whether a test is about a valid name in the path that nothing has.
func (s *surroundings) isOfName() bool {
	isAbout := s.why == nil && s.operation.Parameter("path", s.about) != nil
	return isAbout && !s.use.IsNamedBy(s.operation, s.about)
}

// mayBeMissing reports whether a service may have refused a request because of what it names.
func (s *surroundings) mayBeMissing(status int) bool {
	return len(s.needs) > 0 && slices.Contains(unknowns, status)
}

// missing is why a request shows nothing that needs more than a test has created.
func (s *surroundings) missing() scenario.Untried {
	names := slices.Compact(slices.Sorted(slices.Values(s.needs)))
	return scenario.Untried("it needs something that exists, or is in another state: no test knows what " + strings.Join(names, " and ") + " may be")
}

// mostLookups is how many identities of a refused body are looked up.
const mostLookups = 3

// hasCreatedNothing fails if a refused create has left something behind.
//
//	POST /shelves {"code": "A", "room": "x"}   400
//	GET /shelves/A                             must be 404
func (s *surroundings) hasCreatedNothing() {
	described := s.operation.BodySchema()
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

// doesNotExist looks whether what was refused was created under an identity. Where something is found, it looks again
// after it has asked for what was never created: a service that finds everything shows nothing.
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
