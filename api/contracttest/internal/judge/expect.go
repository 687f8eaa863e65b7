package judge

import (
	"cmp"
	"fmt"
	"net/http"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Whether a request was refused for the right reason is seen by the status that it deserves, and not by those that
// the document lists: a document that lists 500 does not make a crash right. That the status is documented is a
// question of its own (response.go).

// unlessCrashed returns an error that says what is wrong with a response. A status of 500 or more is a crash, whatever was
// expected.
func (j *Judge) unlessCrashed(broken scenario.Broken, x scenario.Interaction, asked Asked) error {
	if x.Status >= http.StatusInternalServerError {
		return j.Crashed(x, asked, broken.Message)
	}
	return broken
}

// nameOrMethod is the name of the operation that a request was for, or its method.
func (j *Judge) nameOrMethod(x scenario.Interaction) string { return cmp.Or(j.Name(x), x.Method) }

// Crashed says that a response is a failure of the service.
func (j *Judge) Crashed(x scenario.Interaction, asked Asked, message string) error {
	cause, root := j.crash(x, asked)
	return scenario.Broken{Cause: cause, Root: root, Rank: scenario.Crash, Message: message}
}

// Silent is the cause of a request that got no response. Nothing more is known of it.
func (j *Judge) Silent(x scenario.Interaction) scenario.Cause {
	return scenario.Cause{Kind: scenario.NoResponse, Operation: j.nameOrMethod(x)}
}

// Accepted returns an error unless a response is a success of the operation, or says that a condition of the request does not
// hold. promise is what the request was made for, if that may be why it is refused.
func (j *Judge) Accepted(x scenario.Interaction, promise scenario.Promise) error {
	operation := j.Document.Serving(x.Method, x.Path)
	isSuccess := operation == nil || operation.Succeeds(x.Status)
	switch {
	case isFalseCondition(x), isSuccess && x.Status < http.StatusBadRequest:
		return nil
	case j.leadsElsewhere(x):
		return elsewhere
	case x.Status/100 == 2:
		cause, root := undocumentedSuccess(j.nameOrMethod(x), x.Status)
		return scenario.Broken{Cause: cause, Root: root, Rank: scenario.Undocumented, Message: "no success of the document has this status"}
	}
	cause, root := j.wronglyRefused(x, promise)
	return j.unlessCrashed(scenario.Broken{
		Cause: cause, Root: root, Rank: scenario.Behaviour, Message: "the request is valid, but was refused",
	}, x, Asked{Promise: promise})
}

// elsewhere is why a test ends at a redirection that the document does not list: that neither accepts nor refuses the request.
const elsewhere scenario.NotTested = "the response leads elsewhere, and the document does not say so"

// leadsElsewhere reports whether a response is a redirection that the document does not have, as a page of a login is.
func (j *Judge) leadsElsewhere(x scenario.Interaction) bool {
	operation := j.Document.Serving(x.Method, x.Path)
	return x.Status/100 == 3 && x.Header.Get("Location") != "" && operation != nil && !operation.Lists(x.Status)
}

// isFalseCondition reports whether a response says that a condition of the request does not hold (RFC 9110, section 13.2).
func isFalseCondition(x scenario.Interaction) bool {
	switch x.Status {
	case http.StatusPreconditionFailed:
		return x.HasRequestHeader("If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since")
	case http.StatusNotModified:
		return x.HasRequestHeader("If-None-Match", "If-Modified-Since")
	}
	return false
}

// Refused returns an error unless a response refuses a request for a reason. promise is what the test is about. The status
// decides whether it is that reason; what the response says of it, only the options can judge.
func (j *Judge) Refused(x scenario.Interaction, why scenario.Violation, promise scenario.Promise) error {
	if j.leadsElsewhere(x) {
		return elsewhere
	}
	if !why.Allows(x.Status) {
		message := fmt.Sprintf("the request must be refused (%s) with one of %v", why.Kind, why.Statuses())
		if x.Status >= http.StatusInternalServerError {
			return j.Crashed(x, Asked{Violation: &why, Promise: promise}, message)
		}
		cause, root := j.notRefused(x, why, promise)
		return scenario.Broken{Cause: cause, Root: root, Rank: scenario.Behaviour, Message: message}
	}
	faults := j.byOptions(scenario.Judged{Interaction: x, Operation: j.Name(x), Why: &why})
	if len(faults) == 0 {
		return nil
	}
	fault := faults[0] // an error has one cause
	return j.unlessCrashed(scenario.Broken{
		Cause: scenario.Cause{
			Kind: scenario.WrongRefusal, Operation: j.nameOrMethod(x), Violation: why.Kind, Place: fault.Where, Keyword: fault.Keyword,
		},
		Rank:    scenario.Response,
		Message: fmt.Sprintf("the request was refused (%s), but %s", why.Kind, fault),
	}, x, Asked{Violation: &why, Promise: promise})
}
