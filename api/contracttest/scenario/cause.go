package scenario

import "slices"

// Cause is what is wrong without the values of one request: failures with the same cause most likely go away together.
// A root is a cause with blank fields. Package report writes it as a sentence.
type Cause struct {
	Kind CauseKind `json:",omitempty"`
	// Operation is the id of an operation, or the method of a request that the document does not have.
	Operation string `json:",omitempty"`
	// Component is the schema of the document that says what is broken, in place of the operation.
	Component string `json:",omitempty"`
	In        string `json:",omitempty"` // "body" or "parameter"
	Place     string `json:",omitempty"` // a JSON Pointer, or the name of a parameter or header
	Keyword   string `json:",omitempty"`
	Violation Kind   `json:",omitempty"` // what is wrong with the request
	Status    int    `json:",omitempty"`
	Value     string `json:",omitempty"` // a body or a media type
	// Promise is what is broken, of the kind BrokenPromise.
	Promise Promise `json:",omitzero"`
}

// CauseKind is a kind of cause. The ids of causes depend on these texts, so they do not change.
type CauseKind string

// Failures of the service.
const (
	Crashes              CauseKind = "crashes"
	Unavailable          CauseKind = "unavailable"
	CredentialsCrash     CauseKind = "credentials-crash"
	ParameterCrash       CauseKind = "parameter-crash"
	PathCrash            CauseKind = "path-crash"
	ReadsCrash           CauseKind = "reads-crash"
	BodyCrash            CauseKind = "body-crash"
	AnnouncedBodyCrash   CauseKind = "announced-body-crash"
	NoResponse           CauseKind = "no-response"
	RefusesConnections   CauseKind = "refuses-connections"
	BreaksService        CauseKind = "breaks-service" // all of it, until it is begun anew
	BrokenPromise        CauseKind = "promise"
	TwoHaveOneIdentity   CauseKind = "one-identity"
	CreatedIsNotFound    CauseKind = "created-not-found"
	SentIsLost           CauseKind = "sent-is-lost"
	ETagStays            CauseKind = "etag-stays"
	SeveralChangesAtOnce CauseKind = "several-changes"
	ListedTwice          CauseKind = "listed-twice"
	ListLacks            CauseKind = "list-lacks"
)

// Responses that are not as the document says.
const (
	WrongStatus         CauseKind = "wrong-status"
	UndocumentedSuccess CauseKind = "undocumented-success"
	// Operation is the method, and Place the path.
	UndocumentedOperation CauseKind = "undocumented-operation"
	UndocumentedStatus    CauseKind = "undocumented-status"
	OtherMediaType        CauseKind = "other-media-type"
	WrongHeader           CauseKind = "wrong-header"
	WrongBody             CauseKind = "wrong-body"
	WrongForm             CauseKind = "wrong-form"    // the root of what is wrong in bodies of one form
	WrongRefusal          CauseKind = "wrong-refusal" // by the options
)

// Requests that are accepted and should not be, or refused and should not be.
const (
	Accepts             CauseKind = "accepts"
	AcceptsAnyMediaType CauseKind = "accepts-any-media-type"
	AcceptsNoBody       CauseKind = "accepts-no-body"
	IgnoresCredentials  CauseKind = "ignores-credentials"
	OpenToOthers        CauseKind = "open-to-others"
	FalseConditionIs304 CauseKind = "false-condition-304"
	Succeeds            CauseKind = "succeeds"
	RefusesOtherwise    CauseKind = "refuses-otherwise"
	RefusesUnnamed      CauseKind = "refuses-unnamed"
	RefusesMember       CauseKind = "refuses-member"
	RefusesParameter    CauseKind = "refuses-parameter"
	RefusesValid        CauseKind = "refuses-valid"
	RefusesNoBody       CauseKind = "refuses-no-body"
)

// refusals are the kinds of causes that a service may have a reason for which its document does not say.
var refusals = []CauseKind{UndocumentedStatus, RefusesOtherwise, RefusesUnnamed, RefusesMember, RefusesParameter, RefusesValid, RefusesNoBody}

// IsOfRefusal reports whether nothing is wrong but that a request was refused, or how.
func (c Cause) IsOfRefusal() bool { return slices.Contains(refusals, c.Kind) }

// SeveralOf is the keyword of a value that is not one of a choice because it is several.
const SeveralOf = "oneOf, several"

// ID is short, and the same for the same cause in every run. That of a broken promise is that of the promise, which may be
// known to be not tested, too. That of no cause is nothing.
func (c Cause) ID() string {
	switch c.Kind {
	case "":
		return ""
	case BrokenPromise:
		return c.Promise.ID()
	}
	return shortID(c)
}
