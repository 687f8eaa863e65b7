package judge

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// indexOrKey finds what differs from response to response in the place of a fault.
var indexOrKey = regexp.MustCompile(`/([0-9]+|` + schema.UnknownMember + `)(/|$)`)

// Failures makes failures of the faults of a response. What is secret in the request they do not show.
func (j *Judge) Failures(x scenario.Interaction, test string, secret http.Header) (all []scenario.Failure) {
	for _, fault := range j.Faults(x) {
		cause, rank := j.cause(fault, x)
		all = append(all, scenario.Failure{
			Cause: cause, Rank: rank, Test: test, Sent: x.Hidden(secret),
			Message: fmt.Sprintf("the status is %d, but %s", x.Status, fault),
		})
	}
	return all
}

// Name is the name of the operation that a request was for.
func (j *Judge) Name(x scenario.Interaction) string {
	if operation := j.Document.Serving(x.Method, x.Path); operation != nil {
		return operation.ID
	}
	return "an operation that the document does not have"
}

// CrashOf is the cause of all failures of a service with a status of 500 or more. One mistake makes most of them,
// whatever the tests were about.
func CrashOf(operation string, status int) string {
	return fmt.Sprintf("%s responds with %d", operation, status)
}

// cause names what is wrong without the values of a response. Faults of headers, media types and failed
// requests are mostly of the service as a whole, others of an operation. Two faults of one root with
// different causes are told twice, and a reader takes them for two mistakes.
func (j *Judge) cause(fault scenario.Fault, x scenario.Interaction) (cause string, rank scenario.Rank) {
	name := j.Name(x)
	where := indexOrKey.ReplaceAllString(fault.Where, "/*$2")
	if fault.Where == "status" {
		return statusCause(name, fault, x.Status)
	}
	switch {
	case fault.Where == "media type":
		return fmt.Sprintf("a response of %dxx has another media type: %s", x.Status/100, x.Header.Get("Content-Type")), scenario.Undocumented
	case strings.HasPrefix(fault.Where, "header "):
		return fmt.Sprintf("%s, %s", fault.Where, fault.Keyword), scenario.Header
	case x.Status >= http.StatusBadRequest:
		return fmt.Sprintf("a response with %d: %s, %s", x.Status, where, fault.Keyword), scenario.Response
	}
	return fmt.Sprintf("%s, %d: %s, %s", name, x.Status, where, fault.Keyword), scenario.Response
}

// statusCause is the cause of a response that should have another status.
func statusCause(name string, fault scenario.Fault, status int) (cause string, rank scenario.Rank) {
	switch {
	case status >= http.StatusInternalServerError:
		return CrashOf(name, status), scenario.Crash
	case fault.Keyword == unlistedStatus:
		return fmt.Sprintf("the status %d is not documented", status), scenario.Undocumented
	}
	return fmt.Sprintf("%s: %s", fault.Keyword, fault.Message), scenario.Behaviour
}
