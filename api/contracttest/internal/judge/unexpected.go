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
	cause.Operation = j.nameOrMethod(x)
	isAccepted := x.Status < http.StatusBadRequest
	isOfPlace := why.In != "" && promise != (scenario.Promise{})
	switch {
	case why.IsOfCredentials():
		return j.ignoredCredentials(cause.Operation, why.Kind), root
	case isAccepted && isOfPlace:
		cause = j.accepted(x, why, promise.Keyword)
		return cause, rootOfAccepted(cause)
	case isUnconditional(x):
		cause.Kind = scenario.FalseConditionIs304
	case isAccepted && why.Kind == scenario.WrongMediaType:
		// Media types are looked at in one place.
		return scenario.Cause{Kind: scenario.AcceptsAnyMediaType}, root
	case isAccepted && why.Kind == scenario.MissingBody:
		cause.Kind = scenario.AcceptsNoBody
		root.Kind = cause.Kind
	case isAccepted:
		cause.Kind = scenario.Succeeds
		cause.Violation = why.Kind
	default:
		cause.Kind = scenario.RefusesOtherwise
		cause.Violation = why.Kind
		cause.Status = x.Status
	}
	return cause, root
}

// ignoredCredentials is the cause of a request that lacks credentials, or has wrong ones. An operation that needs none
// cannot see that they are wrong.
func (j *Judge) ignoredCredentials(operation string, kind scenario.Kind) scenario.Cause {
	if kind == scenario.NoCredentials {
		j.open.Store(operation, true)
	}
	if _, isOpen := j.open.Load(operation); isOpen {
		kind = scenario.NoCredentials
	}
	return scenario.Cause{Kind: scenario.IgnoresCredentials, Violation: kind}
}

// isUnconditional reports whether a response says that nothing has changed, and the request did not ask that: a condition
// that does not hold was taken for one that asks it (RFC 9110, sections 13.1.1 and 13.1.4).
func isUnconditional(x scenario.Interaction) bool {
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

// accepted is the cause of a value of a body or a parameter that is accepted although a keyword forbids it.
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
		cause = j.placeInBody(x, strings.TrimSuffix(path.Dir(why.Pointer), "/"), keyword)
	case keyword == "oneOf" && j.isSeveral(x, why.Pointer):
		keyword = scenario.SeveralOf
	default:
		keyword = ofParts(keyword)
	}
	cause.Kind = scenario.Accepts
	cause.Keyword = keyword
	return cause
}

// isSeveral reports whether a body has an object somewhere that several schemas of a oneOf allow.
func (j *Judge) isSeveral(x scenario.Interaction, pointer string) bool {
	described := schema.At(j.taken(x), pointer)
	body, _ := jsonvalue.Decode(x.RequestBody) // what is no JSON has no object
	value := jsonvalue.Lookup(body, "#"+pointer)
	if jsonvalue.Object(value) == nil {
		return false
	}
	return slices.ContainsFunc(described.OneOf, func(branch *schema.Schema) bool {
		return schema.Allows(branch, value)
	})
}

// ofParts is the keyword of a part that a value breaks which breaks a keyword of the whole. Tests send there what they
// have sent to the first part, and that is a value of another type.
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
	if taken := j.taken(x); taken != nil {
		place = placeOf(scenario.Fault{Where: "body " + pointer, Keyword: keyword}, taken)
	}
	cause := scenario.Cause{In: "body", Component: place.Component, Place: place.Pointer}
	isOfOne := place.Component == "" && !j.isCommon(x, pointer)
	if isOfOne {
		cause.Operation = j.nameOrMethod(x)
	}
	return cause
}

// fewOperations is how many operations may describe one member alike by chance.
const fewOperations = 2

// isCommon reports whether other operations have the same schema in the same place. Authors, and converters, write one
// schema several times where a component would do.
func (j *Judge) isCommon(x scenario.Interaction, pointer string) bool {
	if pointer == "" {
		return false
	}
	own := j.Document.TextOf(schema.At(j.taken(x), pointer))
	same := 0
	for _, operation := range j.Document.Operations {
		if own != "" && j.Document.TextOf(schema.At(operation.BodySchema(), pointer)) == own {
			same++
		}
	}
	return same > fewOperations
}

// taken is the schema of the body that a request must have, or nil.
func (j *Judge) taken(x scenario.Interaction) *schema.Schema {
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

// isShared reports whether other operations have the parameter with a name that a request has in a place, empty: in
// any place.
func (j *Judge) isShared(x scenario.Interaction, in, name string) bool {
	own := j.Document.Serving(x.Method, x.Path)
	if own == nil {
		return false
	}
	return slices.ContainsFunc(own.Parameters, func(parameter *document.Parameter) bool {
		isIt := parameter.Name == name && (in == "" || in == parameter.In)
		return isIt && slices.ContainsFunc(j.Document.Operations, func(other *document.Operation) bool {
			same := other.Parameter(parameter.In, name)
			return other != own && same != nil && j.isAlike(parameter, same)
		})
	})
}

// isAlike reports whether two parameters take the same values.
func (j *Judge) isAlike(parameter, other *document.Parameter) bool {
	wanted, _ := document.ParameterSchema(parameter)
	same, _ := document.ParameterSchema(other)
	return j.Document.TextOf(wanted) == j.Document.TextOf(same)
}

// wronglyRefused is the cause of a valid request that is refused. A promise, if there is one, is the reason.
func (j *Judge) wronglyRefused(x scenario.Interaction, promise scenario.Promise) (cause, root scenario.Cause) {
	mustAccept := promise.Duty == scenario.MustAccept
	switch {
	case isUnconditional(x):
		return scenario.Cause{Kind: scenario.FalseConditionIs304, Operation: j.nameOrMethod(x)}, root
	case promise.Keyword == "additionalProperties":
		return scenario.Cause{Kind: scenario.RefusesUnnamed, Status: x.Status}, root
	case mustAccept && promise.Kind == scenario.BodyKeyword && promise.Place != "":
		root = j.placeInBody(x, promise.Place, "required")
		root.Kind = scenario.RefusesMember
		root.Status = x.Status
		cause = root
		root.Place = ""
		if promise.Keyword == "required" && !j.hasMember(x, promise.Place) {
			cause.Keyword = promise.Keyword
		}
		return cause, root
	case mustAccept && promise.Kind == scenario.ParameterKeyword:
		at := strings.TrimSuffix(promise.Place, "/*") // what takes no item takes no list
		return scenario.Cause{
			Kind: scenario.RefusesParameter, Operation: j.ownOperation(x, "", at), Place: at, Status: x.Status,
		}, root
	}
	cause = scenario.Cause{Kind: scenario.RefusesValid, Operation: j.nameOrMethod(x), Status: x.Status}
	isOfBody := slices.Contains([]int{http.StatusBadRequest, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity}, x.Status)
	if isOfBody && j.taken(x) != nil && len(x.RequestBody) == 0 {
		cause.Kind = scenario.RefusesNoBody
		root = scenario.Cause{Kind: scenario.RefusesNoBody, Status: x.Status}
	}
	return cause, root
}

// hasMember reports whether the body of a request has a place.
func (j *Judge) hasMember(x scenario.Interaction, place string) bool {
	body, _ := jsonvalue.Decode(x.RequestBody) // what is no JSON has no member
	i := strings.LastIndexByte(place, '/')
	object := jsonvalue.Object(jsonvalue.Lookup(body, "#"+jsonvalue.First(place[:i])))
	_, has := object[jsonvalue.Unescape(place[i+1:])]
	return has
}

// isEcho reports whether a wrong body only has what a test has sent, and the service should have refused.
func (j *Judge) isEcho(fault scenario.Fault, x scenario.Interaction, asked Asked) bool {
	why := asked.Violation
	isAccepted := why != nil && why.In == "body" && x.Status < http.StatusBadRequest
	if !isAccepted || asked.Promise.Keyword != fault.Keyword {
		return false
	}
	return path.Base(why.Pointer) == path.Base(pointerOf(fault))
}
