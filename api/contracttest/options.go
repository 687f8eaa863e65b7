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

// Sequence is a test of several requests that the options add.
type Sequence struct {
	Name string
	// Shows are further promises that it keeps: "listThings, effect of parameter order".
	Shows []string
	Try   func(s *Session)
}
