package scenario

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
)

// Promise is something that a document promises. Package report writes it as a sentence: nothing else does, and
// nothing reads the sentence back.
type Promise struct {
	// Operation is the id of an operation. Empty: the promise is of the service as a whole.
	Operation string      `json:",omitempty"`
	Kind      PromiseKind `json:",omitempty"`
	// Place is a JSON Pointer into the body, a parameter, a header, a media type, or what else the kind is about.
	Place   string `json:",omitempty"`
	Keyword string `json:",omitempty"`
	// Status is that of a response, as the document has it: 200, 4XX or default.
	Status string `json:",omitempty"`
	// Duty is what the service must do with the request, where that is not clear from the kind.
	Duty Duty `json:",omitempty"`
}

// Duty is what a service must do with a request.
type Duty string

// The duties of a service.
const (
	MustAccept  Duty = "accept"
	MustRefuse  Duty = "refuse"
	MustSurvive Duty = "survive" // it may refuse the request or not, but must not fail
	// It must say what is right: see [Undecided]. What is known of such a promise is that, and not that it is not tested.
	MustDecide Duty = "decide"
)

// PromiseKind is a kind of promise. The ids of promises depend on these texts, so they do not change.
type PromiseKind string

// Promises of a request.
const (
	ParameterKeyword    PromiseKind = "parameter"
	ParameterRobustness PromiseKind = "odd-parameter"
	UnknownParameter    PromiseKind = "unknown-parameter"
	BodyKeyword         PromiseKind = "body"
	BodyPresence        PromiseKind = "body-presence" // the keyword is required or optional
	WellFormedBody      PromiseKind = "well-formed-body"
	BodyRobustness      PromiseKind = "odd-body"
	MediaTypeOfBody     PromiseKind = "media-type"
	MediaTypeRobustness PromiseKind = "odd-media-type"
	Security            PromiseKind = "security"
	BodyExample         PromiseKind = "body-example"
	ParameterExample    PromiseKind = "parameter-example"
	RandomBodies        PromiseKind = "random-bodies"
	FirstRequest        PromiseKind = "first-request" // no promise: the first one that is accepted
	EffectOfParameter   PromiseKind = "effect"
	DefaultOfList       PromiseKind = "default"
)

// Promises of responses, and of what no operation serves.
const (
	ListedResponse   PromiseKind = "response"
	HeaderOfResponse PromiseKind = "header"
	MemberOfResponse PromiseKind = "member"
	UnofferedMethods PromiseKind = "methods"
	OptionsOfPath    PromiseKind = "options"
	NoPath           PromiseKind = "no-path"
)

// Promises that several requests show, of the operation that creates a thing, or of one that lists things.
const (
	LinkLeads             PromiseKind = "link"
	IdentityLeads         PromiseKind = "identity-leads"
	LocationLeads         PromiseKind = "location-leads"
	ReadSeesCreate        PromiseKind = "read-sees-create"
	ReadSeesReplacement   PromiseKind = "read-sees-replacement"
	ReadSeesChange        PromiseKind = "read-sees-change"
	DeletedIsGone         PromiseKind = "deleted-is-gone"
	ReplacesOne           PromiseKind = "replaces-one"
	DeletesOne            PromiseKind = "deletes-one"
	AssignsOnce           PromiseKind = "assigns-once"
	PutChangesETag        PromiseKind = "put-changes-etag"
	PatchChangesETag      PromiseKind = "patch-changes-etag"
	CreateReplacesNone    PromiseKind = "create-replaces-none"
	CreatesDiffer         PromiseKind = "creates-differ"
	CreatesOne            PromiseKind = "creates-one"
	PutsOnce              PromiseKind = "puts-once"
	PatchesOnce           PromiseKind = "patches-once"
	PutRemoves            PromiseKind = "put-removes"
	HeadIsGet             PromiseKind = "head-is-get"
	NotUnderAnotherParent PromiseKind = "not-below-another"
	TakesDefaults         PromiseKind = "takes-defaults"
	WalkByLink            PromiseKind = "walk-by-link"
	ListShowsAll          PromiseKind = "list-shows-all"
	FiltersTogether       PromiseKind = "filters-together"
	KeptFromOthers        PromiseKind = "kept-from-others"
	ShowsWhatWasSent      PromiseKind = "shows-what-was-sent"
)

// Promises that the options add, by name, and what no test tries.
const (
	DeclaredSequence    PromiseKind = "declared-sequence"
	DeclaredPromise     PromiseKind = "declared"
	NotUnderstood       PromiseKind = "not-understood" // a place of the document, and what is there
	LeftOut             PromiseKind = "left-out"
	NeedsUnread         PromiseKind = "needs-unread"
	UnwritableBody      PromiseKind = "unwritable-body"
	UnknownBody         PromiseKind = "unknown-body"
	UnwritableParameter PromiseKind = "unwritable-parameter"
	EndlessSchema       PromiseKind = "endless-schema"
	UntestedMediaType   PromiseKind = "untested-media-type"
	UnmadeTests         PromiseKind = "unmade-tests"
)

// Effect is the promise that the effect of a parameter is seen: one that a service accepts and ignores keeps no promise.
func Effect(operation, parameter string) Promise {
	return Promise{Operation: operation, Kind: EffectOfParameter, Place: parameter}
}

// Default is the promise that a list is without a parameter as it is with its default.
func Default(operation, parameter string) Promise {
	return Promise{Operation: operation, Kind: DefaultOfList, Place: parameter}
}

// ID is short, and the same for the same promise in every run.
func (p Promise) ID() string { return shortID(p) }

// shortID is a short name for a struct. A field that is blank does not count, so that one can be added.
func shortID(of any) string {
	text, _ := json.Marshal(of) // of texts and numbers
	return fmt.Sprintf("%x", sha256.Sum256(text))[:8]
}
