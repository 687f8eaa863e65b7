// Package draft makes the requests of tests.
//
// A test says what it does in terms of things: create a tool, read it, delete it. It names no operation and no path. A
// [Draft] knows which operation that is (package resources), what else its request needs (package lessons), which
// values it has (package values), and how the identity of a thing is written into its path. So one test fits every
// document.
//
// [Drafts] has what is known of a service, and makes a [Draft] for each run of a test. What that draws depends on the
// promise of the test alone, so a test sends the same requests alone and among all others.
//
// A draft sends nothing. Tests have a [Trial] with the draft, and package run, which sends the requests, asks it
// how a thing is created ([Draft.Creation]), what the request of a call is ([Draft.Request]), and whether a response has
// what was sent ([Drafts.Shows]). [Draft.PlainBody] and [Draft.Varied] are bodies: always the same, or different from
// those of all other things.
//
// creation.go creates things, and learns their identities of the responses. shows.go says whether a response has what
// was sent. request.go makes the requests. trial.go has what tests say.
package draft

import (
	"net/http"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/judge"
	"github.com/plantstore/plantstore/api/contracttest/internal/lessons"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/internal/world"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Drafts make a draft for each run of a test, from what is known of a service.
type Drafts struct {
	Document  *document.Document
	Judge     *judge.Judge
	Resources *resources.Set
	World     *world.World
	Lessons   *lessons.Lessons
	Values    *values.Generator
}

// Draft makes the requests of one run of a test. What it draws depends on the promise of the test only.
type Draft struct {
	*Drafts
	Lessons *lessons.Lessons                        // the lessons of all tests, which draw with the generator of this one
	Values  *values.Generator                       // the generator of this test
	parents map[*resources.Resource]*scenario.Thing // what all things of a resource are below
}

// Draft returns what makes the requests of one run of a test that shows a promise.
func (s *Drafts) Draft(promise string) *Draft {
	generator := s.Values.ForTest(promise)
	return &Draft{
		Drafts:  s,
		Lessons: s.Lessons.For(generator, s.World),
		Values:  generator,
		parents: map[*resources.Resource]*scenario.Thing{},
	}
}

// Draw gives things identities.
func (d *Draft) Draw(things ...*scenario.Thing) {
	for _, thing := range things {
		if x := d.Resources.CreatedBy(thing.Creator); x != nil {
			thing.ID = d.Values.Identity(x.Identity)
		}
	}
}

// CallOf is the call of the operation with a method on a thing.
func (d *Draft) CallOf(method string, thing *scenario.Thing, body any) scenario.Call {
	operation := d.Resources.CreatedBy(thing.Creator).Operations[method]
	return scenario.Call{Operation: operation.ID, Of: thing, Body: body}
}

// PlainBody is the plainest body of an operation, or nil.
func (d *Draft) PlainBody(operation *document.Operation) any {
	described := operation.BodySchema()
	if described == nil {
		return nil
	}
	return d.Lessons.Value(operation, d.Values.Base(described))
}

// Removal is the call that removes a thing, or false if there is no operation for it, or its path cannot name the thing.
func (d *Draft) Removal(thing *scenario.Thing) (removal scenario.Call, isPossible bool) {
	operation := d.Resources.CreatedBy(thing.Creator).Operations[http.MethodDelete]
	if operation == nil {
		return removal, false
	}
	identity := operation.Parameter("path", d.Resources.UseOf(operation).Parameter)
	_, isPossible = document.Written(identity, thing.ID)
	return d.CallOf(http.MethodDelete, thing, nil), isPossible
}
