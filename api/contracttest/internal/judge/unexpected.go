package judge

import (
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// The causes of requests that are accepted and should not be, and of those that are refused and should not be.

// notRefused is the cause of a request that is not refused as it should be.
func (j *Judge) notRefused(x scenario.Interaction, why scenario.Violation, promise scenario.Promise) (cause, root scenario.Cause) {
	operation := j.nameOrMethod(x)
	isOfPlace := why.In != "" && promise != (scenario.Promise{})
	switch {
	case why.IsOfCredentials():
		return j.ignoredCredentials(operation, why.Kind), root
	case x.Status >= http.StatusBadRequest:
		return scenario.Cause{Kind: scenario.RefusesOtherwise, Operation: operation, Violation: why.Kind, Status: x.Status}, root
	case isOfPlace:
		cause = j.accepted(x, why, promise.Keyword)
		return cause, rootOfAccepted(cause)
	case isFalse304(x):
		return scenario.Cause{Kind: scenario.FalseConditionIs304, Operation: operation}, root
	case why.Kind == scenario.WrongMediaType: // one place of a service looks at media types
		return scenario.Cause{Kind: scenario.AcceptsAnyMediaType}, root
	case why.Kind == scenario.MissingBody:
		root = scenario.Cause{Kind: scenario.AcceptsNoBody}
		return scenario.Cause{Kind: scenario.AcceptsNoBody, Operation: operation}, root
	}
	return scenario.Cause{Kind: scenario.Succeeds, Operation: operation, Violation: why.Kind}, root
}

// ignoredCredentials is the cause of a request that is not refused for its lack of credentials, or for wrong ones. Where an
// operation does not refuse the first, it does not look at credentials, so that the second has the same cause.
func (j *Judge) ignoredCredentials(operation string, kind scenario.Kind) scenario.Cause {
	if kind == scenario.NoCredentials {
		j.open.Store(operation, true)
	}
	if _, isOpen := j.open.Load(operation); isOpen {
		kind = scenario.NoCredentials
	}
	return scenario.Cause{Kind: scenario.IgnoresCredentials, Violation: kind}
}

// isFalse304 reports whether a response is 304 although the request did not ask whether something has changed: its condition,
// which does not hold, is one of those that lead to 412 (RFC 9110, sections 13.1.1 and 13.1.4).
func isFalse304(x scenario.Interaction) bool {
	hasAsked := x.HasRequestHeader("If-None-Match", "If-Modified-Since")
	return x.Status == http.StatusNotModified && !hasAsked && x.HasRequestHeader("If-Match", "If-Unmodified-Since")
}

// decoded are keywords that libraries check, or the decoder of JSON, and seldom the code of one operation. Where values
// that break one of them are accepted in several places, that has one root.
var decoded = []string{"nullable", "type", "format"}

// rootOfAccepted is what a value that is accepted has in common with others, or nothing.
func rootOfAccepted(cause scenario.Cause) (root scenario.Cause) {
	if slices.Contains(decoded, cause.Keyword) {
		root = scenario.Cause{Kind: scenario.Accepts, Keyword: cause.Keyword}
	}
	return root
}

// accepted is the cause of a value of a body or a parameter that is accepted although a keyword forbids it. A member that no
// schema names is a fault of the object that has it.
func (j *Judge) accepted(x scenario.Interaction, why scenario.Violation, keyword string) scenario.Cause {
	if why.In != "body" {
		name := path.Base(why.Pointer)
		return scenario.Cause{
			Kind: scenario.Accepts, In: "parameter", Operation: j.ownOperation(x, why.In, name), Place: name, Keyword: ofParts(keyword),
		}
	}
	cause := j.placeInBody(x, why.Pointer, keyword)
	isUnnamed := keyword == "additionalProperties" && !strings.HasSuffix(cause.Place, "/*")
	switch {
	case isUnnamed:
		object, _ := jsonvalue.Split(why.Pointer)
		cause = j.placeInBody(x, object, keyword)
	case keyword == "oneOf" && j.isSeveral(x, why.Pointer):
		keyword = scenario.SeveralOf
	default:
		keyword = ofParts(keyword)
	}
	cause.Kind = scenario.Accepts
	cause.Keyword = keyword
	return cause
}

// isSeveral reports whether an object in a body breaks oneOf because several of its schemas allow it. It breaks oneOf anyway,
// so it is enough that one of them does: exactly one would be right.
func (j *Judge) isSeveral(x scenario.Interaction, pointer string) bool {
	described := schema.At(j.describedRequest(x), pointer)
	body, _ := jsonvalue.Decode(x.RequestBody) // what is no JSON has no object
	value := jsonvalue.Lookup(body, "#"+pointer)
	if jsonvalue.Object(value) == nil {
		return false
	}
	return slices.ContainsFunc(described.OneOf, func(branch *schema.Schema) bool { return schema.Allows(branch, value) })
}

// ofParts is the keyword that a value breaks in the parts of a schema, where a test is about one that combines them. The value
// that it sends has another type than the first part, and so breaks type.
func ofParts(keyword string) string {
	switch keyword {
	case "oneOf", "anyOf", "allOf", "additionalProperties":
		return "type"
	}
	return keyword
}

// placeInBody is a place in the body that an operation takes. If a component has what the document says of it, that
// is one cause for all operations that take it.
func (j *Judge) placeInBody(x scenario.Interaction, pointer, keyword string) scenario.Cause {
	place := schema.Place{Pointer: pointer}
	if described := j.describedRequest(x); described != nil {
		place = placeOf(scenario.Fault{Where: "body " + pointer, Keyword: keyword}, described)
	}
	cause := scenario.Cause{In: "body", Component: place.Component, Place: place.Pointer}
	isOfOne := place.Component == "" && !j.isCommonMember(x, pointer)
	if isOfOne {
		cause.Operation = j.nameOrMethod(x)
	}
	return cause
}

// isCommonMember reports whether more than a few operations have the same schema in the same place of their bodies.
func (j *Judge) isCommonMember(x scenario.Interaction, pointer string) bool {
	own := schema.At(j.describedRequest(x), pointer)
	return pointer != "" && j.isCommon(own, func(operation *document.Operation) *schema.Schema {
		return schema.At(operation.BodySchema(), pointer)
	})
}

// fewOperations is how many operations may have the same schema in one place by chance.
const fewOperations = 2

// isCommon reports whether more than a few operations have the same schema, which may be nil, in the place that in looks at.
// Authors, and converters, write one schema several times where a component would do.
func (j *Judge) isCommon(own *schema.Schema, in func(*document.Operation) *schema.Schema) bool {
	text := j.Document.TextOf(own)
	same := 0
	for _, operation := range j.Document.Operations {
		if text != "" && j.Document.TextOf(in(operation)) == text {
			same++
		}
	}
	return same > fewOperations
}

// describedRequest is the schema that the document has for the body of a request, or nil.
func (j *Judge) describedRequest(x scenario.Interaction) *schema.Schema {
	operation := j.Document.Serving(x.Method, x.Path)
	if operation == nil {
		return nil
	}
	return operation.BodySchema()
}

// ownOperation is the operation of a request, or nothing if a cause is of a parameter that others have, too.
func (j *Judge) ownOperation(x scenario.Interaction, in, name string) string {
	if j.isShared(x, in, name) {
		return ""
	}
	return j.nameOrMethod(x)
}

// isShared reports whether another operation has the parameter with a name that a request has in a place, or in any place
// if in is empty.
func (j *Judge) isShared(x scenario.Interaction, in, name string) bool {
	own := j.Document.Serving(x.Method, x.Path)
	if own == nil {
		return false
	}
	return slices.ContainsFunc(own.Parameters, func(parameter *document.Parameter) bool {
		isIt := parameter.Name == name && (in == "" || in == parameter.In)
		return isIt && j.isOfAnother(parameter, own)
	})
}

// isOfAnother reports whether an operation other than its own has a parameter of that name and place that takes the same values.
func (j *Judge) isOfAnother(parameter *document.Parameter, own *document.Operation) bool {
	return slices.ContainsFunc(j.Document.Operations, func(other *document.Operation) bool {
		same := other.Parameter(parameter.In, parameter.Name)
		return other != own && same != nil && j.isAlike(parameter, same)
	})
}

// isAlike reports whether two parameters take the same values.
func (j *Judge) isAlike(parameter, other *document.Parameter) bool {
	wanted, _ := document.ParameterSchema(parameter)
	same, _ := document.ParameterSchema(other)
	return j.Document.TextOf(wanted) == j.Document.TextOf(same)
}

// wronglyRefused is the cause of a valid request that is refused. If there is a promise, the test has changed what that is about
// in a request that was accepted, so that is the reason.
func (j *Judge) wronglyRefused(x scenario.Interaction, promise scenario.Promise) (cause, root scenario.Cause) {
	mustAccept := promise.Duty == scenario.MustAccept
	switch {
	case isFalse304(x):
		return scenario.Cause{Kind: scenario.FalseConditionIs304, Operation: j.nameOrMethod(x)}, root
	case promise.Keyword == "additionalProperties":
		return scenario.Cause{Kind: scenario.RefusesUnnamed, Status: x.Status}, root
	case mustAccept && promise.Kind == scenario.BodyKeyword && promise.Place != "":
		return j.refusedMember(x, promise)
	case mustAccept && promise.Kind == scenario.ParameterKeyword:
		at := strings.TrimSuffix(promise.Place, "/*") // what takes no item takes no list
		return scenario.Cause{
			Kind: scenario.RefusesParameter, Operation: j.ownOperation(x, "", at), Place: at, Status: x.Status,
		}, root
	case j.seemsToNeedBody(x):
		root = scenario.Cause{Kind: scenario.RefusesNoBody, Status: x.Status}
		return scenario.Cause{Kind: scenario.RefusesNoBody, Operation: j.nameOrMethod(x), Status: x.Status}, root
	}
	return scenario.Cause{Kind: scenario.RefusesValid, Operation: j.nameOrMethod(x), Status: x.Status}, root
}

// refusedMember is the cause of a valid member of a body that is refused, or without which the body is. Its root is the same
// without the place.
func (j *Judge) refusedMember(x scenario.Interaction, promise scenario.Promise) (cause, root scenario.Cause) {
	root = j.placeInBody(x, promise.Place, "required")
	root.Kind = scenario.RefusesMember
	root.Status = x.Status
	cause = root
	root.Place = ""
	if promise.Keyword == "required" && !hasMember(x, promise.Place) {
		cause.Keyword = promise.Keyword
	}
	return cause, root
}

// seemsToNeedBody reports whether a request without the body that it may have is refused as if that were missing.
func (j *Judge) seemsToNeedBody(x scenario.Interaction) bool {
	lacksBody := len(x.RequestBody) == 0 && j.describedRequest(x) != nil
	statuses := []int{http.StatusBadRequest, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity}
	return lacksBody && slices.Contains(statuses, x.Status)
}

// hasMember reports whether the body of a request has the member in a place, in which * is any item: /items/*/name.
func hasMember(x scenario.Interaction, place string) bool {
	body, _ := jsonvalue.Decode(x.RequestBody) // what is no JSON has no member
	object, member := jsonvalue.Split(place)
	members := jsonvalue.Object(jsonvalue.Lookup(body, "#"+jsonvalue.First(object)))
	_, has := members[jsonvalue.Unescape(strings.TrimPrefix(member, "/"))]
	return has
}

// isEcho reports whether a wrong body only has what a test has sent, and the service should have refused. The names of the last
// members are compared: a response may have the member in another place.
func (j *Judge) isEcho(fault scenario.Fault, x scenario.Interaction, asked Asked) bool {
	why := asked.Violation
	isAccepted := why != nil && why.In == "body" && x.Status < http.StatusBadRequest
	if !isAccepted || asked.Promise.Keyword != fault.Keyword {
		return false
	}
	return path.Base(why.Pointer) == path.Base(pointerOf(fault))
}
