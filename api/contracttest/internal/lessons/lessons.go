// Package lessons has what was learned of operations that their document does not say, and fills requests with it.
//
// A document says what a request looks like, and seldom what it needs: the flow that a deployment is of must exist, a
// name must not be taken, and a text must be a time zone. Of a service with many such rules, all tests of an operation
// would otherwise fail in front of the same obstacle. What exists, package world knows. What is found out by trying,
// package plan adds with [Lessons.Teach]: that a first request was accepted, that texts must be new in each request, and
// which optional members the service refuses.
//
// Requests are filled when they are sent, because more is known then than when their test was made. [Lessons.Path] and
// [Lessons.Text] are for parameters (paths.go), [Lessons.Body] and [Lessons.Value] for bodies (bodies.go). They replace
// only placeholders, the plainest values of schemas. A value that a test is about is another one, so it
// stays.
//
// What is learned is a guess. A request that was filled may be refused for what it names: then the test ends not tested,
// and the service is not accused.
package lessons

import (
	"sync"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/internal/world"
)

// Lessons are what was learned of a service. Several goroutines may use them; [Lessons.For] is of one test.
type Lessons struct {
	*learned
	world  *world.World
	values *values.Generator
}

// learned is what all tests share.
type learned struct {
	mu      sync.Mutex
	lessons map[*document.Operation]*Lesson
}

// Lesson is what was learned of an operation.
type Lesson struct {
	// IsRehearsed means that its first request was accepted, in one way or another.
	IsRehearsed bool
	// IsPlainAccepted means that its plainest request was accepted.
	IsPlainAccepted bool
	// IsLookedAt means that a test has found out whether its plainest request fails.
	IsLookedAt bool
	// NeedsFresh means that its texts must be new ones in each request, or of small letters.
	NeedsFresh bool
	// RefusesVaried means that a body with another value for each member was refused.
	RefusesVaried bool
	// LeftOut are the places of optional members of the body that the service refuses, whatever the document says.
	LeftOut       map[string]bool
	hasReferences bool // members of its body may name something else
}

// New returns lessons of which none is learned yet.
func New(of *world.World, generator *values.Generator) *Lessons {
	return &Lessons{
		learned: &learned{lessons: map[*document.Operation]*Lesson{}},
		world:   of,
		values:  generator,
	}
}

// For returns the same lessons for a test, which draws with its own generator, in the world of its user.
func (l *Lessons) For(generator *values.Generator, of *world.World) *Lessons {
	return &Lessons{learned: l.learned, world: of, values: generator}
}

// Of returns a copy of what is known of an operation.
func (l *Lessons) Of(operation *document.Operation) Lesson {
	l.mu.Lock()
	defer l.mu.Unlock()
	return *l.of(operation)
}

// Teach changes what is known of an operation.
func (l *Lessons) Teach(operation *document.Operation, change func(*Lesson)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	changed := *l.of(operation)
	change(&changed)
	l.lessons[operation] = &changed
}

// of is what is known of an operation. The lock is held.
func (l *Lessons) of(operation *document.Operation) *Lesson {
	if l.lessons[operation] == nil {
		l.lessons[operation] = &Lesson{hasReferences: l.refers(operation.BodySchema(), deepest)}
	}
	return l.lessons[operation]
}

// deepest is how many objects deep a body is looked through for what names something else.
const deepest = 3

// refers reports whether a body of a schema may name something else, in a member at most so many objects deep.
func (l *Lessons) refers(of *schema.Schema, levels int) bool {
	if of == nil || levels == 0 {
		return false
	}
	flat := l.values.Flatten(of)
	if l.refers(flat.Items2020, levels) {
		return true
	}
	for _, branch := range append(l.values.Branches(flat), flat) {
		for _, name := range l.values.Names(branch) {
			property := l.values.Property(branch, name)
			isReference := len(world.Elsewhere(name)) > 0 || isIdentityFormat(property)
			if isReference || l.refers(property, levels-1) {
				return true
			}
		}
	}
	return false
}

// isIdentityFormat reports whether values of a schema may name something, whatever the name of their member is.
func isIdentityFormat(of *schema.Schema) bool {
	return schema.FormatOf(of) == "uuid" || schema.TypeOf(of) == "integer"
}
