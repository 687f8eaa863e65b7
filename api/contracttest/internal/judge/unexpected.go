package judge

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// The causes of requests that are accepted and should not be, and of those that are refused and should not be.

// succeeds says what an operation has accepted, where that is neither a parameter nor a member of a body.
var succeeds = map[scenario.Kind]string{
	scenario.UnknownPath:        "at a path that the document does not have",
	scenario.UnknownMethod:      "with a method that the document does not have",
	scenario.InvalidParameter:   "with an invalid parameter",
	scenario.MalformedBody:      "with a body that is not JSON",
	scenario.InvalidBody:        "with an invalid body",
	scenario.UnknownPosition:    "from a position that does not exist",
	scenario.UnknownResource:    "for what does not exist",
	scenario.PreconditionFailed: "although the precondition does not hold",
	scenario.Conflict:           "in spite of a conflict",
}

// ignored says of credentials that a service does not look at. That is mostly of the service as a whole.
var ignored = map[scenario.Kind]string{
	scenario.NoCredentials:  "requests without credentials are not refused",
	scenario.BadCredentials: "requests with wrong credentials are not refused",
	scenario.MissingScope:   "requests without the scope are not refused",
}

// notRefused is the title of a request that is not refused as it should be.
func (j *Judge) notRefused(x scenario.Interaction, why scenario.Violation, promise string) title {
	name := j.nameOrMethod(x)
	isAccepted := x.Status < http.StatusBadRequest
	isOfPlace := why.In != "" && promise != ""
	switch {
	case why.IsOfCredentials():
		return title{cause: j.ignoredCredentials(name, why.Kind)}
	case isAccepted && isOfPlace && why.In == "body":
		return j.acceptedBody(x, why, constraint(promise))
	case isAccepted && isOfPlace:
		return j.acceptedParameter(x, why, constraint(promise))
	case isUnconditional(x):
		return title{cause: name + unconditional}
	case isAccepted && why.Kind == scenario.WrongMediaType:
		// Media types are looked at in one place.
		return title{cause: "bodies of another media type are accepted"}
	case isAccepted && why.Kind == scenario.MissingBody:
		return title{cause: name + " succeeds without a body", root: "bodies that are required may be missing"}
	case isAccepted:
		return title{cause: fmt.Sprintf("%s succeeds %s", name, succeeds[why.Kind])}
	}
	return title{cause: fmt.Sprintf("%s: %s refused with %d", name, why.Kind, x.Status)}
}

// ignoredCredentials is the cause of a request that lacks credentials, or has wrong ones. An operation that needs none
// cannot see that they are wrong.
func (j *Judge) ignoredCredentials(operation string, kind scenario.Kind) string {
	if kind == scenario.NoCredentials {
		j.open.Store(operation, true)
	}
	if _, isOpen := j.open.Load(operation); isOpen {
		return ignored[scenario.NoCredentials]
	}
	return ignored[kind]
}

// placeInBody is a place in the body that an operation takes. If a component has what the document says of it, that
// is one cause for all operations that take it.
func (j *Judge) placeInBody(x scenario.Interaction, pointer, keyword string) schema.Place {
	place := schema.Place{Pointer: pointer}
	if taken := j.taken(x); taken != nil {
		place = placeOf(scenario.Fault{Where: "body " + pointer, Keyword: keyword}, taken)
	}
	switch {
	case place.Component != "":
		place.Component += " in requests"
	case j.isCommon(x, pointer):
		place.Component = "requests"
	default:
		place.Component = j.nameOrMethod(x) + " in requests"
	}
	return place
}

// fewOperations is how many operations may describe one member alike by chance.
const fewOperations = 2

// isCommon reports whether other operations have the same schema in the same place. Authors, and converters, write one
// schema several times where a component would do.
func (j *Judge) isCommon(x scenario.Interaction, pointer string) bool {
	if pointer == "" {
		return false
	}
	own := textOf(schema.At(j.taken(x), pointer))
	same := 0
	for _, operation := range j.Document.Operations {
		if own != "" && textOf(schema.At(bodyOf(operation), pointer)) == own {
			same++
		}
	}
	return same > fewOperations
}

// textOf is a schema as JSON, or nothing if it says nothing.
func textOf(described *openapi3.Schema) string {
	text, _ := described.MarshalJSON() // what cannot be written says nothing
	if string(text) == "{}" {
		return ""
	}
	return string(text)
}

// taken is the schema of the body that a request must have, or nil.
func (j *Judge) taken(x scenario.Interaction) *openapi3.SchemaRef {
	return bodyOf(j.Document.Serving(x.Method, x.Path))
}

// bodyOf is the schema of the body that an operation takes, or nil.
func bodyOf(operation *document.Operation) *openapi3.SchemaRef {
	if operation == nil {
		return nil
	}
	mediaType, _ := operation.Body()
	media := operation.Content().Get(mediaType)
	if media == nil {
		return nil
	}
	return media.Schema
}

// ofOperation is the beginning of a cause that is of one operation, or nothing if it is of a parameter that other
// operations have, too.
func (j *Judge) ofOperation(x scenario.Interaction, in, name string) string {
	if j.isShared(x, in, name) {
		return ""
	}
	return j.nameOrMethod(x) + ": "
}

// isShared reports whether other operations have the parameter with a name that a request has in a place, empty: in
// any place.
func (j *Judge) isShared(x scenario.Interaction, in, name string) bool {
	own := j.Document.Serving(x.Method, x.Path)
	if own == nil {
		return false
	}
	return slices.ContainsFunc(own.Parameters, func(parameter *openapi3.Parameter) bool {
		isIt := parameter.Name == name && (in == "" || in == parameter.In)
		return isIt && slices.ContainsFunc(j.Document.Operations, func(other *document.Operation) bool {
			same := other.Parameter(parameter.In, name)
			return other != own && same != nil && isAlike(parameter, same)
		})
	})
}

// isAlike reports whether two parameters take the same values.
func isAlike(parameter, other *openapi3.Parameter) bool {
	wanted, _ := document.ParameterSchema(parameter)
	same, _ := document.ParameterSchema(other)
	return textOf(wanted) == textOf(same)
}

// refusedTitle is the title of a valid request that is refused. A promise, if there is one, is the reason.
func (j *Judge) refusedTitle(x scenario.Interaction, promise string) title {
	name := j.nameOrMethod(x)
	in, at := placeInPromise(promise)
	switch {
	case isUnconditional(x):
		return title{cause: name + unconditional}
	case constraint(promise) == "additionalProperties":
		// Services look for members that they do not know in one place.
		return title{cause: fmt.Sprintf("members that no schema names are refused with %d", x.Status)}
	case in == "body":
		place := j.placeInBody(x, at, "required")
		return title{
			cause: fmt.Sprintf("%s: a valid %s is refused with %d", place.Component, place.Pointer, x.Status),
			root:  fmt.Sprintf("%s: valid members are refused with %d", place.Component, x.Status),
		}
	case in == "parameter":
		at = strings.TrimSuffix(at, "/*") // what takes no item takes no list
		return title{cause: j.ofOperation(x, "", at) + fmt.Sprintf("a valid parameter %s is refused with %d", at, x.Status)}
	}
	return title{cause: fmt.Sprintf("%s: refuses valid requests with %d", name, x.Status)}
}

// placeInPromise is the place in a promise, such as "createThing, body /name minLength, accepted": a pointer into
// the body, or a parameter. Of the body as a whole it is nothing.
func placeInPromise(promise string) (in, at string) {
	words := strings.Fields(promise)
	isOfPlace := len(words) > 2 && strings.HasSuffix(promise, ", accepted")
	switch {
	case isOfPlace && words[1] == "parameter", isOfPlace && strings.HasPrefix(words[2], "/"):
		return words[1], words[2]
	}
	return "", ""
}

// echo is the cause of a wrong body that only has what a test has sent and the service should have refused; empty:
// it is a fault of its own.
func (j *Judge) echo(fault scenario.Fault, x scenario.Interaction, asked Asked) title {
	why := asked.Violation
	isAccepted := why != nil && why.In == "body" && x.Status < http.StatusBadRequest
	if !isAccepted || constraint(asked.Promise) != fault.Keyword {
		return title{}
	}
	if path.Base(why.Pointer) != path.Base(pointerOf(fault)) {
		return title{}
	}
	return j.notRefused(x, *why, asked.Promise)
}

// constraint is the end of a promise, which says what was accepted or refused: "minLength" of
// "createThing, body /name minLength, refused".
func constraint(promise string) string {
	promise = strings.TrimSuffix(strings.TrimSuffix(promise, ", refused"), ", accepted")
	return promise[strings.LastIndexByte(promise, ' ')+1:]
}
