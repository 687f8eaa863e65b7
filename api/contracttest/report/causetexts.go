package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// noOperation is what no operation of the document serves.
const noOperation = "an operation that the document does not have"

// CauseText is a cause as a person reads it: what is wrong, and not what a test expects. That of a root, which has blank fields,
// says what its causes have in common.
func CauseText(c scenario.Cause) string {
	if format, isPlain := plainCauses[c.Kind]; isPlain {
		operation := cmp.Or(c.Operation, noOperation)
		return strings.NewReplacer("OPERATION", operation, "PLACE", c.Place, "STATUS", fmt.Sprint(c.Status),
			"VALUE", c.Value, "VIOLATION", string(c.Violation), "KEYWORD", c.Keyword, "TEXT", fmt.Sprintf("%q", c.Value),
		).Replace(format)
	}
	switch c.Kind {
	case scenario.UndocumentedOperation:
		return undocumentedOperation(c)
	case scenario.Crashes:
		return crash(c)
	case scenario.OtherMediaType:
		return otherMediaType(c)
	case scenario.BrokenPromise:
		return brokenPromise(c.Promise)
	case scenario.UndocumentedStatus:
		return undocumentedStatus(c)
	case scenario.WrongStatus:
		return wrongStatus(c)
	case scenario.UndocumentedSuccess:
		return undocumentedSuccess(c)
	case scenario.AcceptsNoBody:
		return acceptedNoBody(c)
	case scenario.WrongBody, scenario.WrongForm:
		return wrongBody(c)
	case scenario.Accepts:
		return accepted(c)
	case scenario.IgnoresCredentials:
		return fmt.Sprintf("requests %s are not refused", ignored[c.Violation])
	case scenario.Succeeds:
		return fmt.Sprintf("%s succeeds %s", c.Operation, succeeds[c.Violation])
	case scenario.RefusesMember:
		return refusedMember(c)
	case scenario.RefusesNoBody:
		return ofOperation(c) + fmt.Sprintf("a request without a body, which is optional, is refused with %d", c.Status)
	case scenario.RefusesParameter:
		return ofOperation(c) + fmt.Sprintf("a valid parameter %s is refused with %d", c.Place, c.Status)
	}
	return fmt.Sprintf("header %s %s", c.Place, saysOf(c.Keyword)) // of the kind WrongHeader
}

// plainCauses are the causes of which the fields say all.
var plainCauses = map[scenario.CauseKind]string{
	scenario.Unavailable:          "the service responds with STATUS",
	scenario.CredentialsCrash:     "wrong credentials give STATUS",
	scenario.ParameterCrash:       "a value of parameter PLACE gives STATUS",
	scenario.PathCrash:            "a path with VALUE gives STATUS",
	scenario.ReadsCrash:           "reads of PLACE and below it give STATUS",
	scenario.BodyCrash:            "the body TEXT gives STATUS",
	scenario.AnnouncedBodyCrash:   "the media type VALUE without a body gives STATUS",
	scenario.NoResponse:           "OPERATION gives no response",
	scenario.RefusesConnections:   "the service accepts no connection",
	scenario.BreaksService:        "after OPERATION every request fails",
	scenario.TwoHaveOneIdentity:   "OPERATION: two resources have one identity",
	scenario.CreatedIsNotFound:    "OPERATION: what it creates is not found",
	scenario.SentIsLost:           "OPERATION: PLACE is not what was sent",
	scenario.ETagStays:            "OPERATION leaves the ETag as it was",
	scenario.SeveralChangesAtOnce: "OPERATION: several changes at the same time succeed with one If-Match",
	scenario.ListedTwice:          "OPERATION: pages have a resource twice",
	scenario.ListLacks:            "OPERATION: pages lack what exists",
	scenario.WrongRefusal:         "OPERATION: VIOLATION: PLACE, KEYWORD",
	scenario.OpenToOthers:         "OPERATION: one user gets at what another one has created",
	scenario.AcceptsAnyMediaType:  "bodies of another media type are accepted",
	scenario.FalseConditionIs304:  "OPERATION: a false If-Match or If-Unmodified-Since gives 304, and not 412",
	scenario.RefusesOtherwise:     "OPERATION: VIOLATION refused with STATUS",
	// Services look for members that they do not know in one place.
	scenario.RefusesUnnamed: "members that no schema names are refused with STATUS",
	scenario.RefusesValid:   "OPERATION: refuses valid requests with STATUS",
}

// brokenPromises say what is wrong where a promise is broken that several requests show.
var brokenPromises = map[scenario.PromiseKind]string{
	scenario.LinkLeads:             "OPERATION: its link does not lead to PLACE of what it creates",
	scenario.IdentityLeads:         "OPERATION: the identity that it responds with does not lead to PLACE of what it creates",
	scenario.LocationLeads:         "OPERATION: Location does not lead to what it creates",
	scenario.ReadSeesCreate:        "OPERATION: a read does not show what was created",
	scenario.ReadSeesReplacement:   "OPERATION: a read does not show a replacement",
	scenario.ReadSeesChange:        "OPERATION: a read does not show a change",
	scenario.DeletedIsGone:         "OPERATION: what is deleted is still there",
	scenario.ReplacesOne:           "OPERATION: a replacement of one resource changes another one",
	scenario.DeletesOne:            "OPERATION: a deletion of one resource changes another one",
	scenario.AssignsOnce:           "OPERATION: the identity of what was deleted is given to another resource",
	scenario.PutChangesETag:        "OPERATION: a replacement leaves the ETag as it was",
	scenario.PatchChangesETag:      "OPERATION: a change leaves the ETag as it was",
	scenario.CreateReplacesNone:    "OPERATION: a create with an identity that exists replaces the resource",
	scenario.CreatesDiffer:         "OPERATION: creates at the same time have one identity",
	scenario.CreatesOne:            "OPERATION: of creates at the same time with one identity, several succeed",
	scenario.PutsOnce:              "OPERATION: of replacements at the same time with one If-Match, several succeed",
	scenario.PatchesOnce:           "OPERATION: of changes at the same time with one If-Match, several succeed",
	scenario.PutRemoves:            "OPERATION: a replacement keeps what it does not have",
	scenario.HeadIsGet:             "OPERATION: HEAD is not GET without a body",
	scenario.NotUnderAnotherParent: "OPERATION: what is under another parent is found",
	scenario.TakesDefaults:         "OPERATION: what is left out does not have its default",
	scenario.ShowsWhatWasSent:      "OPERATION: a response does not show what was sent",
	scenario.ListShowsAll:          "OPERATION does not show what exists",
	scenario.WalkByLink:            "a walk by Link does not meet every resource once",
	scenario.FiltersTogether:       "OPERATION: two parameters together do not select what both select",
	scenario.EffectOfParameter:     "OPERATION: parameter PLACE does not have its effect",
	scenario.DefaultOfList:         "OPERATION: without parameter PLACE it is not as with its default",
	scenario.KeptFromOthers:        "OPERATION: one user gets at what another one has created",
}

// brokenPromise is the cause of a promise that is broken. Of one that a single request shows it is the promise.
func brokenPromise(p scenario.Promise) string {
	if format, isKnown := brokenPromises[p.Kind]; isKnown {
		return strings.NewReplacer("OPERATION", p.Operation, "PLACE", p.Place).Replace(format)
	}
	return Name(p)
}

// undocumentedOperation is the cause of a success of what the document does not have.
func undocumentedOperation(c scenario.Cause) string {
	if c.Place == "" {
		return "the service has operations that the document does not have"
	}
	return fmt.Sprintf("the service has %s %s, and the document does not", c.Operation, c.Place)
}

// undocumentedStatus is the cause of a refusal with a status that the document does not have.
func undocumentedStatus(c scenario.Cause) string {
	if c.Status == 0 {
		return "statuses of refusals are not documented"
	}
	return fmt.Sprintf("the status %d is not documented", c.Status)
}

// otherMediaType is the cause of a response with a media type that the document does not have, or with none.
func otherMediaType(c scenario.Cause) string {
	if c.Value == "" {
		return fmt.Sprintf("a response of %dxx has no Content-Type", c.Status)
	}
	return fmt.Sprintf("a response of %dxx has another media type: %s", c.Status, c.Value)
}

// crash is the cause of a failure of the service.
func crash(c scenario.Cause) string {
	switch {
	case c.Component != "":
		return fmt.Sprintf("%s in requests gives %d", c.Component, c.Status)
	case c.Value != "":
		return fmt.Sprintf("operations respond with %d: %s", c.Status, c.Value)
	}
	return fmt.Sprintf("%s responds with %d", cmp.Or(c.Operation, noOperation), c.Status)
}

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
	scenario.NoCredentials:  "without credentials",
	scenario.BadCredentials: "with wrong credentials",
	scenario.MissingScope:   "without the scope",
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

// wrongStatus is the cause of a response that should have another status.
func wrongStatus(c scenario.Cause) string {
	switch {
	case c.Status == 0:
		return "the status breaks " + c.Keyword
	case c.Keyword == "paths":
		return fmt.Sprintf("the status must be %d: the document has no such operation", c.Status)
	}
	return fmt.Sprintf("the status must be %d", c.Status)
}

// undocumentedSuccess is the cause of a success with a status that the document does not have.
func undocumentedSuccess(c scenario.Cause) string {
	if c.Operation == "" {
		return fmt.Sprintf("successes with %d are not documented", c.Status)
	}
	return fmt.Sprintf("%s succeeds with %d, which is not documented", c.Operation, c.Status)
}

// acceptedNoBody is the cause of a success without the body that the document requires.
func acceptedNoBody(c scenario.Cause) string {
	if c.Operation == "" {
		return "bodies that are required may be missing"
	}
	return c.Operation + " succeeds without a body"
}

// wrongBody is the cause of a wrong body of a response. Roots have a Value, or are of all responses: null, a format, or a member.
func wrongBody(c scenario.Cause) string {
	of := inResponses(c)
	switch {
	case c.Value != "":
		return c.Value + " in responses is not what the document says"
	case of == "" && c.Keyword == "format":
		return "responses have values without their format: " + c.Place
	case of == "" && c.Place != "":
		return fmt.Sprintf("components in responses: %s %s", c.Place, saysOf(c.Keyword))
	case of == "":
		return "responses have null where the document does not allow it"
	case c.Kind == scenario.WrongForm:
		return of + ": bodies are not as the document says"
	}
	return strings.TrimSpace(of+": "+c.Place) + " " + saysOf(c.Keyword)
}

// inResponses says of which responses a cause is: those that have a component, those of an operation, those with a status, or
// nothing.
func inResponses(c scenario.Cause) string {
	switch {
	case c.Component != "":
		return c.Component + " in responses"
	case c.Operation != "":
		return fmt.Sprintf("%s, %d", c.Operation, c.Status)
	case c.Status != 0:
		return fmt.Sprintf("a response with %d", c.Status)
	}
	return ""
}

// acceptedPhrases say what is accepted although a keyword forbids it, for those that are not as plain as minLength.
var acceptedPhrases = map[string]string{
	"nullable":             "null",
	"type":                 "a value of another type",
	"format":               "a value of another format",
	"enum":                 "a value that is not in the enum",
	"additionalProperties": "a member that no schema names",
	scenario.SeveralOf:     "an object that several schemas of the oneOf allow",
}

// acceptedRoots say what values that are accepted in several places have in common.
var acceptedRoots = map[string]string{
	"nullable": "null is accepted where the document does not allow it",
	"type":     "values of another type are accepted",
	"format":   "values of another format are accepted",
}

// accepted is the cause of a value that is accepted somewhere although a keyword forbids it.
func accepted(c scenario.Cause) string {
	phrase := cmp.Or(acceptedPhrases[c.Keyword], "a value that breaks "+c.Keyword)
	switch {
	case c.In == "":
		return acceptedRoots[c.Keyword]
	case c.In == "parameter" && c.Keyword == "required":
		return fmt.Sprintf("%sparameter %s is required, and may be missing", ofOperation(c), c.Place)
	case c.In == "parameter":
		return ofOperation(c) + phrase + " is accepted as parameter " + c.Place
	case c.Keyword == "required":
		return fmt.Sprintf("%s: %s is required, and may be missing", inRequests(c), c.Place)
	case c.Place != "":
		phrase += " is accepted as " + c.Place
	default:
		phrase += " is accepted"
	}
	return inRequests(c) + ": " + phrase
}

// refusedMember is the cause of a valid body that is refused for what it has in a place.
func refusedMember(c scenario.Cause) string {
	if c.Place == "" {
		return fmt.Sprintf("%s: valid members are refused with %d", inRequests(c), c.Status)
	}
	if c.Keyword == "required" {
		return fmt.Sprintf("%s: without %s, which is optional, they are refused with %d", inRequests(c), c.Place, c.Status)
	}
	return fmt.Sprintf("%s: a valid %s is refused with %d", inRequests(c), c.Place, c.Status)
}

// inRequests says of which requests a cause is: those that have a component, those of an operation, or all.
func inRequests(c scenario.Cause) string {
	if of := cmp.Or(c.Component, c.Operation); of != "" {
		return of + " in requests"
	}
	return "requests"
}

// ofOperation is the beginning of a cause that is of one operation, or nothing if it is of a parameter that several
// operations have.
func ofOperation(c scenario.Cause) string {
	if c.Operation == "" {
		return ""
	}
	return c.Operation + ": "
}
