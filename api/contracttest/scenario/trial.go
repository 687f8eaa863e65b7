package scenario

import (
	"cmp"
	"iter"
	"net/http"
	"net/url"
	"runtime"
)

// Trial is one run of a test, as *testing.T is in package testing. What a method expects and does not find ends the
// test.
type Trial struct {
	engine Engine
	failed *error // why the test has ended early; one variable for the trials of all users
}

// Engine sends the requests of a trial: see package run. Its errors end the test.
type Engine interface {
	Draw(things ...*Thing)
	Create(thing *Thing) error
	// CreateIfPossible creates a thing, or makes it Missing. What is wrong with the responses does not count then, but for a crash.
	CreateIfPossible(thing *Thing)
	Do(call Call, expect Expectation) (Interaction, error)
	Send(request Request, expect Expectation) (Interaction, error)
	// Named names the cause of what is wrong with the last response, if that makes all tests fail that begin alike. Any other error
	// is returned as it is, and so is none.
	Named(wrong error) error
	// As returns what sends requests of a user.
	As(user User) Engine
	// Beside returns what sends requests at the same time. Its function says what was wrong with their responses.
	Beside() (Engine, func() error)
}

// Try runs a test, and returns why it has ended early, or nothing. The test has a goroutine of its own, so that a method
// of the trial can end it.
func Try(engine Engine, test func(*Trial)) error {
	t := &Trial{engine: engine, failed: new(error)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		test(t)
	}()
	<-ended
	return *t.failed
}

// endIf ends the test if there is an error.
func (t *Trial) endIf(err error) {
	if err != nil {
		*t.failed = err
		runtime.Goexit()
	}
}

// Check ends the test if there is an error: [Brokenf] or [NotTested]. A failure then shows the last request and its response.
func (t *Trial) Check(err error) { t.endIf(t.engine.Named(err)) }

// Require ends the test as broken, unless something is so.
func (t *Trial) Require(isSo bool, format string, args ...any) {
	t.Check(Require(isSo, format, args...))
}

// NotTested ends the test without a failure.
func (t *Trial) NotTested(why NotTested) { t.endIf(why) }

// Draw gives things identities that no other test uses. It sends nothing.
func (t *Trial) Draw(things ...*Thing) { t.engine.Draw(things...) }

// Create creates things. The responses, and what they have of what was sent, are checked.
func (t *Trial) Create(things ...*Thing) {
	for _, thing := range things {
		t.endIf(t.engine.Create(thing))
	}
}

// CreateIfPossible creates a thing, which is Missing if it is refused.
func (t *Trial) CreateIfPossible(thing *Thing) { t.engine.CreateIfPossible(thing) }

// Do sends a request in terms of the document.
func (t *Trial) Do(call Call, expect Expectation) Interaction {
	got, err := t.engine.Do(call, expect)
	t.endIf(err)
	return got
}

// Send sends a request as it is.
func (t *Trial) Send(request Request, expect Expectation) Interaction {
	got, err := t.engine.Send(request, expect)
	t.endIf(err)
	return got
}

// Pages reads the pages of an operation for a query, and those to which Link leads from it.
func (t *Trial) Pages(operation string, query url.Values) iter.Seq[Interaction] {
	return func(yield func(Interaction) bool) {
		page := t.Do(Call{Operation: operation, Query: query}, Accepted)
		for yield(page) && page.NextLink() != "" {
			path, query, err := page.LeadsTo(page.NextLink())
			t.Check(err)
			page = t.Send(Request{Method: page.Method, Path: path, Query: query, Header: http.Header{}}, Accepted)
		}
	}
}

// Together runs functions at the same time, each with a trial of its own. If several end early, the last function counts,
// or else the one that has ended first.
func (t *Trial) Together(functions ...func(*Trial)) {
	last := len(functions) - 1
	endings := make(chan error, last)
	for _, function := range functions[:last] {
		engine, wrong := t.engine.Beside()
		go func() { endings <- cmp.Or(Try(engine, function), wrong()) }()
	}
	err := Try(t.engine, functions[last])
	for range last {
		err = cmp.Or(err, <-endings)
	}
	t.endIf(err)
}

// User is who sends the requests of a part of a test: see [Trial.As].
type User string

// The users of a service.
const (
	Owner     User = ""          // the one of most tests
	Other     User = "other"     // a second one, if the options have it
	Anonymous User = "anonymous" // it has no credentials
)

// As returns a trial with the credentials of a user, who remembers what it has created. Its responses are not held to the
// document: another test does that. What it expects and does not find ends the whole test.
func (t *Trial) As(user User) *Trial { return &Trial{engine: t.engine.As(user), failed: t.failed} }

// Attempt runs a part of a test. What that expects and does not find ends the part.
func (t *Trial) Attempt(part func(*Trial)) { _ = Try(t.engine, part) }

// Undecided ends the test with a question: only a person knows whether the promise is kept.
func (t *Trial) Undecided(question string) { t.endIf(Undecided{NotTested(question)}) }

// Undecided is a question in place of why a promise is not tested: all has been tried.
type Undecided struct{ NotTested }

// Unwrap returns the question.
func (u Undecided) Unwrap() error { return u.NotTested }
