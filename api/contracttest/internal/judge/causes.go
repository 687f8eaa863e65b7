package judge

import (
	"cmp"
	"fmt"
	"net/http"
	"path"
	"regexp"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// A cause is a root: what has to be mended, in the words of the document. What is wrong with a component is one
// cause for all operations that use it, and so is a parameter that several operations share. A title has no values
// of a response, because failures with one title are one cause.

// Asked is what a test asks a response about. It is zero for a response that no test judges.
type Asked struct {
	Violation *scenario.Violation // nil: the request is valid
	Promise   string              // of the test
}

// Failures makes failures of the faults of a response. What is secret in the request they do not show.
func (j *Judge) Failures(x scenario.Interaction, test string, asked Asked, secret http.Header) (all []scenario.Failure) {
	for _, fault := range j.Faults(x) {
		of, rank := j.titleOf(fault, x, asked)
		all = append(all, scenario.Failure{
			Cause: of.cause, Root: of.root, Rank: rank, Test: test, Sent: x.Hidden(secret),
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
// whatever the tests were about. That a service is not available is true of all operations (RFC 9110, section 15.6.4).
func CrashOf(operation string, status int) string {
	if status == http.StatusServiceUnavailable {
		operation = "the service"
	}
	return fmt.Sprintf("%s responds with %d", operation, status)
}

// crash is the title of a status of 500 or more. Operations that share a parameter share the code that reads it.
func (j *Judge) crash(x scenario.Interaction, asked Asked) title {
	own := title{cause: CrashOf(j.Name(x), x.Status)}
	why := asked.Violation
	always, _ := j.failing.Load(j.Name(x))
	isUnasked := why == nil || always == x.Status || x.Status == http.StatusServiceUnavailable
	switch {
	case isUnasked:
		return own
	case why.IsOfCredentials():
		return title{cause: fmt.Sprintf("wrong credentials give %d", x.Status)}
	case why.Kind == scenario.InvalidParameter && j.isShared(x, why.In, path.Base(why.Pointer)):
		return title{cause: fmt.Sprintf("an invalid parameter %s gives %d", path.Base(why.Pointer), x.Status)}
	case why.In == "body" && why.Pointer == "":
		own.root = rootOfBody(x)
	}
	return own
}

// longestShared is the longest body that different operations get. What is longer is made of the schema of one.
const longestShared = 40

// rootOfBody is the root of crashes on a body that is wrong as a whole, such as [] or 1e999: it is read before the code of
// the operation has it. So is a body that is announced only.
func rootOfBody(x scenario.Interaction) string {
	switch {
	case len(x.RequestBody) > longestShared:
		return ""
	case len(x.RequestBody) == 0:
		return fmt.Sprintf("the media type %s without a body gives %d", x.RequestHeader.Get("Content-Type"), x.Status)
	}
	return fmt.Sprintf("the body %q gives %d", x.RequestBody, x.Status)
}

// titleOf names what is wrong without the values of a response. Faults of headers, media types and failed
// requests are mostly of the service as a whole, others of a component or an operation.
func (j *Judge) titleOf(fault scenario.Fault, x scenario.Interaction, asked Asked) (found title, rank scenario.Rank) {
	if x.Status >= http.StatusInternalServerError && fault.Where == "status" {
		return j.crash(x, asked), scenario.Crash
	}
	switch {
	case fault.Where == "status":
		return statusTitle(j.Name(x), fault, x.Status)
	case fault.Where == "media type":
		found.cause = fmt.Sprintf("a response of %dxx has another media type: %s", x.Status/100, x.Header.Get("Content-Type"))
		return found, scenario.Undocumented
	case strings.HasPrefix(fault.Where, "header "):
		found.cause = fmt.Sprintf("%s %s", fault.Where, saysOf(fault.Keyword))
		return found, scenario.Header
	}
	if echoed := j.echo(fault, x, asked); echoed.cause != "" {
		return echoed, scenario.Behaviour
	}
	return j.bodyTitle(fault, x), scenario.Response
}

// statusTitle is the title of a response that should have another status.
func statusTitle(name string, fault scenario.Fault, status int) (title, scenario.Rank) {
	switch {
	case fault.Keyword != unlistedStatus:
		return title{cause: "the status " + fault.Message}, scenario.Behaviour
	case status < http.StatusBadRequest:
		return undocumentedSuccess(name, status), scenario.Undocumented
	}
	return title{cause: fmt.Sprintf("the status %d is not documented", status)}, scenario.Undocumented
}

// undocumentedSuccess is the title of a success that the document does not have, or has for other requests only.
func undocumentedSuccess(name string, status int) title {
	return title{
		cause: fmt.Sprintf("%s succeeds with %d, which is not documented", name, status),
		root:  fmt.Sprintf("successes with %d are not documented", status),
	}
}

// bodyTitle is the title of a wrong body. That members are null where they must not be is mostly a setting of what writes
// the JSON, and where many members are missing, another object was sent.
func (j *Judge) bodyTitle(fault scenario.Fault, x scenario.Interaction) title {
	of, place := j.ofBody(fault, x)
	found := title{cause: strings.TrimSpace(of+" "+place) + " " + saysOf(fault.Keyword)}
	switch fault.Keyword {
	case "nullable":
		found.root = "responses have null where the document does not allow it"
	case "required":
		found.root = of + " required members are missing"
	}
	return found
}

// ofBody says of what a wrong body is, and where it is wrong. Bodies of failures are mostly made in one place of a service.
func (j *Judge) ofBody(fault scenario.Fault, x scenario.Interaction) (of, where string) {
	if place := j.placeInResponse(fault, x); place.Component != "" {
		return place.Component + " in responses:", place.Pointer
	}
	where = indexOrKey.ReplaceAllString(fault.Where, "/*$2")
	if x.Status >= http.StatusBadRequest {
		return fmt.Sprintf("a response with %d:", x.Status), where
	}
	return fmt.Sprintf("%s, %d:", j.Name(x), x.Status), where
}

// placeInResponse finds the component that says what a fault of a body breaks. Faults that the options find, or clients
// of earlier documents, have none.
func (j *Judge) placeInResponse(fault scenario.Fault, x scenario.Interaction) schema.Place {
	isOfBody := fault.Where == "body" || strings.HasPrefix(fault.Where, "body /")
	if !isOfBody {
		return schema.Place{}
	}
	return placeOf(fault, j.describedAs(x))
}

// indexOrKey finds what differs from response to response in the place of a fault.
var indexOrKey = regexp.MustCompile(`/([0-9]+|` + schema.UnknownMember + `)(/|$)`)

// describedAs is the schema that the document has for the body of a response, or nil.
func (j *Judge) describedAs(x scenario.Interaction) *openapi3.SchemaRef {
	operation := j.Document.Serving(x.Method, x.Path)
	if operation == nil {
		return nil
	}
	described := operation.Response(x.Status)
	if described == nil {
		return nil
	}
	found, wrong := contentOf(described.Content, x)
	if wrong != nil {
		return nil
	}
	return found.media.Schema
}

// pointerOf is the JSON Pointer in the place of a fault of a body.
func pointerOf(fault scenario.Fault) string {
	_, pointer, _ := strings.Cut(fault.Where, " ")
	return pointer
}

// placeOf finds where the document says what a fault breaks. That a member is required says the object.
func placeOf(fault scenario.Fault, described *openapi3.SchemaRef) schema.Place {
	pointer := pointerOf(fault)
	if fault.Keyword != "required" {
		return schema.PlaceOf(described, pointer)
	}
	i := strings.LastIndexByte(pointer, '/')
	place := schema.PlaceOf(described, pointer[:max(i, 0)])
	place.Pointer += strings.Replace(pointer[max(i, 0):], schema.UnknownMember, "*", 1)
	return place
}

// phrases say what is wrong where a keyword is broken, for those that are not as plain as minLength.
var phrases = map[string]string{
	"content":  "is not what its media type says",
	"required": "is missing",
	"nullable": "is null",
	"type":     "has another type",
	"format":   "does not have its format",
	"paths":    "does not list the methods of its path",
}

// saysOf says that a keyword is broken.
func saysOf(keyword string) string { return cmp.Or(phrases[keyword], "breaks "+keyword) }
