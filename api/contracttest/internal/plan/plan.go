// Package plan has the tests of a document. A test is a function that is read from top to bottom: it gets a
// [draft.Trial], as a Go test gets a *testing.T, and package run runs it.
//
// There are families of tests, with a file or two for each:
//
//   - rehearse.go: the first requests, until each operation has accepted one. What they teach is kept by package
//     lessons, and later requests begin with it.
//   - Tests of one request: of the credentials of an operation (credentials.go), of its parameters
//     (parameters.go), of its body (bodies.go), also drawn at random (random.go). single.go has the request, filled.go
//     fills it with what is known, singlemaker.go makes them, kept.go keeps them, and surroundings.go has what is around
//     the request. refusals.go judges whether the service was right to refuse it, and confirm.go sends others to be sure, which
//     differ in one member (member.go).
//   - paths.go: methods and paths that the document does not have.
//   - Tests over a resource. sequences.go has the table of them. stored.go: what is created can be read. changes.go: what is
//     changed can be read, and a PUT removes what it does not have. deletions.go: what is deleted is gone. leads.go: the identity
//     and Location lead to what was created. others.go: two resources do not touch each other. etags.go: a change changes the
//     ETag. atonce.go: requests at the same time.
//   - Tests of the same kind without a line in that table. below.go: things below one another do not touch each other.
//     defaults.go: what a create leaves out has its default. echo.go: a response shows what was sent, where nothing reads it.
//     conditions.go: If-Match and If-None-Match.
//   - users.go: what one user creates is kept from another one.
//   - lists.go and filters.go: limits, pages, defaults and filters of lists. filtervalues.go draws values for filters, pages.go
//     reads lists, search.go looks for things in them, and counts.go compares a count with them.
//
// A test says what it does with a thing, and a draft makes the requests of it: see package draft. Which operations
// create, read, change, delete and list one thing, package resources says. Where it has only inferred it, and a right
// service may do otherwise, tests are not tested and do not fail.
//
// The tests come in an order in which a run that ends early has seen something of everything: see
// [Planner.Tests] and phases.go. They are made while they run, and those of one request are kept as far as there is room.
// promises.go has what a document promises, and what a response shows, of which members.go has the members.
//
// # To add a kind of test
//
// Give its promise a kind (scenario/promise.go), a sentence (report/names.go) and one that says what is wrong if it is broken
// (report/causetexts.go), and write the test. One over a resource is a line in the table of sequences.go; for another one,
// write a method of [Planner] that returns tests, and name it in [Planner.testsOfSeveral]. This test shows that a PUT that is
// repeated changes nothing:
//
//	{scenario.RepeatsReplacement, []string{http.MethodGet, http.MethodPut}, repeatsReplacement, nil},
//
//	func repeatsReplacement(t *draft.Trial, x *resources.Resource) {
//		put := x.Operations[http.MethodPut]
//		bodySchema(t, put) // ends the test if no test can write the body
//		body := t.VariedThing(put)
//		thing := t.CreateOf(x)
//		t.Accepted(http.MethodPut, thing, body)
//		before, _ := t.Read(thing)
//		t.Accepted(http.MethodPut, thing, body)
//		sent := jsonvalue.Object(body)
//		known := maps.Clone(x.Shown(before)) // the response itself must not be changed
//		maps.DeleteFunc(known, func(name string, _ any) bool { return sent[name] == nil })
//		t.ReadShows(thing, known)
//	}
//
// It compares the members that were sent, and no others: with each write that it accepts, a service may set a time
// or a version. Drafts.Shows, which ReadShows calls, knows what else a right service may do, above all where the
// resource was inferred. That nothing at all has changed ([draft.Trial.Unchanged]) is shown after a request that was
// refused, or was about something else.
//
// A line in the table of faults_test.go is a wrong service that the test must find. The tests of this package, with -update,
// then write what the test sends to right services, and what it says of wrong ones, into testdata: read the difference.
//
// Three rules keep a right service from being accused:
//
//   - What the document does not say is no promise. [document.Operation] answers what it says of an operation, and
//     [resources.Resource] what it says of a thing.
//   - What was inferred ([resources.Resource.IsInferred], [resources.List.IsInferred]) may be otherwise. Where it is,
//     the test ends with [scenario.NotTested].
//   - A test needs nothing that another one has created, and uses identities that are drawn for it.
package plan

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/draft"
	"github.com/plantstore/plantstore/api/contracttest/internal/judge"
	"github.com/plantstore/plantstore/api/contracttest/internal/lessons"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/internal/world"
	"github.com/plantstore/plantstore/api/contracttest/report"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Settings are what the options say of tests.
type Settings struct {
	values.Settings
	// Of resources and lists.
	Declared resources.Declarations
	// Operations that are not tested, but sent where tests of others need them.
	Unwanted  map[string]string
	Sequences []scenario.Test // their names lack "sequence, "
	Users     Users
	// Left is the share of its requests that a run has left; nil: there is no bound.
	Left func() float64
}

// Test is a generated test.
type Test struct {
	scenario.Test
	// Refuses is the operation that must refuse the request of the test, if it must.
	Refuses string
	// Phase is which part of a run the test is of: each begins when the one before has ended.
	Phase int
	// Area is where others must not change anything while the test runs. Empty: it does not look at others. Tests with an area do
	// not run beside tests without one.
	Area string
}

// Planner makes the tests of a document. The tests of an operation are made when they are asked for.
type Planner struct {
	Settings
	*draft.Drafts

	members map[string]scenario.Promise // see membersOf

	mu   sync.Mutex
	made map[*document.Operation]*operationTests
	// The bytes of the requests in made.
	kept      int
	isStopped atomic.Bool // see Stop
}

// manyOperations is the size from which fewer values are tried in each place.
const manyOperations = 25

// New returns a planner. Resources and lists are found now, because every test depends on them; tests are
// made later.
func New(judge *judge.Judge, settings Settings) *Planner {
	settings.Few = len(judge.Document.Operations) > manyOperations
	generator := values.New(settings.Settings)
	trial := values.New(settings.Settings) // it draws no identity that a test would have
	for _, operation := range judge.Document.Operations {
		body := operation.BodySchema()
		operation.LacksBody = body != nil && !trial.Fits(body, trial.Base(body))
	}
	found := resources.Find(judge.Document, generator, settings.Declared)
	known := world.New(judge.Document, found)
	return &Planner{
		Settings: settings,
		Drafts: &draft.Drafts{
			Document:  judge.Document,
			Judge:     judge,
			Resources: found,
			World:     known,
			Lessons:   lessons.New(known, generator),
			Values:    generator,
		},
		members: membersOf(judge.Document),
		made:    map[*document.Operation]*operationTests{},
	}
}

// Needs are the names of what a request of an operation must have, and no option gives: parameters, and members of the body.
func (p *Planner) Needs(operation *document.Operation) (names []string) {
	for _, parameter := range operation.Parameters {
		if parameter.Required {
			names = append(names, parameter.Name)
		}
	}
	if body := operation.BodySchema(); body != nil {
		names = append(names, p.Values.Flatten(body).Required...)
	}
	return slices.DeleteFunc(names, p.Values.IsGiven)
}

// singlesOf are the tests of one request of an operation that run at some time.
func (p *Planner) singlesOf(operation *document.Operation, when order) []*single {
	if when == plain {
		return p.plainTest(operation)
	}
	return ofOrder(when, p.testsOf(operation).singles)
}

// PlainTest is the test of the plainest valid request of an operation, or false if none can be written.
func (p *Planner) PlainTest(operation *document.Operation) (test Test, ok bool) {
	singles := p.plainTest(operation)
	if len(singles) == 0 {
		return Test{}, false
	}
	return singles[0].test(p), true
}

// newTest is a test with a name.
func newTest(name string, shows scenario.Promise, run func(*scenario.Trial)) Test {
	return Test{Test: scenario.Test{Name: name, Shows: []scenario.Promise{shows}, Run: run}}
}

// testOf is a test of one promise, which is its name.
func (p *Planner) testOf(promise scenario.Promise, run func(*draft.Trial)) Test {
	return newTest(report.Name(promise), promise, p.drafted(promise, run))
}

// drafted is a test whose trial has a draft, which depends on the promise of the test alone.
func (p *Planner) drafted(promise scenario.Promise, run func(*draft.Trial)) func(*scenario.Trial) {
	return func(t *scenario.Trial) { run(&draft.Trial{Trial: t, Draft: p.Draft(promise.ID())}) }
}

// whyNotTested is why the options want no tests of an operation, or nothing.
func (p *Planner) whyNotTested(operation *document.Operation) string {
	return cmp.Or(p.Declared.LeaveOut[operation.ID], p.Unwanted[operation.ID])
}

// isWanted reports whether the options want a test: if they leave some operations out, tests of these alone, and of no
// operation, are not wanted.
func (p *Planner) isWanted(test Test) bool {
	if len(p.Unwanted) == 0 {
		return true
	}
	return slices.ContainsFunc(test.Shows, func(promise scenario.Promise) bool {
		operation := p.Document.Operation(promise.Operation)
		return operation != nil && p.whyNotTested(operation) == ""
	})
}
