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

// judge says whether the response to the request is right. What the plainest request shows, it remembers for the others.
func (s *surroundings) judge(x scenario.Interaction) error {
	s.notePlainest(x.Status)
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

// checkRefused checks the response to a request that must be refused. If it has another status of 4xx than those of the
// reason of the test, there may be another reason: what the request names, the user who sends it, or the state of the service. Wrong
// credentials that are accepted are told as no credentials, if the operation needs none at all.
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

// isOpen reports whether the request needs no credentials at all: without them, it is not refused for that.
func (s *surroundings) isOpen() bool {
	filled, _ := s.filled(s.Draft)
	bare := filled.request(s.thing)
	bare.Access = scenario.Only()
	status := s.Send(bare, scenario.Expectation{}).Status
	return status != http.StatusUnauthorized && status != http.StatusForbidden
}

const noResource scenario.NotTested = "it needs something that exists, and no test knows what creates it: name this operation in the links of that response"

// checkNotFound checks a response of 404 to a request whose path names nothing. If what is wrong with the request allows a
// 404, this is one for that. If nothing is wrong, and the test is about a parameter, it holds: the service has not refused
// the parameter. In all other tests nothing is shown: a service may look for what the path names before it reads the body.
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

// checkValid checks the response to a valid request. A 410 that the document lists is right: the request may name a position
// of a list that is gone, as one of an example is.
func (s *surroundings) checkValid(x scenario.Interaction) error {
	if why := s.mayBeRefused(x.Status); why != "" {
		return why
	}
	if key, _ := s.Operation.ResponseAs(x.Status); key == strconv.Itoa(http.StatusGone) {
		return nil
	}
	isDenied := x.Status == http.StatusUnauthorized || x.Status == http.StatusForbidden
	switch {
	case x.Status >= http.StatusInternalServerError: // the promise is the reason, even if the plainest request was not accepted
		return s.Judge.Accepted(x, s.promise)
	case isDenied && s.isOfAccess():
		return s.checkDenied(x)
	}
	return accepted(s.Drafts, x, s.reason())
}

// checkDenied checks a refusal of good credentials. Where two schemes have one header, it shows nothing unless the
// credentials open something else: what was given for the one may be a token of the other.
func (s *surroundings) checkDenied(x scenario.Interaction) error {
	if s.sharesHeader() && !s.openAnother() {
		return notShownGood
	}
	return s.Judge.Accepted(x, s.reason())
}

const notShownGood scenario.NotTested = "two schemes have one header, and no other operation takes these credentials for this one"

// sharesHeader reports whether the credentials of a test may be those of another scheme.
func (s *surroundings) sharesHeader() bool {
	for _, name := range s.access.Only {
		for other, scheme := range s.Document.Schemes {
			if other != name && areInOneHeader(scheme, s.Document.Scheme(name)) {
				return true
			}
		}
	}
	return false
}

// areInOneHeader reports whether the credentials of two schemes are in one header, in the same form. Those of Basic have a
// form of their own.
func areInOneHeader(one, other *document.Scheme) bool {
	isInHeader := other.In != "query" && other.In != "cookie"
	isOfOneForm := strings.EqualFold(one.Scheme, "basic") == strings.EqualFold(other.Scheme, "basic")
	return isInHeader && isOfOneForm && document.CredentialHeader(one) == document.CredentialHeader(other)
}

// mostOpened is how many operations are tried.
const mostOpened = 3

// openAnother reports whether the credentials of a test open another operation, a read without parameters.
func (s *surroundings) openAnother() bool {
	tried := 0
	for _, other := range s.Document.Operations {
		if other == s.Operation || !isReadWith(s.access.Only, other) || tried == mostOpened {
			continue
		}
		tried++
		request := scenario.Request{Method: other.Method, Path: other.Template, Header: http.Header{}, Access: s.access}
		if s.Send(request, scenario.Expectation{}).Status < http.StatusBadRequest {
			return true
		}
	}
	return false
}

// isReadWith reports whether an operation is a read without required parameters, and some schemes are one way to open it.
func isReadWith(schemes []string, operation *document.Operation) bool {
	takes := func(requirement document.Requirement) bool {
		return slices.Equal(slices.Sorted(maps.Keys(requirement)), schemes)
	}
	isPlain := operation.Method == http.MethodGet && !slices.ContainsFunc(operation.Parameters, isRequired)
	return isPlain && slices.ContainsFunc(operation.Requirements(), takes)
}

func isRequired(parameter *document.Parameter) bool { return parameter.Required }

// Accepted returns an error unless a response is a success, as the step of a sequence expects it.
func (p *Planner) Accepted(x scenario.Interaction) error {
	return accepted(p.Drafts, x, scenario.Promise{})
}

// elsewhere are statuses of refusals whose reason is not in the request: the user who sends it, and what else exists or happens.
var elsewhere = []int{
	http.StatusUnauthorized, http.StatusForbidden, http.StatusConflict, http.StatusPreconditionFailed, http.StatusLocked,
	http.StatusTooManyRequests,
}

// accepted returns an error unless a response is a success, as package judge says. The promise is what the request was made
// for; it is empty if more than one thing in the request may be why it is refused. A refusal may then be for a reason that
// the document does not say, and so may one whose reason is outside of the request, unless the document or the options
// declare the resource.
func accepted(known *draft.Drafts, x scenario.Interaction, promise scenario.Promise) error {
	isCondition := x.HasRequestHeader("If-Match", "If-None-Match") // it may have another form than the ETags of the service
	isUnclear := slices.Contains(wrongValue, x.Status) && (promise == (scenario.Promise{}) || isCondition)
	mayBeRight := isUnclear || slices.Contains(elsewhere, x.Status)
	operation := known.Document.Serving(x.Method, x.Path)
	if namesUnknown(operation, x) || mayBeRight && !isDeclared(known, operation) {
		return scenario.NotTested(fmt.Sprintf("it is refused with %d, for a reason that the document does not say", x.Status))
	}
	return known.Judge.Accepted(x, promise)
}

// namesUnknown reports whether a request was refused because something does not exist that only its body can name: its path
// has no parameter.
func namesUnknown(operation *document.Operation, x scenario.Interaction) bool {
	return x.Status == http.StatusNotFound && len(x.RequestBody) > 0 && operation != nil && len(operation.PathNames) == 0
}

// isDeclared reports whether an operation, if there is one, is of a resource that was not inferred.
func isDeclared(known *draft.Drafts, operation *document.Operation) bool {
	if operation == nil {
		return false
	}
	of := known.Resources.Of(operation)
	return of != nil && !of.IsInferred
}

// mayBeRefused returns why a service may refuse a valid request with a status: it depends on what only
// the service knows.
func (s *surroundings) mayBeRefused(status int) scenario.NotTested {
	isRefused := status/100 == 4
	switch {
	case s.isOfName() && slices.Contains(hidings, status):
		return "the path has a name that nothing has"
	case s.mayBeMissing(status):
		return s.missing()
	case status == http.StatusConflict && len(s.shared) > 0:
		return "the identity is taken, and no test can remove it"
	case isRefused && s.hasOpaque():
		return "only the service knows its values"
	case s.deletesNothing(status):
		return "it deletes what exists, and no test knows what that may be"
	case s.isOfState(status):
		return "it depends on the state of the service alone"
	}
	return ""
}

// unknowns are statuses with which a service refuses a request that names something which does not exist, or is not
// in the right state.
var unknowns = []int{http.StatusForbidden, http.StatusNotFound, http.StatusConflict, http.StatusGone, http.StatusLocked}

// hidings are statuses with which a service may hide that nothing has a name, in place of 404 or 410.
var hidings = []int{http.StatusForbidden, http.StatusConflict, http.StatusLocked}

// isOfName reports whether a test is about a valid name in the path that nothing has.
func (s *surroundings) isOfName() bool {
	for _, parameter := range s.Operation.Parameters {
		isSettled := parameter.In == "path" && s.IsSettled(parameter)
		if isSettled && !s.use.IsNamedBy(s.Operation, parameter.Name) {
			return s.why == nil
		}
	}
	return false
}

// mayBeMissing reports whether a service may have refused a request because of something that it names, and no test has created.
func (s *surroundings) mayBeMissing(status int) bool {
	return len(s.needs) > 0 && slices.Contains(unknowns, status)
}

// missing is why a request shows nothing that needs more than a test has created.
func (s *surroundings) missing() scenario.NotTested {
	names := slices.Compact(slices.Sorted(slices.Values(s.needs)))
	return scenario.NotTested("it needs something that exists, or is in another state: no test knows what " + strings.Join(names, " and ") + " may be")
}

// notePlainest remembers of the plainest request of the operation whether it was accepted, or the service has failed. All
// other requests are like it, but for what they are about.
func (s *surroundings) notePlainest(status int) {
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

// reason is what a request was made for, if nothing else can be why it is refused: the plainest request, which is the same
// but for that, was accepted. Otherwise it is empty.
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
	for _, parameter := range s.Operation.Parameters {
		wanted, _ := document.ParameterSchema(parameter)
		isOpaque := resources.IsOpaque(parameter.Name) && schema.TypeOf(wanted) == "string"
		if isOpaque && parameter.In == "query" && s.Has(parameter) {
			return s.Resources.Infers(s.Operation)
		}
	}
	return false
}
