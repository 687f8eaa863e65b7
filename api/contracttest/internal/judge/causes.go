package judge

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"path"
	"regexp"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// A cause is a root: what has to be mended, in the words of the document. What is wrong with a component is one
// cause for all operations that use it, and so is a parameter that several operations share. A cause has no values
// of a response.

// Asked is what a test asks a response about. It is zero for a response that no test judges.
type Asked struct {
	Violation *scenario.Violation // nil: the request is valid
	Promise   scenario.Promise    // of the test
}

// Failures makes failures of the faults of a response. They do not show the secret headers of the request.
func (j *Judge) Failures(x scenario.Interaction, test string, asked Asked, secret http.Header) (all []scenario.Failure) {
	for _, fault := range j.Faults(x) {
		cause, root, rank := j.causeOf(fault, x, asked)
		all = append(all, scenario.Failure{
			Cause: cause, Root: root, Rank: rank, Test: test, Sent: x.Hidden(secret), Operation: j.Name(x),
			Message: fmt.Sprintf("the status is %d, but %s", x.Status, fault),
		})
	}
	return all
}

// Name is the id of the operation that a request was for. Empty: the document has none.
func (j *Judge) Name(x scenario.Interaction) string {
	if operation := j.Document.Serving(x.Method, x.Path); operation != nil {
		return operation.ID
	}
	return ""
}

// nameWithoutSlash is the id of the operation that a request was for, also where its path has a slash too many: many services take
// both for one.
func (j *Judge) nameWithoutSlash(x scenario.Interaction) string {
	if name := j.Name(x); name != "" {
		return name
	}
	x.Path = strings.TrimSuffix(x.Path, "/")
	return j.Name(x)
}

// CrashOf is the cause of responses of an operation with a status of 500 or more. One mistake makes most of them, whatever
// the tests were about. That a service is not available is of no operation alone (RFC 9110, section 15.6.4).
func CrashOf(operation string, status int) scenario.Cause {
	if status == http.StatusServiceUnavailable {
		return scenario.Cause{Kind: scenario.Unavailable, Status: status}
	}
	return scenario.Cause{Kind: scenario.Crashes, Operation: operation, Status: status}
}

// crash is the cause of a status of 500 or more. Its root is what the test has changed in the request, where that may be the
// reason, or the message of the response.
func (j *Judge) crash(x scenario.Interaction, asked Asked) (cause, root scenario.Cause) {
	own := CrashOf(j.nameWithoutSlash(x), x.Status)
	why := asked.Violation
	always, _ := j.failing.Load(j.Name(x))
	isOfMember := asked.Promise.Kind == scenario.BodyKeyword && asked.Promise.Place != ""
	switch {
	case x.Status == http.StatusServiceUnavailable:
		return own, rootOfCrash(x)
	case always == x.Status, isOfMember: // not because of what was changed, or of what reads the whole body
		return own, j.rootOfOperation(x, asked.Promise)
	case why == nil && asked.Promise.Kind == scenario.ParameterKeyword: // one mistake fails on valid values and on others
		name, _, _ := strings.Cut(asked.Promise.Place, "/")
		return own, rootOfParameter(x, "", name)
	case why == nil:
		return own, j.rootOfOperation(x, asked.Promise)
	case why.IsOfCredentials():
		return scenario.Cause{Kind: scenario.CredentialsCrash, Status: x.Status}, root
	case why.Kind == scenario.InvalidParameter:
		name := path.Base(why.Pointer)
		return j.parameterCrash(x, why.In, name), rootOfParameter(x, why.In, name)
	case why.In == "body" && why.Pointer == "":
		return own, rootOfBody(x)
	}
	return own, rootOfCrash(x)
}

// parameterCrash is the cause of a crash on a parameter. Operations that share one share the code that reads it.
func (j *Judge) parameterCrash(x scenario.Interaction, in, name string) scenario.Cause {
	if j.isShared(x, in, name) {
		return scenario.Cause{Kind: scenario.ParameterCrash, Place: name, Status: x.Status}
	}
	return CrashOf(j.Name(x), x.Status)
}

// rootOfParameter is the root of crashes on parameters. Those of one family of names, such as filter[eq] and filter[in], often
// share the code that reads them, and all operations share the code that decodes a %00 or %FF in the path.
func rootOfParameter(x scenario.Interaction, in, name string) scenario.Cause {
	for _, value := range []string{"%FF", "%00"} {
		if in == "path" && strings.Contains(x.Path, value) {
			return scenario.Cause{Kind: scenario.PathCrash, Value: value, Status: x.Status}
		}
	}
	family, _, _ := strings.Cut(name, "[")
	return scenario.Cause{Kind: scenario.ParameterCrash, Place: family, Status: x.Status}
}

// rootOfComponent is the root of crashes on a place in a body, or nothing: operations that take one component, be it deep within
// their bodies, share what reads it.
func (j *Judge) rootOfComponent(x scenario.Interaction, place string) scenario.Cause {
	component := schema.PlaceOf(j.describedRequest(x), place).Component
	if component == "" {
		return scenario.Cause{}
	}
	return scenario.Cause{Kind: scenario.Crashes, Component: component, Status: x.Status}
}

// rootOfOperation is the root of crashes that are of operations as they are, or nothing: the message, what is read, or what is
// sent.
func (j *Judge) rootOfOperation(x scenario.Interaction, of scenario.Promise) scenario.Cause {
	place := ""
	if of.Kind == scenario.BodyKeyword {
		place = of.Place
	}
	return cmp.Or(rootOfCrash(x), j.rootOfReads(x), j.rootOfComponent(x, place))
}

// rootOfReads is the root of crashes of reads of one path, whatever is read below it, or nothing: they load what the path names,
// and fail if it does not exist. Writes do more than that.
//
//	GET /pots/{potId}/label, GET /pots/{id}/plants/count   /pots/{}
func (j *Judge) rootOfReads(x scenario.Interaction) scenario.Cause {
	operation := j.Document.Serving(x.Method, x.Path)
	if operation == nil || x.Method != http.MethodGet || len(operation.PathNames) == 0 {
		return scenario.Cause{}
	}
	named := operation.Prefix(len(operation.PathNames) - 1)
	return scenario.Cause{Kind: scenario.ReadsCrash, Place: named, Status: x.Status}
}

// longestShared is the length of the longest body that tests send to all operations, such as []. A longer one is made from the
// schema of one operation.
const longestShared = 40

// rootOfBody is the root of crashes on a body that is wrong as a whole, such as [] or 1e999. Code that all operations share reads
// it before the code of the operation runs. The same goes for a body that is announced by its Content-Type and not sent.
func rootOfBody(x scenario.Interaction) scenario.Cause {
	switch {
	case len(x.RequestBody) > longestShared:
		return scenario.Cause{}
	case len(x.RequestBody) == 0:
		return scenario.Cause{Kind: scenario.AnnouncedBodyCrash, Value: x.RequestHeader.Get("Content-Type"), Status: x.Status}
	}
	return scenario.Cause{Kind: scenario.BodyCrash, Value: string(x.RequestBody), Status: x.Status}
}

// causeOf is what is wrong without the values of a response, and its root. Faults of headers, media types and failed
// requests are mostly of the service as a whole, others of a component or an operation.
func (j *Judge) causeOf(fault scenario.Fault, x scenario.Interaction, asked Asked) (cause, root scenario.Cause, rank scenario.Rank) {
	header, isHeader := strings.CutPrefix(fault.Where, "header ")
	switch {
	case fault.Where == "status":
		return j.ofStatus(fault, x, asked)
	case fault.Where == "media type":
		cause = scenario.Cause{Kind: scenario.OtherMediaType, Status: x.Status / 100, Value: x.Header.Get("Content-Type")}
		return cause, root, scenario.Undocumented
	case isHeader:
		return scenario.Cause{Kind: scenario.WrongHeader, Place: header, Keyword: fault.Keyword}, root, scenario.Header
	case j.isEcho(fault, x, asked):
		cause, root = j.notRefused(x, *asked.Violation, asked.Promise)
		return cause, root, scenario.Behaviour
	}
	cause, root = j.ofBody(fault, x)
	return cause, root, scenario.Response
}

// ofStatus is the cause of a response that should have another status.
func (j *Judge) ofStatus(fault scenario.Fault, x scenario.Interaction, asked Asked) (cause, root scenario.Cause, rank scenario.Rank) {
	switch {
	case x.Status >= http.StatusInternalServerError:
		cause, root = j.crash(x, asked)
		return cause, root, scenario.Crash
	case fault.Keyword == "paths" && x.Status < http.StatusBadRequest:
		return j.undocumentedOperation(x), scenario.Cause{Kind: scenario.UndocumentedOperation}, scenario.Behaviour
	case fault.Keyword != unlistedStatus:
		return scenario.Cause{Kind: scenario.WrongStatus, Keyword: fault.Keyword, Status: fault.Wanted}, root, scenario.Behaviour
	case x.Status < http.StatusBadRequest:
		cause, root = undocumentedSuccess(j.Name(x), x.Status)
		return cause, root, scenario.Undocumented
	}
	root = scenario.Cause{Kind: scenario.UndocumentedStatus}
	return scenario.Cause{Kind: scenario.UndocumentedStatus, Status: x.Status}, root, scenario.Undocumented
}

// undocumentedOperation is the cause of a success of a request that no operation of the document serves. It has the method in
// place of the operation, and the template of the path if the document has that.
func (j *Judge) undocumentedOperation(x scenario.Interaction) scenario.Cause {
	cause := scenario.Cause{Kind: scenario.UndocumentedOperation, Operation: x.Method, Place: x.Path}
	if on := j.operationsOn(x.Path); len(on) > 0 {
		cause.Place = on[0].Template
	}
	return cause
}

// undocumentedSuccess is the cause of a success that the document does not have, or has for other requests only.
func undocumentedSuccess(operation string, status int) (cause, root scenario.Cause) {
	root = scenario.Cause{Kind: scenario.UndocumentedSuccess, Status: status}
	cause = root
	cause.Operation = operation
	return cause, root
}

// ofBody is the cause of a wrong body: of a component that the document has at the place of the fault, else of a response of the
// operation. Bodies of failures, and those that several operations describe alike, are of no operation, because they are mostly
// made in one place of a service.
//
// The root is that the whole object has another form, unless the fault is a null, or a format: these are mostly settings of the
// library that writes the JSON, as dates without a time zone are.
func (j *Judge) ofBody(fault scenario.Fault, x scenario.Interaction) (cause, root scenario.Cause) {
	cause = scenario.Cause{Kind: scenario.WrongBody, Keyword: fault.Keyword}
	if place := j.placeInResponse(fault, x); place.Component != "" {
		cause.Component = place.Component
		cause.Place = place.Pointer
	} else {
		cause.Status = x.Status
		cause.Place = indexOrKey.ReplaceAllString(fault.Where, "/*$2") // body /items/3/name: body /items/*/name
		if x.Status < http.StatusBadRequest && !j.isCommonResponse(x) {
			cause.Operation = j.Name(x)
		}
	}
	root = scenario.Cause{Kind: scenario.WrongForm, Operation: cause.Operation, Component: cause.Component, Status: cause.Status}
	format := schema.FormatAt(j.describedResponse(x), pointerOf(fault))
	switch {
	case fault.Keyword == "nullable":
		root = scenario.Cause{Kind: scenario.WrongBody, Keyword: fault.Keyword}
	case fault.Keyword == "format" && format != "":
		root = scenario.Cause{Kind: scenario.WrongBody, Keyword: fault.Keyword, Place: format}
	case string(bytes.TrimSpace(x.Body)) == "{}": // in place of what does not exist, or was not found
		root = scenario.Cause{Kind: scenario.WrongForm, Value: "{}"}
	}
	return cause, root
}

// isCommonResponse reports whether more than a few operations describe the body of a response alike.
func (j *Judge) isCommonResponse(x scenario.Interaction) bool {
	return j.isCommon(j.describedResponse(x), func(operation *document.Operation) *schema.Schema {
		return describedBy(operation, x)
	})
}

// placeInResponse finds the component that says what a fault of a body breaks. Faults that the options find, or clients
// of earlier documents, have none.
func (j *Judge) placeInResponse(fault scenario.Fault, x scenario.Interaction) schema.Place {
	isOfBody := fault.Where == "body" || strings.HasPrefix(fault.Where, "body /")
	if !isOfBody {
		return schema.Place{}
	}
	return placeOf(fault, j.describedResponse(x))
}

// indexOrKey finds what differs from response to response in the place of a fault.
var indexOrKey = regexp.MustCompile(`/([0-9]+|` + schema.UnknownMember + `)(/|$)`)

// describedResponse is the schema that the document has for the body of a response, or nil.
func (j *Judge) describedResponse(x scenario.Interaction) *schema.Schema {
	operation := j.Document.Serving(x.Method, x.Path)
	if operation == nil {
		return nil
	}
	return describedBy(operation, x)
}

// describedBy is the schema that an operation has for the body of a response, or nil.
func describedBy(operation *document.Operation, x scenario.Interaction) *schema.Schema {
	described := operation.Response(x.Status)
	if described == nil {
		return nil
	}
	found, faults := contentOf(described.Content, x)
	if faults != nil {
		return nil
	}
	return found.media.Schema
}

// pointerOf is the JSON Pointer in the place of a fault of a body: /items/0 of "body /items/0".
func pointerOf(fault scenario.Fault) string {
	_, pointer, _ := strings.Cut(fault.Where, " ")
	return pointer
}

// placeOf finds where the document says what a fault breaks. It says of an object which members are required, so a member that is
// missing at /items/0/name is /name in the place of /items/0.
func placeOf(fault scenario.Fault, described *schema.Schema) schema.Place {
	pointer := pointerOf(fault)
	if fault.Keyword != "required" {
		return schema.PlaceOf(described, pointer)
	}
	object, member := jsonvalue.Split(pointer)
	place := schema.PlaceOf(described, object)
	place.Pointer += strings.Replace(member, schema.UnknownMember, "*", 1)
	return place
}
