package judge

import (
	"fmt"
	"net/http"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Whether a request was refused for the right reason is seen by the status that it deserves, and not by those that
// the document lists: a document that lists 500 does not make a crash right. That the status is documented is a
// question of its own (response.go).

// Broken says what is wrong with a service that has responded, as an error. A status of 500 or more is
// a crash, whatever was expected.
func (j *Judge) broken(x scenario.Interaction, rank scenario.Rank, of title, message string) error {
	if x.Status >= http.StatusInternalServerError {
		return j.Crashed(x, Asked{}, message)
	}
	return scenario.Broken{
		Cause:   of.cause,
		Root:    of.root,
		Rank:    rank,
		Message: message,
	}
}

// nameOrMethod is the name of the operation that a request was for, or its method.
func (j *Judge) nameOrMethod(x scenario.Interaction) string {
	if operation := j.Document.Serving(x.Method, x.Path); operation != nil {
		return operation.ID
	}
	return x.Method
}

// Crashed says that a response is a failure of the service.
func (j *Judge) Crashed(x scenario.Interaction, asked Asked, message string) error {
	of := j.crash(x, asked)
	return scenario.Broken{
		Cause:   of.cause,
		Root:    of.root,
		Rank:    scenario.Crash,
		Message: message,
	}
}

// Silent is the cause of requests that got no response, of which nothing more is known.
func (j *Judge) Silent(x scenario.Interaction) string {
	return j.nameOrMethod(x) + " gives no response"
}

// Accepted returns an error unless a response is a success of the operation, or the request had a condition
// that does not hold. A 412 is a success of a request that asked for one. promise is what the request was made
// for, if that may be why it is refused.
func (j *Judge) Accepted(x scenario.Interaction, promise string) error {
	if holdsNot(x) {
		return nil
	}
	operation := j.Document.Serving(x.Method, x.Path)
	isSuccess := operation == nil || operation.Succeeds(x.Status)
	if isSuccess && x.Status < http.StatusBadRequest {
		return nil
	}
	if x.Status >= http.StatusOK && x.Status < http.StatusMultipleChoices {
		of := undocumentedSuccess(j.nameOrMethod(x), x.Status)
		return j.broken(x, scenario.Undocumented, of, "no success of the document has this status")
	}
	return j.broken(x, scenario.Behaviour, j.refusedTitle(x, promise), "the request is valid, but was refused")
}

// holdsNot reports whether a response says that a condition of the request does not hold (RFC 9110,
// section 13.2).
func holdsNot(x scenario.Interaction) bool {
	switch x.Status {
	case http.StatusPreconditionFailed:
		return x.HasRequestHeader("If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since")
	case http.StatusNotModified:
		return x.HasRequestHeader("If-None-Match", "If-Modified-Since")
	}
	return false
}

// Refused returns an error unless a response refuses a request for a reason. promise is what the test is
// about. The status alone decides; what the response says of the reason, only the options can judge.
func (j *Judge) Refused(x scenario.Interaction, why scenario.Violation, promise string) error {
	if !why.Allows(x.Status) {
		message := fmt.Sprintf("the request must be refused (%s) with one of %v", why.Kind, why.Statuses())
		if x.Status >= http.StatusInternalServerError {
			return j.Crashed(x, Asked{&why, promise}, message)
		}
		return j.broken(x, scenario.Behaviour, j.notRefused(x, why, promise), message)
	}
	if j.Settings.Refusal == nil {
		return nil
	}
	for _, fault := range j.Settings.Refusal(why, x) {
		cause := fmt.Sprintf("%s: %s: %s, %s", j.nameOrMethod(x), why.Kind, fault.Where, fault.Keyword)
		return j.broken(x, scenario.Response, title{cause: cause}, fmt.Sprintf("the request was refused (%s), but %s", why.Kind, fault))
	}
	return nil
}
