// Package resources finds out which operations of a document create, read, change, delete and list one thing. It
// makes no tests and sends nothing.
//
// A document says what each request looks like, and seldom which of them belong together. Tests of several requests
// need just that: POST /tools creates what GET /tools/{toolId} reads, the member id of the response to the first goes
// into the path of the second, and GET /tools lists it. A [Resource] (resource.go) is such a thing with the operations
// on it, a [Use] says where the path of an operation names one, and a [List] (list.go) is an operation that lists it,
// with what its parameters do.
//
// [Find] collects them from three sources, in this order, and the first one that says something is right:
//
//   - Links of the document. Its author says what leads where.
//   - [Declarations] of the options.
//   - The shape of paths and the names of members (infer.go, inferlists.go, names.go). That is guessing, so each guess
//     is a sentence in [Set.Inferred], which the report shows, the options can correct it, and a failure that depends
//     on one is confirmed before it counts.
//
// What was inferred has IsInferred. Such a thing promises less: where a right service may do otherwise than was guessed,
// tests end not tested, and do not fail. promised.go answers what the document itself says of a resource, for example
// [Resource.RefusesAbsent], so that a test asks for a promise and not for the way in which it is written.
//
// Bodies may wrap a thing: {"data": {"id": 7}}. Each operation has a [document.Wrapping] for what it takes and gives
// (wrapping.go), so that tests see the thing alone.
//
// A thing may be below another one: the Parent of a comment is a ticket, and a test of the comment creates both.
//
// Sets do not change after [Find]; any number of goroutines may read them.
//
// # To read more from a document
//
// What a test wants to know of a resource is a method of [Resource] in promised.go: it returns whether the document
// says so, and is stricter where IsInferred. What a parameter of a list may do is a line in the table of List.meanings
// with the names that such parameters have, in names.go.
package resources

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Declarations are what the options say of resources and lists.
type Declarations struct {
	Resources []scenario.Resource `json:",omitempty"`
	Lists     []scenario.List     `json:",omitempty"`
	// Operations that no test sends a request of, each with the reason.
	LeaveOut map[string]string `json:"-"`
}

// Set are the resources and lists of a document.
type Set struct {
	All   []*Resource
	Lists []*List
	// A sentence for each thing that was inferred.
	Inferred []string

	missed   map[string][]string // operations, by the reason why nothing was inferred of them
	stub     Declarations        // what the options should have of them
	declared Declarations
	document *document.Document
	values   *values.Generator
	uses     map[*document.Operation]*Use
}

// Find finds the resources and the lists of a document.
func Find(of *document.Document, generator *values.Generator, declared Declarations) *Set {
	s := &Set{
		declared: declared,
		document: of,
		values:   generator,
		uses:     map[*document.Operation]*Use{},
		missed:   map[string][]string{},
	}
	s.findResources()
	s.findLists()
	return s
}

// IsLeftOut reports whether no test sends a request of an operation: the options leave it out, or what it
// needs is not in the document.
func (s *Set) IsLeftOut(operation *document.Operation) bool {
	return s.declared.LeaveOut[operation.ID] != "" || operation.NeedsUnread || operation.LacksBody
}

// UseOf says which resource the path of an operation names. It is nil if that is not known.
func (s *Set) UseOf(operation *document.Operation) *Use { return s.uses[operation] }

// findResources finds the resources that links and the options declare, and infers others.
func (s *Set) findResources() {
	for _, operation := range s.document.Operations {
		for _, response := range operation.Responses {
			for _, name := range slices.Sorted(maps.Keys(response.Links)) {
				s.addLink(operation, response.Links[name])
			}
		}
	}
	for _, declared := range s.declared.Resources {
		s.addResource(declared, false)
	}
	s.inferResources()
	s.inferBelow()
}

// addLink adds what a link of a response leads to.
//
//	"links": {"getTool": {"operationId": "getTool", "parameters": {"id": "$response.body#/id"}}}
func (s *Set) addLink(from *document.Operation, link *document.Link) {
	to := s.document.Operation(link.OperationID)
	for parameter, expression := range link.Parameters {
		source, member, isBody := strings.Cut(fmt.Sprint(expression), ".body#/")
		isKnown := slices.Contains([]string{"$request", "$response"}, source)
		parameter = strings.TrimPrefix(parameter, "path.")
		switch {
		case !isBody, !isKnown:
			s.document.Unsupport(from.ID, "link to %s by %v", link.OperationID, expression)
		case !canFollow(from, to):
			s.document.Unsupport(from.ID, "link to %s: only a POST without path parameters can be followed", link.OperationID)
		case parameter != to.LastPathName():
			s.document.Unsupport(from.ID, "link to %s by the parameter %s, which its path does not have", link.OperationID, parameter)
		default:
			s.addUse(from, to, scenario.Resource{ID: "/" + member, Assigned: source == "$response"}, false)
		}
	}
}

// canFollow reports whether a test can follow a link: what it comes from needs nothing else, and what it
// leads to needs nothing more.
func canFollow(from, to *document.Operation) bool {
	if to == nil {
		return false
	}
	isCreate := from.Method == http.MethodPost && len(from.PathNames) == 0
	return isCreate && len(to.PathNames) == 1
}

// addResource adds a resource of the options, or an inferred one. An operation that was declared for
// another resource stays with that.
func (s *Set) addResource(declared scenario.Resource, inferred bool) {
	create := s.document.Operation(declared.Create)
	if create == nil {
		return
	}
	for _, id := range []string{declared.Read, declared.Replace, declared.Change, declared.Delete} {
		operation := s.document.Operation(id)
		isTaken := inferred && s.uses[operation] != nil
		if operation != nil && !isTaken {
			s.addUse(create, operation, declared, inferred)
		}
	}
}

// addUse adds an operation on a resource, which the last parameter of its path identifies. Links and options speak of one
// operation at a time, so the resource is made with its first one.
func (s *Set) addUse(create, operation *document.Operation, declared scenario.Resource, inferred bool) {
	parameter := operation.Parameter("path", operation.LastPathName())
	isLeftOut := s.IsLeftOut(create) || s.IsLeftOut(operation)
	if parameter == nil || isLeftOut {
		return
	}
	x := first(s.All, func(x *Resource) bool { return x.Create == create })
	if x == nil {
		x = s.newResource(create, declared, inferred)
		s.All = append(s.All, x)
	}
	if x.Identity == nil { // the service assigns it, and the path says what it looks like
		x.Identity, _ = document.ParameterSchema(parameter)
	}
	x.Operations[operation.Method] = operation
	s.wrap(x, operation)
	s.uses[operation] = &Use{x, parameter.Name}
}

// newResource is what an operation creates, on which no other operation is known yet.
func (s *Set) newResource(create *document.Operation, declared scenario.Resource, inferred bool) *Resource {
	x := &Resource{
		Create: create, IsAssigned: declared.Assigned, IsInferred: inferred,
		Operations: map[string]*document.Operation{},
	}
	if x.IsAssigned {
		x.Member, create.Gives = s.placed(create.Result(), declared.ID)
	} else {
		x.Member, create.Takes = s.placed(create.BodySchema(), declared.ID)
	}
	s.wrap(x, create)
	s.markIdentity(x)
	return x
}

// markIdentity makes the member of the body of a create an identity, also one that the service may not take
// over. Values of that member are drawn fresh from then on, in every test of the operation.
func (s *Set) markIdentity(x *Resource) {
	body := x.Create.ThingSchema()
	if body == nil {
		return
	}
	property := s.values.Flatten(body).Properties[x.Member]
	if property == nil || s.values.IsAbsent(property) {
		return
	}
	s.values.MarkIdentity(property)
	if !x.IsAssigned {
		x.Identity = property
	}
}

// Of returns the resource that an operation creates or works on, or nil. A PUT that creates is
// both, and the resource is the same one.
func (s *Set) Of(operation *document.Operation) *Resource {
	return first(s.All, func(x *Resource) bool { return x.Create == operation || x.Operations[operation.Method] == operation })
}

// FirstChosen returns the first resource whose identity the client chooses, or nil.
func (s *Set) FirstChosen() *Resource {
	return first(s.All, func(x *Resource) bool { return !x.IsAssigned })
}

// CreatedBy returns the resource of a create operation, or nil.
func (s *Set) CreatedBy(id string) *Resource {
	return first(s.All, func(x *Resource) bool { return x.Create.ID == id })
}

// first returns the first element of which something is so, or the zero value.
func first[T any](all []T, is func(T) bool) (found T) {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i]
	}
	return found
}
