package contracttest

import (
	"net/http"
	"slices"
)

// Options are what a document cannot say about its service. All are optional.
type Options struct {
	// Earlier are documents by name. Clients generated from them must be able to
	// read every response.
	Earlier map[string][]byte

	// Header is sent with every request, as {"Authorization": {"Bearer …"}}. What is a credential
	// by the document is left out where a test sends none, or a wrong one. Failures show it as
	// a variable of the shell: $AUTHORIZATION.
	Header http.Header

	// FirstID is where the identities begin that tests choose for what they create. 0: 1,000,000.
	FirstID int64

	// Seed draws the values of requests that no keyword settles. 0: New draws it. The
	// environment variable CONTRACT_SEED, which a failure prints, has precedence.
	Seed uint64

	// Undeclared says what becomes of response headers, members of open objects, bodies
	// and parameters of JSON media types that the document does not name.
	Undeclared Undeclared
	// With Exact, AnyHeader are the headers that any response may have without the document
	// naming them, each with the reason. Headers that HTTP itself needs, as
	// Content-Length, are always allowed.
	AnyHeader map[string]string
	// Response returns further faults of a response to an operation.
	Response func(operationID string, x Interaction) []Fault
	// Client reads a response with a generated client and returns what it could
	// not read. It sees only responses without other faults.
	Client func(operationID string, x Interaction) []Fault
	// Refusal returns further faults of a response to a request that is refused
	// for a known reason.
	Refusal func(why Violation, x Interaction) []Fault

	// Undocumented reports whether the service has a path that the document does
	// not have, as for its own documentation. Such a path offers GET.
	Undocumented func(path string) bool
	// UndocumentedResponse returns faults of a response to GET on such a path.
	UndocumentedResponse func(x Interaction) []Fault
	// EveryResponse are headers, of the document's components, that responses
	// outside its operations have, too: to an unknown path, for example.
	EveryResponse []string

	// Scope returns the scope that an operation needs. Nil: no operation needs one.
	Scope func(Operation) string
	// Rules are what this service promises beyond OpenAPI.
	Rules Rules

	// Infer reports whether the shape of the document may tell what an operation does: what it
	// creates, reads, changes, deletes or lists. Nil: of every operation. What is inferred,
	// [Report.Inferred] lists, and a declaration replaces it: a Resource with the same Create,
	// a List with the same Operation.
	Infer     func(Operation) bool
	Resources []Resource
	Lists     []List
	Sequences []Sequence

	// Observed returns further promises that an interaction shows; Promises lists
	// all of them.
	Observed func(x Interaction) []string
	Promises []string
	// Exceptions are promises that no test has to observe, each with the reason.
	Exceptions map[string]string
	// Known are the ids of causes and of untried promises that are known and do not fail, each
	// with the reason.
	Known map[string]string

	// NotWritten is the status, such as 501, with which an operation responds that is not written
	// yet. What it promises is then untried, and [Test] fails once for each such operation.
	NotWritten int
}

// operations lists the operations that the options name.
func (o Options) operations() (ids []string) {
	for _, r := range o.Resources {
		ids = append(ids, r.Create)
		optional := []string{r.Read, r.Replace, r.Change, r.Delete}
		ids = append(ids, slices.DeleteFunc(optional, func(id string) bool { return id == "" })...)
	}
	for _, l := range o.Lists {
		ids = append(ids, l.Operation, l.Create)
	}
	return ids
}

// Operation is what the document says of an operation besides OpenAPI.
type Operation struct {
	ID         string
	Extensions map[string]any // by name, as "x-required-scope"
}

// Undeclared says what becomes of what a response has and the document does not name.
type Undeclared int

const (
	// Ignore allows it, as OpenAPI does.
	Ignore Undeclared = iota
	// Exact makes it a fault. A slash at the end of a path makes another path then, which
	// must be 404, and Allow is one line.
	Exact
)

// Rules are promises that OpenAPI leaves open. A service that does not make one
// is not tested for it.
type Rules struct {
	// StrictJSON: refuses duplicate names, invalid UTF-8, lone surrogates, deep
	// nesting, and numbers such as 1.0 for an integer.
	StrictJSON bool
	// StrictParameters: an integer in a parameter is canonical decimal, and a
	// parameter that is given twice is refused.
	StrictParameters bool
	// StrictMediaTypes: a request with another charset or without Content-Type is refused.
	StrictMediaTypes bool
	// RefusesUnknown reports whether an operation refuses unknown query
	// parameters; otherwise it ignores them. Nil: not tested.
	RefusesUnknown func(Operation) bool
	// Options: OPTIONS of every known path is 204 with Allow.
	Options bool
	// Head: every GET may also be HEAD.
	Head bool
}

// Kind is the reason for which a request is refused.
type Kind string

// The kinds of violations, in the order in which a service usually checks them.
const (
	UnknownPath        Kind = "unknown path"
	UnknownMethod      Kind = "unknown method"
	NoCredentials      Kind = "no credentials"
	BadCredentials     Kind = "bad credentials"
	MissingScope       Kind = "missing scope"
	InvalidParameter   Kind = "invalid parameter"
	MissingBody        Kind = "missing body"
	WrongMediaType     Kind = "wrong media type"
	MalformedBody      Kind = "malformed body"
	InvalidBody        Kind = "invalid body"
	UnknownPosition    Kind = "unknown position"
	UnknownResource    Kind = "unknown resource"
	PreconditionFailed Kind = "precondition failed"
	Conflict           Kind = "conflict"
)

// Violation is what is wrong with a request.
type Violation struct {
	Kind    Kind
	In      string // "body", "query", "path", "header", "cookie"; empty: nowhere in particular
	Pointer string // a JSON Pointer into the body, or a slash and the name of the parameter
}

// statuses are the statuses that RFC 9110 has for a violation.
var statuses = map[Kind][]int{
	UnknownPath: {404}, UnknownMethod: {405, 501},
	NoCredentials: {401, 403}, BadCredentials: {401, 403}, MissingScope: {403},
	InvalidParameter: {400, 404, 422},
	MissingBody:      {400, 411, 415, 422}, WrongMediaType: {400, 415, 422}, MalformedBody: {400, 422}, InvalidBody: {400, 422},
	UnknownPosition: {410}, UnknownResource: {404, 410}, PreconditionFailed: {412}, Conflict: {400, 409, 422},
}

func (v Violation) allows(status int) bool { return slices.Contains(statuses[v.Kind], status) }

// Resource is something that operations create, read, replace, change and
// delete. The links of a document declare resources, others are inferred; one in the options
// replaces what was inferred for its Create. Operations are named by their operationId; all but
// Create and Read are optional.
type Resource struct {
	// Create may be a PUT, and then is also Replace.
	Create string
	// ID is the member of the create's body that identifies the resource. If
	// Assigned, the service chooses it and the response has it.
	ID       string
	Assigned bool

	Read, Replace, Change, Delete string
}

// List is an operation that lists the resources of a create operation. It replaces what was
// inferred for the operation.
type List struct {
	Operation, Create string
	ID                string // the member of an item that is its identity
	// Items is the member of the response that holds the items; empty: the
	// response is the array.
	Items string
	// Limit, After: parameters for the most items, and for the identity that the
	// items follow. Empty: there is none.
	Limit, After string
	// Next is the member of the response with the After of the next page, or with its URL;
	// "meta/next" is a member of a member. Empty: After is the identity of the last item.
	Next string
	// Offset, Page: parameters for how many items come before, and for the number of the page,
	// of which the first is 1 if the parameter has no other default. Empty: there is none.
	Offset, Page string
	// Filters are parameters by which items are selected, with the member of the
	// item that must equal it.
	Filters map[string]string
}

// Sequence is a test of several requests that the options add.
type Sequence struct {
	Name string
	// Shows are further promises that it keeps: "listThings, effect of parameter order".
	Shows []string
	Try   func(s *Session)
}
