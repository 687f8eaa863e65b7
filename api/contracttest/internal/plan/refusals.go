package plan

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/draft"
	"github.com/plantstore/plantstore/api/contracttest/internal/judge"
	"github.com/plantstore/plantstore/api/contracttest/internal/lessons"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Whether a service was right to refuse the request of a test, or not to refuse it, is judged here. Package judge has the
// statuses.
//
// A service may refuse a valid request for what only it knows. Such a refusal accuses no service, so the promise is not
// tested: mayBeRefused lists the ways to see it from the document, and from what the service did with a request that is the
// same but for one thing.

// judge says whether the response to the request is right.
func (s *surroundings) judge(x scenario.Interaction) error {
	s.noteTwin(x.Status)
	switch {
	case s.absent && x.Status == http.StatusNotFound:
		return s.checkNotFound(x)
	case s.isOfRobustness():
		return s.checkRobustness(x)
	case s.why != nil:
		return s.checkRefused(x)
	}
	return s.checkValid(x)
}

// checkRefused checks the response to a request that must be refused. With another status of 4xx it may be refused for another
// reason than the test has in mind: what it names, who sends it, or the state of the service.
func (s *surroundings) checkRefused(x scenario.Interaction) error {
	isOther := !s.why.Allows(x.Status) && x.Status/100 == 4
	switch {
	case isOther && s.mayBeMissing(x.Status):
		return s.missing()
	case isOther && !s.why.IsOfCredentials():
		return scenario.NotTested(fmt.Sprintf("it is refused with %d: the reason may not be what is wrong with it", x.Status))
	}
	why := *s.why
	if why.Kind == scenario.BadCredentials && x.Status < http.StatusBadRequest && s.isOpen() {
		why.Kind = scenario.NoCredentials
	}
	return s.Judge.Refused(x, why, s.promise)
}

// isOpen reports whether the request needs no credentials at all. Then a service cannot see that they are wrong.
func (s *surroundings) isOpen() bool {
	filled, _ := s.filled(s.Draft)
	bare := filled.request(s.thing)
	bare.Access = scenario.Only()
	status := s.Send(bare, scenario.Expectation{}).Status
	return status != http.StatusUnauthorized && status != http.StatusForbidden
}

const noResource scenario.NotTested = "it needs something that exists, and no test knows what creates it: name this operation in the links of that response"

// checkNotFound checks the response to a request whose path names nothing. A service that looks for that first
// need not see the body. But it has read the parameters, or it would have refused the right ones.
func (s *surroundings) checkNotFound(x scenario.Interaction) error {
	switch {
	case s.why != nil && s.why.Allows(x.Status):
		return s.Judge.Refused(x, *s.why, s.promise)
	case s.why == nil && s.isOfParameter():
		return nil
	}
	return noResource
}

// checkRobustness checks the response to a request that a service may refuse or not.
func (s *surroundings) checkRobustness(x scenario.Interaction) error {
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
	if key, _ := s.Operation.ResponseAs(x.Status); key == strconv.Itoa(http.StatusGone) {
		return nil
	}
	isDenied := x.Status == http.StatusUnauthorized || x.Status == http.StatusForbidden
	switch {
	case x.Status >= http.StatusInternalServerError: // whatever else it may be
		return s.Judge.Accepted(x, s.promise)
	case isDenied && s.isOfAccess() && s.sharesHeader() && !s.openAnother():
		return notShownGood
	case isDenied && s.isOfAccess():
		return s.Judge.Accepted(x, s.reason())
	}
	return accepted(s.Drafts, x, s.reason())
}

// notShownGood is why credentials that are refused show nothing where two schemes have one header: what was given may be a token
// of the other one.
const notShownGood scenario.NotTested = "two schemes have one header, and no other operation takes these credentials for this one"

// sharesHeader reports whether the credentials of a test may be those of another scheme. Those of Basic have a form of their own.
func (s *surroundings) sharesHeader() bool {
	isBasic := func(scheme *document.Scheme) bool { return strings.EqualFold(scheme.Scheme, "basic") }
	return slices.ContainsFunc(s.access.Only, func(name string) bool {
		of := s.Document.Scheme(name)
		for other, scheme := range s.Document.Schemes {
			isSame := document.CredentialHeader(scheme) == document.CredentialHeader(of) && isBasic(scheme) == isBasic(of)
			if other != name && isSame && of.In != "query" && of.In != "cookie" {
				return true
			}
		}
		return false
	})
}

// mostOpened is how many operations are tried.
const mostOpened = 3

// openAnother reports whether the credentials of a test open another operation, a read without parameters.
func (s *surroundings) openAnother() bool {
	tried := 0
	return slices.ContainsFunc(s.Document.Operations, func(other *document.Operation) bool {
		needs := func(parameter *document.Parameter) bool { return parameter.Required }
		takes := func(requirement document.Requirement) bool {
			return slices.Equal(slices.Sorted(maps.Keys(requirement)), s.access.Only)
		}
		isRead := other != s.Operation && other.Method == http.MethodGet && !slices.ContainsFunc(other.Parameters, needs)
		if !isRead || !slices.ContainsFunc(other.Requirements(), takes) || tried == mostOpened {
			return false
		}
		tried++
		request := scenario.Request{Method: other.Method, Path: other.Template, Header: http.Header{}, Access: s.access}
		return s.Send(request, scenario.Expectation{}).Status < http.StatusBadRequest
	})
}

// Accepted returns an error unless a response is a success, as the step of a sequence expects it.
func (p *Planner) Accepted(x scenario.Interaction) error {
	return accepted(p.Drafts, x, scenario.Promise{})
}

// elsewhere are statuses of refusals whose reason is not in the request: who sends it, and what else exists or happens.
var elsewhere = []int{
	http.StatusUnauthorized, http.StatusForbidden, http.StatusConflict, http.StatusPreconditionFailed, http.StatusLocked,
	http.StatusTooManyRequests,
}

// accepted returns an error unless a response is a success, as package judge says. promise is what the request was made for;
// nothing: it has more than one thing that may be why it is refused. Only of a resource that the document or the options
// declare every request must be accepted.
func accepted(known *draft.Drafts, x scenario.Interaction, promise scenario.Promise) error {
	isCondition := x.HasRequestHeader("If-Match", "If-None-Match") // it may have another form than the ETags of the service
	isUnclear := slices.Contains(wrongValue, x.Status) && (promise == (scenario.Promise{}) || isCondition)
	if namesUnknown(known, x) || !isDeclared(known, x) && (isUnclear || slices.Contains(elsewhere, x.Status)) {
		return scenario.NotTested(fmt.Sprintf("it is refused with %d, for a reason that the document does not say", x.Status))
	}
	return known.Judge.Accepted(x, promise)
}

// namesUnknown reports whether a request was refused because something does not exist that only its body can name: its path has no
// parameter.
func namesUnknown(known *draft.Drafts, x scenario.Interaction) bool {
	operation := known.Document.Serving(x.Method, x.Path)
	return x.Status == http.StatusNotFound && len(x.RequestBody) > 0 && operation != nil && len(operation.PathNames) == 0
}

// isDeclared reports whether a request is of a resource that was not inferred.
func isDeclared(known *draft.Drafts, x scenario.Interaction) bool {
	operation := known.Document.Serving(x.Method, x.Path)
	if operation == nil {
		return false
	}
	of := known.Resources.Of(operation)
	return of != nil && !of.IsInferred
}

// mayBeRefused returns why a service may refuse a valid request with a status: it depends on what only
// the service knows.
func (s *surroundings) mayBeRefused(status int) scenario.NotTested {
	isConflict := status == http.StatusConflict
	isRefused := status/100 == 4
	reasons := []struct {
		holds bool
		why   scenario.NotTested
	}{
		{s.isOfName() && slices.Contains(hidings, status), "the path has a name that nothing has"},
		{s.mayBeMissing(status), s.missing()},
		{isConflict && len(s.shared) > 0, "the identity is taken, and no test can remove it"},
		{isRefused && s.hasOpaque(), "only the service knows its values"},
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
	return s.why == nil && slices.ContainsFunc(s.Operation.Parameters, func(parameter *document.Parameter) bool {
		isSettled := parameter.In == "path" && s.IsSettled(parameter)
		return isSettled && !s.use.IsNamedBy(s.Operation, parameter.Name)
	})
}

// mayBeMissing reports whether a service may have refused a request because of what it names.
func (s *surroundings) mayBeMissing(status int) bool {
	return len(s.needs) > 0 && slices.Contains(unknowns, status)
}

// missing is why a request shows nothing that needs more than a test has created.
func (s *surroundings) missing() scenario.NotTested {
	names := slices.Compact(slices.Sorted(slices.Values(s.needs)))
	return scenario.NotTested("it needs something that exists, or is in another state: no test knows what " + strings.Join(names, " and ") + " may be")
}

// noteTwin remembers whether the plainest request of the operation was accepted, which the other ones are like but for
// what they are about.
func (s *surroundings) noteTwin(status int) {
	if s.order != plain || s.why != nil {
		return
	}
	switch {
	case status < http.StatusBadRequest:
		s.Lessons.Teach(s.Operation, func(l *lessons.Lesson) { l.IsPlainAccepted = true })
	case status >= http.StatusInternalServerError:
		s.Judge.NoteFailing(s.Operation.ID, status)
	}
}

// reason is what a request was made for, if that may be why it is refused: the plainest one, which is like it but for
// that, was accepted.
func (s *surroundings) reason() scenario.Promise {
	if s.Lessons.Of(s.Operation).IsPlainAccepted && !s.isDrawn {
		return s.promise
	}
	return scenario.Promise{}
}

// deletesNothing reports whether a request that was refused deletes what it names, and no test has created that. Services
// refuse it with 400, too.
func (s *surroundings) deletesNothing(status int) bool {
	isNamed := len(s.Operation.PathNames) > 0 || s.Operation.BodySchema() != nil
	isDelete := s.Operation.Method == http.MethodDelete && isNamed
	return isDelete && s.use == nil && slices.Contains(understood, status)
}

// isOfState reports whether nothing but the state of a service can be why it has refused a request: there is nothing
// in it that could be wrong. A recording that has not begun cannot be stopped.
func (s *surroundings) isOfState(status int) bool {
	isRead := s.Operation.Method == http.MethodGet || s.Operation.Method == http.MethodHead
	isEmpty := len(s.Operation.Parameters) == 0 && s.Operation.Content == nil
	return !isRead && isEmpty && slices.Contains(understood, status)
}

// understood are statuses with which a service says that a request is understood, and cannot be served.
var understood = []int{
	http.StatusBadRequest, http.StatusConflict, http.StatusGone, http.StatusUnprocessableEntity, http.StatusLocked,
}

// hasOpaque reports whether only the service knows the values of a parameter of the request: positions in a list, and
// tokens.
func (s *surroundings) hasOpaque() bool {
	return s.Resources.Infers(s.Operation) && slices.ContainsFunc(s.Operation.Parameters, func(parameter *document.Parameter) bool {
		wanted, _ := document.ParameterSchema(parameter)
		isNamed := parameter.In == "query" && resources.IsOpaque(parameter.Name)
		return isNamed && schema.TypeOf(wanted) == "string" && s.Has(parameter)
	})
}
