package plan

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/known"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// A document says what a request looks like, and seldom what it needs: the flow that a deployment is of must exist, a
// name must not be taken, and a text must be a time zone. Responses teach that. What they teach only changes what a
// test is not about, so that one obstacle does not hide all the rest of an operation.

// lesson is what responses have taught of an operation.
type lesson struct {
	// A request of it was accepted.
	isAccepted bool
	// Its texts must be new ones in each request, or of small letters.
	needsFresh bool
	// Places of optional members of the body that the service refuses, whatever the document says.
	leftOut map[string]bool
	// Members of the body may name something else.
	hasReferences bool
}

// lessonOf returns a copy of what is known of an operation.
func (p *Planner) lessonOf(operation *document.Operation) lesson {
	p.lessonMu.Lock()
	defer p.lessonMu.Unlock()
	return *p.lesson(operation)
}

// teach changes what is known of an operation.
func (p *Planner) teach(operation *document.Operation, change func(*lesson)) {
	p.lessonMu.Lock()
	defer p.lessonMu.Unlock()
	changed := *p.lesson(operation)
	change(&changed)
	p.lessons[operation] = &changed
}

// lesson is what is known of an operation. The lock is held.
func (p *Planner) lesson(operation *document.Operation) *lesson {
	if p.lessons[operation] == nil {
		p.lessons[operation] = &lesson{hasReferences: p.refers(operation.BodySchema(), deepestReference)}
	}
	return p.lessons[operation]
}

// deepestReference is how many objects deep a body is looked through for what names something else.
const deepestReference = 3

// refers reports whether a body of a schema may name something else.
func (p *Planner) refers(of *openapi3.Schema, levels int) bool {
	if of == nil || levels == 0 {
		return false
	}
	flat := p.values.Flatten(of)
	for _, branch := range append(p.values.Branches(flat), flat) {
		for name := range branch.Properties {
			property := p.values.Property(branch, name)
			isReference := len(known.Elsewhere(name)) > 0 || isIdentityFormat(property)
			if isReference || p.refers(property, levels-1) {
				return true
			}
		}
	}
	return flat.Items != nil && p.refers(flat.Items.Value, levels)
}

// isIdentityFormat reports whether a value names something, whatever its own name is.
func isIdentityFormat(of *openapi3.Schema) bool {
	return of.Format == "uuid" || of.Type.Is("integer")
}

// mostLearned is the longest response that is looked at for values.
const mostLearned = 1 << 20

// Learn takes from a response what later requests may need.
func (p *Planner) Learn(x scenario.Interaction) {
	operation := p.Document.Find(x.Method, x.Path)
	if operation == nil {
		return
	}
	isSuccess := x.Status >= http.StatusOK && x.Status < http.StatusMultipleChoices
	isUnknown := slices.Contains([]int{http.StatusNotFound, http.StatusGone}, x.Status)
	switch {
	case isUnknown:
		p.refuses(operation, x.Path)
	case isSuccess && x.Method == http.MethodDelete:
		p.forget(operation, x.Path)
	}
	if !isSuccess {
		return
	}
	if !p.lessonOf(operation).isAccepted {
		p.teach(operation, func(l *lesson) { l.isAccepted = true })
	}
	if len(x.Body) > mostLearned {
		return
	}
	at := p.learnPath(operation, x.Path)
	nouns := known.NounsOf(operation.Template, operation.ResultName(x.Status))
	isPost := x.Method == http.MethodPost && (x.Status == http.StatusCreated || len(x.Body) == 0)
	if isPost || x.Method == http.MethodPut {
		// Where the response has less, what was sent says what exists now.
		sent, _ := jsonvalue.DecodeLoosely(x.RequestBody)
		p.pool.Learn(nouns, sent, at)
	}
	received, _ := jsonvalue.DecodeLoosely(x.Body) // what is no JSON has no values
	p.pool.Learn(nouns, received, at)
}

// learnPath is the place of a path that a service has accepted. What is read there exists, so it is kept: of other
// requests some are accepted for what does not exist.
func (p *Planner) learnPath(operation *document.Operation, path string) known.Place {
	trail := operation.PathValues(path)
	last := len(trail) - 1
	if !operation.EndsWithParameter() {
		return known.Place{Shape: operation.Prefix(last), Trail: trail}
	}
	above := known.Place{Shape: operation.Prefix(last - 1), Trail: trail[:last]}
	if text, err := url.PathUnescape(trail[last]); err == nil && operation.Method == http.MethodGet {
		p.pool.Add(operation.Prefix(last), known.Entry{Value: text, Place: above})
	}
	return above
}

// mostRefused is how many values are remembered that an operation did not find.
const mostRefused = 10_000

// refuses remembers that an operation has not found what its path names. Another one may: some read by the name what
// others change by the id.
func (p *Planner) refuses(operation *document.Operation, path string) {
	id := operation.LastPathValue(path)
	p.lessonMu.Lock()
	defer p.lessonMu.Unlock()
	isOfBody := p.lesson(operation).hasReferences
	if id != nil && !isOfBody && len(p.refused) < mostRefused {
		p.refused[operation.ID+" "+fmt.Sprint(id)] = true
	}
}

// hasRefused reports whether an operation has not found a value at the end of its path.
func (p *Planner) hasRefused(operation *document.Operation, value any) bool {
	p.lessonMu.Lock()
	defer p.lessonMu.Unlock()
	return p.refused[operation.ID+" "+fmt.Sprint(value)]
}

// forget drops the value at the end of a path, which names nothing any more.
func (p *Planner) forget(operation *document.Operation, path string) {
	id := operation.LastPathValue(path)
	if id != nil && operation.EndsWithParameter() {
		p.pool.Drop(namesInPath(operation, len(operation.PathNames)-1), id)
	}
}
