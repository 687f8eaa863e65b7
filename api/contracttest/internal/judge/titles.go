package judge

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// title is a cause, and the root that it may have in common with others, or nothing: see [scenario.Failure].
type title struct{ cause, root string }

// acceptedPhrases say what is accepted although a keyword forbids it, for those that are not as plain as minLength.
var acceptedPhrases = map[string]string{
	"nullable":             "null",
	"type":                 "a value of another type",
	"format":               "a value of another format",
	"enum":                 "a value that is not in the enum",
	"additionalProperties": "a member that no schema names",
	severalOf:              "an object that several schemas of the oneOf allow",
}

// severalOf is the keyword of a value that is not one of a choice because it is several.
const severalOf = "oneOf, several"

// decoded are keywords that libraries check, or the decoder of JSON, and seldom the code of one operation. Where values
// that break one of them are accepted in several places, that has one root.
var decoded = map[string]string{
	"nullable": "null is accepted where the document does not allow it",
	"type":     "values of another type are accepted",
	"format":   "values of another format are accepted",
}

// acceptedBody is the title of a body that is accepted although a keyword forbids what it has somewhere.
func (j *Judge) acceptedBody(x scenario.Interaction, why scenario.Violation, keyword string) title {
	place := j.placeInBody(x, why.Pointer, keyword)
	isUnnamed := keyword == "additionalProperties" && !strings.HasSuffix(place.Pointer, "/*")
	switch {
	case keyword == "required":
		return title{cause: fmt.Sprintf("%s: %s is required, and may be missing", place.Component, place.Pointer)}
	case isUnnamed:
		object := j.placeInBody(x, strings.TrimSuffix(path.Dir(why.Pointer), "/"), keyword)
		return accepted(object.Component+": ", object.Pointer, keyword)
	}
	if keyword == "oneOf" && j.isSeveral(x, why.Pointer) {
		return accepted(place.Component+": ", place.Pointer, severalOf)
	}
	return accepted(place.Component+": ", place.Pointer, ofParts(keyword))
}

// isSeveral reports whether a body has an object somewhere that several schemas of a oneOf allow.
func (j *Judge) isSeveral(x scenario.Interaction, pointer string) bool {
	described := schema.At(j.taken(x), pointer)
	body, _ := jsonvalue.Decode(x.RequestBody) // what is no JSON has no object
	value := jsonvalue.Lookup(body, "#"+pointer)
	if jsonvalue.Object(value) == nil {
		return false
	}
	return slices.ContainsFunc(described.OneOf, func(branch *openapi3.SchemaRef) bool {
		return j.Schemas.Allows(schema.Of(branch), value, schema.Request)
	})
}

// acceptedParameter is the title of a parameter that is accepted although it breaks a keyword.
func (j *Judge) acceptedParameter(x scenario.Interaction, why scenario.Violation, keyword string) title {
	name := path.Base(why.Pointer)
	return accepted(j.ofOperation(x, why.In, name), "parameter "+name, ofParts(keyword))
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

// accepted is the title of a value that is accepted somewhere although a keyword forbids it.
func accepted(of, place, keyword string) title {
	phrase := acceptedPhrases[keyword]
	if phrase == "" {
		phrase = "a value that breaks " + keyword
	}
	if place != "" {
		place = " as " + place
	}
	return title{cause: of + phrase + " is accepted" + place, root: decoded[keyword]}
}

// unconditional is what is wrong if a condition that does not hold is taken for one that asks whether something has
// changed (RFC 9110, sections 13.1.1 and 13.1.4).
const unconditional = ": a false If-Match or If-Unmodified-Since gives 304, and not 412"

// isUnconditional reports whether a response says that nothing has changed, and the request did not ask that.
func isUnconditional(x scenario.Interaction) bool {
	hasAsked := x.HasRequestHeader("If-None-Match", "If-Modified-Since")
	return x.Status == http.StatusNotModified && !hasAsked && x.HasRequestHeader("If-Match", "If-Unmodified-Since")
}
