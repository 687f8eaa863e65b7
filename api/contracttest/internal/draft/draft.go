// Package draft makes requests of the steps of tests.
//
// A test says what it does in terms of things: create a tool, read it, delete it. It names no operation and no path. A
// [Draft] knows which operation that is (package resources), what else its request needs (package lessons), which
// values it has (package values), and how the identity of a thing is written into its path. So one test fits every
// document.
//
// [Drafts] has what is known of a service, and makes a [Draft] for each run of a test. What that draws depends on the
// name of the test alone, so a test sends the same requests alone and among all others.
//
// There are two sides. Tests call the methods that return steps:
//
//   - [Draft.Call] and [Draft.CallAccepted] call the operation with a method on a thing: PUT replaces it. What must
//     succeed, so that the steps after it show something, is CallAccepted.
//   - [Draft.Read] reads a thing and remembers it in thing.Seen, [Draft.Unchanged] reads it again and compares.
//   - [Draft.Remove] deletes it, and {Create: thing} as a step creates it.
//   - [Draft.PlainBody] and [Draft.Varied] are bodies: always the same, or different from those of all other things.
//   - [Untried] and [Failing] end a test.
//
// Package run executes steps, and calls [Draft.Expand] for those that consist of others: a Create becomes the request
// that creates something, and those that create what it is below. A step knows only when it is executed which
// identities there are, so what depends on them is in [scenario.Later].
//
// creation.go creates things, and learns their identities of the responses. shows.go says whether a response has what
// was sent ([Drafts.Shows]). request.go makes the requests. walk.go goes where a response leads.
package draft

import (
	"bytes"
	"fmt"
	"net/http"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/judge"
	"github.com/plantstore/plantstore/api/contracttest/internal/lessons"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Drafts make a draft for each run of a test, from what is known of a service.
type Drafts struct {
	Document  *document.Document
	Judge     *judge.Judge
	Resources *resources.Set
	Lessons   *lessons.Lessons
	Values    *values.Generator
}

// Draft makes the steps of one run of a test. What it draws depends on the name of the test only.
type Draft struct {
	*Drafts
	// Those of all tests, with the generator of this one.
	Lessons *lessons.Lessons
	Values  *values.Generator
	// What the things of a resource are below.
	parents map[*resources.Resource]*scenario.Thing
}

// Draft returns what makes the steps of one run of a test.
func (s *Drafts) Draft(test string) *Draft {
	generator := s.Values.ForTest(test)
	return &Draft{
		Drafts:  s,
		Lessons: s.Lessons.For(generator),
		Values:  generator,
		parents: map[*resources.Resource]*scenario.Thing{},
	}
}

// Expand returns the steps that a step consists of: one that creates a thing, walks through a list, or
// is a request in terms of the document. The steps before it are done.
func (d *Draft) Expand(step scenario.Step) []scenario.Step {
	switch {
	case step.Draw != nil:
		d.draw(step.Draw)
		return nil
	case step.Create != nil:
		return d.create(step)
	case step.Walk != nil:
		return d.walk(step)
	case step.Call != nil:
		return d.complete(step)
	}
	return []scenario.Step{step}
}

// draw gives things identities.
func (d *Draft) draw(things []*scenario.Thing) {
	for _, thing := range things {
		if x := d.Resources.CreatedBy(thing.Creator); x != nil {
			thing.ID = d.Values.Identity(x.Identity)
		}
	}
}

// Failing is a step that fails.
func Failing(format string, args ...any) []scenario.Step {
	return []scenario.Step{{Check: func(scenario.Interaction) error {
		return scenario.Brokenf(format, args...)
	}}}
}

// Untried is a step that ends a test without a failure.
func Untried(why scenario.Untried) []scenario.Step {
	return []scenario.Step{{Check: func(scenario.Interaction) error { return why }}}
}

// Call is a step that calls the operation with a method on a thing.
func (d *Draft) Call(method string, thing *scenario.Thing, body any, check func(scenario.Interaction) error) scenario.Step {
	operation := d.Resources.CreatedBy(thing.Creator).Operations[method]
	return scenario.Step{
		Call: func() scenario.Call {
			return scenario.Call{Operation: operation.ID, Of: thing, Body: body}
		},
		Check: check,
	}
}

// CallAccepted is a step that calls the operation with a method on a thing, which must succeed, or the steps after it
// show nothing.
func (d *Draft) CallAccepted(method string, thing *scenario.Thing, body any) scenario.Step {
	step := d.Call(method, thing, body, nil)
	step.Expect = scenario.Accepted
	return step
}

// PlainBody is the plainest body of an operation, or nil.
func (d *Draft) PlainBody(operation *document.Operation) any {
	described := operation.BodySchema()
	if described == nil {
		return nil
	}
	return d.Lessons.Value(operation, d.Values.Base(described))
}

// Read reads a thing, if there is an operation for it, and remembers what is seen.
func (d *Draft) Read(thing *scenario.Thing, checks ...func(scenario.Interaction) error) []scenario.Step {
	if d.Resources.CreatedBy(thing.Creator).Operations[http.MethodGet] == nil {
		return nil
	}
	return []scenario.Step{d.Call(http.MethodGet, thing, nil, func(got scenario.Interaction) error {
		thing.Seen = got
		for _, check := range checks {
			if err := check(got); err != nil {
				return err
			}
		}
		return nil
	})}
}

// Unchanged reads a thing again, which must be as it was seen: byte by byte, because a client would take any
// difference for a change. Nothing may have written it since: with each write a service may set a time or a version.
func (d *Draft) Unchanged(thing *scenario.Thing, what string, args ...any) []scenario.Step {
	before := thing.Seen.Body
	return d.Read(thing, func(after scenario.Interaction) error {
		isSame := bytes.Equal(before, after.Body)
		return scenario.Require(isSame, "%s has changed %v from %s to %s", fmt.Sprintf(what, args...), thing.ID, before, after.Body)
	})
}

// Remove removes a thing, if there is an operation for it and its path can name it.
func (d *Draft) Remove(thing *scenario.Thing) (steps []scenario.Step) {
	operation := d.Resources.CreatedBy(thing.Creator).Operations[http.MethodDelete]
	if operation == nil {
		return nil
	}
	use := d.Resources.UseOf(operation)
	for _, parameter := range operation.Parameters {
		isIdentity := parameter.In == "path" && use.IsNamed(parameter.Name)
		if _, canBeWritten := document.Written(parameter, thing.ID); isIdentity && canBeWritten {
			steps = append(steps, d.Call(http.MethodDelete, thing, nil, nil))
		}
	}
	return steps
}

// Accepted returns an error unless a response is a success, as package judge says. An inferred resource
// may have no ETag of the form that a condition has. promise is what the request was made for, or nothing.
func (s *Drafts) Accepted(x scenario.Interaction, promise scenario.Promise) error {
	use := s.Resources.UseOf(s.Document.Serving(x.Method, x.Path))
	isCondition := x.Status == http.StatusBadRequest && x.HasRequestHeader("If-Match", "If-None-Match")
	isInferred := use != nil && use.IsInferred
	if isCondition && isInferred {
		return scenario.Untried("the header has no ETag of the service")
	}
	return s.Judge.Accepted(x, promise)
}
