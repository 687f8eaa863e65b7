// Package scenario has the language in which tests of a service are told: a test is a function that gets a [Trial].
//
// A [Test] has a name, the promises that it shows, and the function, which is read from top to bottom:
//
//	func deletedIsGone(t *scenario.Trial) {
//		plant := &scenario.Thing{Creator: "createPlant"}
//		t.Create(plant)
//		t.Do(scenario.Call{Operation: "deletePlant", Of: plant}, scenario.Accepted)
//		t.Do(scenario.Call{Operation: "getPlant", Of: plant}, scenario.Refused(scenario.UnknownResource))
//	}
//
// Each response is checked against the document. What was expected and does not happen ends the test, as in package
// testing, and its result is a value, an [Outcome]: the promises are kept; or broken, with the failures; or not tested,
// with the reason. [Trial.Require] and [Trial.NotTested] end it, too.
//
// Say as little as the promise needs, and let the engine add the rest:
//
//   - [Trial.Create] for what must exist. The body is drawn, the response is checked, and the identity remembered.
//   - [Trial.Do] for a request of an operation. Required parameters, headers and credentials are added.
//   - [Trial.Send] for a request that no document describes: a wrong one, for example. Nothing but credentials
//     is added.
//   - [Trial.Pages] for a list that is read page by page.
//   - [Trial.Together] for requests at the same time.
//
// The files: this one has tests, trial.go their runs, access.go their credentials; promise.go what they show, outcome.go their results, fault.go
// what can be wrong with a response, cause.go what failures have in common, violation.go what can be wrong with a request;
// interaction.go and events.go what was sent and received, links.go where a response leads; declare.go what a document
// cannot say of its service.
package scenario

import (
	"net/http"
	"net/url"
)

// Test is a test of one promise or more.
type Test struct {
	Name string
	// Shows are the promises that are kept if all is as expected. The last one is the
	// cause of a failure. None: the name is the promise.
	Shows []Promise
	// Run is the test. What it remembers belongs to one run.
	Run func(*Trial)
	// Cleanup follows also where the test has ended early. Nil: there is none.
	Cleanup func(*Trial)
}

// Promise is what the test is about.
func (t Test) Promise() Promise {
	if len(t.Shows) == 0 {
		return Promise{Kind: DeclaredPromise, Place: t.Name}
	}
	return t.Shows[len(t.Shows)-1]
}

// Thing is a resource that a test creates. A trial remembers in it what it learns.
type Thing struct {
	Creator string // the operation that creates it
	// ID is its identity. Nil: one that no other test uses, or the one that the service assigns.
	ID any
	// Parent is what it is below, as the ticket of a comment. Nil: there is none, or one is created.
	Parent *Thing
	// Sent is the body of the create. Nil: it is drawn.
	Sent map[string]any
	// Seen is the last response to a read.
	Seen    Interaction
	Missing bool // it could not be created, and need not be
}

// Call is a request of an operation. What the operation requires and Call does not have gets the
// plainest value.
type Call struct {
	Operation string
	// Of is the resource that the path names. A member of the body that identifies it is set.
	Of     *Thing
	Query  url.Values
	Header http.Header
	Body   any // nil: none
}

// Request is a request that is sent as it is.
type Request struct {
	Method string
	Path   string   // escaped
	Query  []string // pairs, escaped
	Header http.Header
	Body   []byte
	Access Access
}
