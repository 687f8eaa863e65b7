package plan

import (
	"net/http"
	"slices"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/lessons"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// A service may refuse a valid request for what only it knows. Such a refusal accuses no service, so the promise is
// untried: these are the ways to see it from the document, and from what the service did with a request that is the same
// but for one thing.

// noteTwin remembers whether the plainest request of the operation was accepted, which the other ones are like but for
// what they are about.
func (s *surroundings) noteTwin(status int) {
	if s.order != plain || s.why != nil {
		return
	}
	switch {
	case status < http.StatusBadRequest:
		s.Lessons.Teach(s.operation, func(l *lessons.Lesson) { l.IsPlainAccepted = true })
	case status >= http.StatusInternalServerError:
		s.Judge.NoteFailing(s.operation.ID, status)
	}
}

// reason is what a request was made for, if that may be why it is refused: the plainest one, which is like it but for
// that, was accepted.
func (s *surroundings) reason() scenario.Promise {
	if s.Lessons.Of(s.operation).IsPlainAccepted {
		return s.promise
	}
	return scenario.Promise{}
}

// deletesNothing reports whether a request that was refused deletes what it names, and no test has created that. Services
// refuse it with 400, too.
func (s *surroundings) deletesNothing(status int) bool {
	isNamed := len(s.operation.PathNames) > 0 || s.operation.BodySchema() != nil
	isDelete := s.operation.Method == http.MethodDelete && isNamed
	return isDelete && s.use == nil && slices.Contains(understood, status)
}

// isOfState reports whether nothing but the state of a service can be why it has refused a request: there is nothing
// in it that could be wrong. A recording that has not begun cannot be stopped.
func (s *surroundings) isOfState(status int) bool {
	isRead := s.operation.Method == http.MethodGet || s.operation.Method == http.MethodHead
	isEmpty := len(s.operation.Parameters) == 0 && s.operation.Content == nil
	return !isRead && isEmpty && slices.Contains(understood, status)
}

// understood are statuses with which a service says that a request is understood, and cannot be served.
var understood = []int{
	http.StatusBadRequest, http.StatusConflict, http.StatusGone, http.StatusUnprocessableEntity, http.StatusLocked,
}

// isOpaque reports whether only the service knows the values of a parameter: positions in a list, and tokens.
func (p *Planner) isOpaque(operation *document.Operation, parameter *document.Parameter) bool {
	wanted, _ := document.ParameterSchema(parameter)
	isNamed := parameter.In == "query" && resources.IsOpaque(parameter.Name)
	return isNamed && schema.TypeOf(wanted) == "string" && p.Resources.Infers(operation)
}
