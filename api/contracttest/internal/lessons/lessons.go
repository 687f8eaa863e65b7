// Package lessons learns from the responses of a service what its document does not say, and fills requests with it.
//
// A document says what a request looks like, and seldom what it needs: the flow that a deployment is of must exist, a
// name must not be taken, and a text must be a time zone. Of a service with many such rules, all tests of an operation
// would otherwise fail in front of the same obstacle. [Lessons.Learn] looks at each response:
//
//   - Which values exist. A response of GET /flows with {"id": "f1"} teaches "flowid"; package known keeps it. A 404, or
//     a DELETE, says that a value names nothing.
//
// What is found out by trying, package plan adds with [Lessons.Teach]: that a first request was accepted, that texts must
// be new in each request, and which optional members the service refuses.
//
// Requests are filled when they are sent, because more is known then than when their test was made. [Lessons.Path] and
// [Lessons.Text] are for parameters (paths.go), [Lessons.Body] and [Lessons.Value] for bodies (bodies.go). They replace
// only placeholders, the plainest values of schemas. A value that a test is about is another one, so it
// stays.
//
// What is learned is a guess. A request that was filled may be refused for what it names: then the test ends untried,
// and the service is not accused.
package lessons

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/known"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Lessons are what responses of a service have taught. Several goroutines may use them; [Lessons.For] is of one test.
type Lessons struct {
	*learned
	values *values.Generator
}

// learned is what all tests share.
type learned struct {
	document *document.Document
	pool     known.Pool

	mu      sync.Mutex
	lessons map[*document.Operation]*Lesson
	refused map[string]bool // see hasRefused
	nouns   map[shown][]string
}

// shown is what responses of an operation with one status show.
type shown struct {
	operation *document.Operation
	status    int
}

// Lesson is what responses have taught of an operation.
type Lesson struct {
	// IsRehearsed means that its first request was accepted, in one way or another.
	IsRehearsed bool
	// IsPlainAccepted means that the plainest request of it was.
	IsPlainAccepted bool
	// NeedsFresh means that its texts must be new ones in each request, or of small letters.
	NeedsFresh bool
	// LeftOut are the places of optional members of the body that the service refuses, whatever the document says.
	LeftOut map[string]bool
	// Members of the body may name something else.
	hasReferences bool
}

// New returns lessons of a document, of which nothing is known yet.
func New(of *document.Document, generator *values.Generator) *Lessons {
	return &Lessons{
		learned: &learned{
			document: of,
			lessons:  map[*document.Operation]*Lesson{},
			refused:  map[string]bool{},
			nouns:    map[shown][]string{},
		},
		values: generator,
	}
}

// For returns the same lessons for a test, which draws with its own generator.
func (l *Lessons) For(generator *values.Generator) *Lessons {
	return &Lessons{learned: l.learned, values: generator}
}

// Added is how many values of responses were found so far that were not known before.
func (l *Lessons) Added() int { return l.pool.Added() }

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

// refers reports whether a body of a schema may name something else.
func (l *Lessons) refers(of *schema.Schema, levels int) bool {
	if of == nil || levels == 0 {
		return false
	}
	flat := l.values.Flatten(of)
	if l.refers(flat.Items2020, levels) {
		return true
	}
	return slices.ContainsFunc(append(l.values.Branches(flat), flat), func(branch *schema.Schema) bool {
		return slices.ContainsFunc(l.values.Names(branch), func(name string) bool {
			property := l.values.Property(branch, name)
			isReference := len(known.Elsewhere(name)) > 0 || isIdentityFormat(property)
			return isReference || l.refers(property, levels-1)
		})
	})
}

// isIdentityFormat reports whether a value names something, whatever its own name is.
func isIdentityFormat(of *schema.Schema) bool {
	return schema.FormatOf(of) == "uuid" || schema.TypeOf(of) == "integer"
}

// Learn takes from a response what later requests may need.
func (l *Lessons) Learn(x scenario.Interaction) {
	operation := l.document.Find(x.Method, x.Path)
	isUnknown := slices.Contains([]int{http.StatusNotFound, http.StatusGone}, x.Status)
	isSuccess := x.Status >= http.StatusOK && x.Status < http.StatusMultipleChoices
	switch {
	case operation == nil: // outside the document
	case isUnknown:
		l.learnRefusal(operation, x.Path)
	case isSuccess:
		l.learnSuccess(operation, x)
	}
}

// mostLearned is the longest response that is looked at for values.
const mostLearned = 1 << 20

// learnSuccess learns which values exist.
func (l *Lessons) learnSuccess(operation *document.Operation, x scenario.Interaction) {
	if x.Method == http.MethodDelete {
		l.forget(operation, x.Path)
		return // what the response shows is not there any more
	}
	if len(x.Body) > mostLearned {
		return
	}
	at := l.learnPath(operation, x)
	nouns := l.nounsOf(operation, x.Status)
	if creates(x) {
		// Where the response has less, what was sent says what exists now.
		sent, _ := jsonvalue.DecodeLoosely(x.RequestBody)
		l.pool.Learn(nouns, sent, at)
	}
	received, err := x.Value()
	if err != nil {
		received, _ = jsonvalue.DecodeLoosely(x.Body) // what is no JSON has no values
	}
	l.pool.Learn(nouns, received, at)
}

// nounsOf says what responses of an operation with a status are of, which takes a while to find out.
func (l *Lessons) nounsOf(operation *document.Operation, status int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := shown{operation: operation, status: status}
	if l.nouns[key] == nil {
		l.nouns[key] = known.NounsOf(operation.Template, operation.ResultName(status))
	}
	return l.nouns[key]
}

// creates reports whether a request that was accepted seems to have created what its body says.
func creates(x scenario.Interaction) bool {
	isPost := x.Method == http.MethodPost && (x.Status == http.StatusCreated || len(x.Body) == 0)
	return isPost || x.Method == http.MethodPut
}

// learnPath is the place of a path that a service has accepted. What is read or created there exists, so it is kept: of
// other requests some are accepted for what does not exist.
//
//	GET /rooms/r1/boards/s1   200: what is below r1 is known, and s1 exists there
func (l *Lessons) learnPath(operation *document.Operation, x scenario.Interaction) known.Place {
	trail := operation.PathValues(x.Path)
	last := len(trail) - 1
	if !operation.EndsWithParameter() {
		return known.Place{Shape: operation.Prefix(last), Trail: trail}
	}
	above := known.Place{Shape: operation.Prefix(last - 1), Trail: trail[:last]}
	exists := x.Method == http.MethodGet || x.Status == http.StatusCreated
	if text, err := url.PathUnescape(trail[last]); err == nil && exists {
		l.pool.Add(operation.Prefix(last), known.Entry{Value: text, Place: above})
	}
	return above
}

// mostRefused is how many values are remembered that an operation did not find.
const mostRefused = 10_000

// learnRefusal remembers that an operation has not found what its path names. Another one may: some read by the name
// what others change by the id.
func (l *Lessons) learnRefusal(operation *document.Operation, path string) {
	id := operation.LastPathValue(path)
	l.mu.Lock()
	defer l.mu.Unlock()
	isOfBody := l.of(operation).hasReferences
	if id != nil && !isOfBody && len(l.refused) < mostRefused {
		l.refused[operation.ID+" "+fmt.Sprint(id)] = true
	}
}

// hasRefused reports whether an operation has not found a value at the end of its path.
func (l *Lessons) hasRefused(operation *document.Operation, value any) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused[operation.ID+" "+fmt.Sprint(value)]
}

// forget drops the value at the end of a path, which names nothing any more, and what was below it.
func (l *Lessons) forget(operation *document.Operation, path string) {
	if !operation.EndsWithParameter() {
		return
	}
	last := len(operation.PathNames) - 1
	l.pool.Drop(namesInPath(operation, last), operation.LastPathValue(path))
	l.pool.DropBelow(known.Place{Shape: operation.Prefix(last), Trail: operation.PathValues(path)})
}
