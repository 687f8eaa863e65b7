// Package judge says what is wrong with a response.
//
// A response is described by the operation that serves its request; what no operation serves is described
// by HTTP and by the options. [Judge.Faults] puts the questions in this order:
//
//  1. undocumented.go: does no operation serve the request? Then the path is unknown, or the method is.
//  2. response.go: is the status documented, are the headers as they are described, and only those, if
//     the options want that (challenge.go for WWW-Authenticate)?
//  3. body.go: is the body of a media type of the document, and does its schema allow it?
//  4. earlier.go: could a client of an earlier document read it?
//  5. The options: what does the service promise of its responses in words, and can its own client read
//     them?
//
// Each answer is a list of faults, because one fault must not hide another. causes.go makes failures of
// them, each with a cause that is the same for all responses with the same root.
//
// # To add a check
//
// Write a method of [Judge] that returns the faults of an interaction, and call it in [Judge.response], or in
// [Judge.Faults] if it is of every response. This one demands a Retry-After beside each 429, where the document lists
// that header. HTTP only allows it (RFC 6585, section 4), and what neither HTTP nor the document demands is no fault:
//
//	func (j *Judge) retryAfter(described map[string]*document.Header, x scenario.Interaction) []scenario.Fault {
//		isDue := x.Status == http.StatusTooManyRequests && document.HasHeader(described, "Retry-After")
//		isRight := !isDue || x.Header.Get("Retry-After") != ""
//		return require(isRight, "header Retry-After", "required", "is missing beside 429")
//	}
//
// The place and the keyword of a fault, without the values of the response, make its cause. Choose them so
// that all responses with the same root have the same ones: a team mends causes, not responses.
//
// expect.go has the other question, which a test asks: was a request accepted, or refused for the right
// reason? What is wrong then is an error, [scenario.Broken], and not a fault, because it ends the test. unexpected.go
// finds its cause.
package judge

import (
	"sync"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Settings are what the options say of responses.
type Settings struct {
	// Headers that any response may have, with the reason.
	AnyHeader map[string]string
	Rules     scenario.Rules
	// What is wrong with a response in the end. Nil: what the document finds.
	Faults func(scenario.Judged) []scenario.Fault
}

// Judge judges responses by a document.
type Judge struct {
	Document *document.Document
	Earlier  map[string]*document.Document // by name
	Settings Settings

	open    sync.Map // by name, operations that have not refused a request for its lack of credentials
	failing sync.Map // by name, the status with which an operation fails on its plainest request
}

// New returns a judge.
func New(of *document.Document, earlier map[string]*document.Document, settings Settings) *Judge {
	return &Judge{
		Document: of,
		Earlier:  earlier,
		Settings: settings,
	}
}

// NoteFailing remembers that an operation fails on its plainest request. Where it fails with the same status on another one,
// what a test has changed there is not the reason.
func (j *Judge) NoteFailing(operation string, status int) { j.failing.Store(operation, status) }

// Faults returns the faults of a response. The options come last, because they get what the documents find, and decide.
func (j *Judge) Faults(x scenario.Interaction) []scenario.Fault {
	judged := scenario.Judged{Interaction: x}
	if !j.isDocumented(x) {
		judged.Faults, judged.Why = j.undocumented(x)
		return j.byOptions(judged)
	}
	operation := j.Document.Serving(x.Method, x.Path)
	judged.Operation = operation.ID
	judged.Faults = j.response(operation, x)
	for name, earlier := range j.Earlier {
		judged.Faults = append(judged.Faults, j.toEarlierClient(earlier, name, x)...)
	}
	return j.byOptions(judged)
}

// byOptions returns the faults that the options leave of those that the documents find, with those that they add.
func (j *Judge) byOptions(judged scenario.Judged) []scenario.Fault {
	if j.Settings.Faults == nil {
		return judged.Faults
	}
	return j.Settings.Faults(judged)
}

// Undeclared returns the members of a response that the document does not name.
func (j *Judge) Undeclared(x scenario.Interaction) []scenario.Fault {
	described := j.describedResponse(x)
	value, err := x.Value()
	if described == nil || err != nil {
		return nil
	}
	return schema.Unnamed("", value, described)
}

// exact reports whether a response must not have more than the document names.
func (j *Judge) exact() bool { return j.Settings.Rules.Exact }

// one is a list of one fault.
func one(where, keyword, message string) []scenario.Fault {
	return []scenario.Fault{{Where: where, Keyword: keyword, Message: message}}
}

// require returns a list of one fault, or none if something is so.
func require(isSo bool, where, keyword, message string) []scenario.Fault {
	if isSo {
		return nil
	}
	return one(where, keyword, message)
}
