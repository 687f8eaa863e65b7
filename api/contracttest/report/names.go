package report

import (
	"fmt"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Promises are structs until a person reads them: their sentences are made here, and those of causes in causetexts.go. A
// sentence may be changed. Baselines name promises and causes by their ids, which do not depend on it.

// Name is a promise as a person reads it: the operation, then what it promises.
func Name(p scenario.Promise) string {
	if p.Operation == "" || isOfSeveral(p) {
		return nameOf(p)
	}
	return p.Operation + ", " + nameOf(p)
}

// sequences are the promises that several requests show, as what follows the operation.
var sequences = map[scenario.PromiseKind]string{
	scenario.LinkLeads:             ": link to PLACE",
	scenario.IdentityLeads:         ": its identity leads to PLACE",
	scenario.LocationLeads:         ": Location leads to the resource",
	scenario.ReadSeesCreate:        ": a read sees a create",
	scenario.ReadSeesReplacement:   ": a read sees a replacement",
	scenario.ReadSeesChange:        ": a read sees a change",
	scenario.DeletedIsGone:         ": a deleted resource is gone",
	scenario.ReplacesOne:           ": a replacement changes no other resource",
	scenario.DeletesOne:            ": a deletion changes no other resource",
	scenario.AssignsOnce:           ": an identity is assigned once",
	scenario.PutChangesETag:        ": a replacement changes the ETag",
	scenario.PatchChangesETag:      ": a change changes the ETag",
	scenario.CreateReplacesNone:    ": a create replaces nothing",
	scenario.CreatesDiffer:         ": creates at the same time have identities of their own",
	scenario.CreatesOne:            ": of creates at the same time with one identity, one succeeds",
	scenario.PutsOnce:              ": of replacements at the same time with one If-Match, one succeeds",
	scenario.PatchesOnce:           ": of changes at the same time with one If-Match, one succeeds",
	scenario.PutRemoves:            ": a replacement removes what it does not have",
	scenario.HeadIsGet:             ": HEAD is GET without a body",
	scenario.NotUnderAnotherParent: ": what is under another parent is not found",
	scenario.TakesDefaults:         ": what is left out has its default",
	scenario.ListShowsAll:          " shows what exists",
	scenario.ShowsWhatWasSent:      ": a response shows what was sent",
}

// isOfSeveral reports whether a promise is shown by several requests, which need not be of one operation.
func isOfSeveral(p scenario.Promise) bool {
	_, isSequence := sequences[p.Kind]
	return isSequence || p.Kind == scenario.WalkByLink || p.Kind == scenario.DeclaredSequence
}

// plainNames are the promises of which the kind and the place say all. PLACE and DUTY are those of the promise.
var plainNames = map[scenario.PromiseKind]string{
	scenario.EffectOfParameter:   "effect of parameter PLACE",
	scenario.FiltersTogether:     "filters together",
	scenario.DefaultOfList:       "default of parameter PLACE",
	scenario.ParameterRobustness: "robustness, parameter PLACE, DUTY",
	scenario.UnknownParameter:    "unknown parameter",
	scenario.WellFormedBody:      "body well-formed, DUTY",
	scenario.BodyRobustness:      "robustness, body, DUTY",
	scenario.MediaTypeOfBody:     "media type PLACE, DUTY",
	scenario.MediaTypeRobustness: "robustness, media type, DUTY",
	scenario.Security:            "security, PLACE",
	scenario.KeptFromOthers:      "users, kept from others unless it is shared",
	scenario.BodyExample:         "request example PLACE",
	scenario.ParameterExample:    "example of parameter PLACE",
	scenario.RandomBodies:        "random bodies",
	scenario.FirstRequest:        "first request",
	scenario.UnofferedMethods:    "methods that PLACE does not offer",
	scenario.OptionsOfPath:       "OPTIONS PLACE",
	scenario.NoPath:              "no path PLACE",
	scenario.WalkByLink:          "sequence, a walk by Link meets every resource once",
	scenario.DeclaredSequence:    "sequence, PLACE",
	scenario.DeclaredPromise:     "PLACE",
	scenario.NotUnderstood:       "PLACE",
	scenario.LeftOut:             "requests: left out", // the reason is beside it
	scenario.NeedsUnread:         "requests: they need what is not in the document, or not understood",
	scenario.UnwritableBody:      "requests: its body is required and has no media type that a test can write",
	scenario.UnknownBody:         "requests: no body is known that its schema allows; an example in the document helps",
	scenario.UnwritableParameter: "requests: no value for its required parameter PLACE",
	scenario.EndlessSchema:       "values of schemas that refer to each other in many ways",
	scenario.UntestedMediaType:   "body as PLACE",
	scenario.UnmadeTests:         "requests: what else the document says of them",
}

// duties are what a service must do with a request.
var duties = map[scenario.Duty]string{
	scenario.MustAccept:  "accepted",
	scenario.MustRefuse:  "refused",
	scenario.MustSurvive: "survived",
}

// nameOf is what a promise says, without its operation.
func nameOf(p scenario.Promise) string {
	duty := duties[p.Duty]
	switch p.Kind {
	case scenario.ParameterKeyword:
		return fmt.Sprintf("parameter %s %s, %s", p.Place, p.Keyword, duty)
	case scenario.BodyKeyword:
		return fmt.Sprintf("body %s %s, %s", p.Place, p.Keyword, duty)
	case scenario.BodyPresence:
		return fmt.Sprintf("body %s, %s", p.Keyword, duty)
	case scenario.ListedResponse, scenario.HeaderOfResponse, scenario.MemberOfResponse:
		return responseName(p)
	}
	text := plainNames[p.Kind]
	if what, isSequence := sequences[p.Kind]; isSequence {
		text = "sequence, " + p.Operation + what
	}
	return strings.NewReplacer("PLACE", p.Place, "DUTY", duty).Replace(text)
}

// responseName names a response, or a header or a member of it. One without an operation is of all.
func responseName(p scenario.Promise) string {
	text := p.Status
	if p.Operation == "" {
		text = "any operation, " + text
	}
	switch p.Kind {
	case scenario.HeaderOfResponse:
		text += ", header " + p.Place
	case scenario.MemberOfResponse:
		text += ", member " + p.Place
	}
	return text
}
