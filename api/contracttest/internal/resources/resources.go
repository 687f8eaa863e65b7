package resources

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// A resource is what makes tests of several requests possible: which operation creates a thing, which one reads
// it, and what in the response of the first goes into the path of the second. Links of the document say that
// best. Few documents have links, so options can say it, too, and else it is inferred.

// Resource is something that operations create and work on.
type Resource struct {
	Create *document.Operation
	// Of the create's body, or of its response, that identifies it.
	Member     string
	IsAssigned bool
	Identity   *openapi3.Schema // of the identity
	// The operations on one resource, by method.
	Operations map[string]*document.Operation
	IsInferred bool
	// That the path of the create names, or nil.
	Parent *Resource
}

// Use says that a path parameter of an operation identifies a resource. The parameters before it identify what that is
// below.
type Use struct {
	*Resource
	Parameter string
}

// Thing is a resource that a test creates; an identity of nil is drawn, or assigned by the service.
func (x *Resource) Thing(id any) *scenario.Thing {
	return &scenario.Thing{Creator: x.Create.ID, ID: id}
}

// Target is what the path of a create names: what the new thing is below, or with PUT the thing itself.
func (x *Resource) Target(thing *scenario.Thing) *scenario.Thing {
	if x.Parent != nil && x.Create.Method == http.MethodPost {
		return thing.Parent
	}
	return thing
}

// Identified gives the body of a create an identity, if the client chooses that.
func (x *Resource) Identified(body map[string]any, thing *scenario.Thing) map[string]any {
	isChosen := !x.IsAssigned && x.Create.Method == http.MethodPost
	if body != nil && isChosen {
		body[x.Member] = thing.ID
	}
	return body
}

// Methods are those of the operations on one resource, sorted.
func (x *Resource) Methods() []string { return slices.Sorted(maps.Keys(x.Operations)) }

// IsNamed reports whether a path parameter is the one that identifies the resource itself.
func (u *Use) IsNamed(parameter string) bool { return u != nil && u.Parameter == parameter }

// Fill writes the identity of a thing into a path, and those of what it is below. What is not a parameter of the path
// is left as it is.
func (u *Use) Fill(operation *document.Operation, path string, thing *scenario.Thing) string {
	for i := slices.Index(operation.PathNames, u.Parameter); i >= 0 && thing != nil; i-- {
		parameter := operation.Parameter("path", operation.PathNames[i])
		if parameter == nil {
			return path
		}
		// What cannot be written leaves the path empty, which is none.
		text, _ := document.Written(parameter, thing.ID)
		path = strings.Replace(path, "{"+parameter.Name+"}", text, 1)
		thing = thing.Parent
	}
	return path
}

// IsOn reports whether an operation is on the thing that it names, and not on something below it.
func (u *Use) IsOn(operation *document.Operation) bool {
	return u != nil && u.Operations[operation.Method] == operation
}

// Above is the use of what the resource is below, or nil.
func (u *Use) Above(operation *document.Operation) *Use {
	i := slices.Index(operation.PathNames, u.Parameter)
	if u.Parent == nil || i < 1 {
		return nil
	}
	return &Use{u.Parent, operation.PathNames[i-1]}
}

// IsNamedBy reports whether a path parameter of an operation identifies the resource, or what that is below.
func (u *Use) IsNamedBy(operation *document.Operation, parameter string) bool {
	for ; u != nil; u = u.Above(operation) {
		if u.Parameter == parameter {
			return true
		}
	}
	return false
}

// Named returns a body whose identity, if it has one, is that of the path: two that differ are a mistake that
// only some services refuse.
func (u *Use) Named(body, id any) any {
	object := jsonvalue.Object(body)
	if object[u.Member] == nil {
		return body
	}
	same := maps.Clone(object)
	same[u.Member] = id
	return same
}

// Declarations are what the options say of resources and lists.
type Declarations struct {
	Resources []scenario.Resource
	Lists     []scenario.List
	// Whether anything may be inferred of an operation; nil: of every one.
	Infer func(scenario.Operation) bool
	// Operations that no test sends a request of, each with the reason.
	LeaveOut map[string]string
}

// Set are the resources and lists of a document.
type Set struct {
	All   []*Resource
	Lists []*List
	// A sentence for each thing that was inferred.
	Inferred []string

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
	}
	s.findResources()
	s.findLists()
	return s
}

// IsLeftOut reports whether no test sends a request of an operation: the options leave it out, or what it
// needs is not in the document.
func (s *Set) IsLeftOut(operation *document.Operation) bool {
	return s.declared.LeaveOut[operation.ID] != "" || operation.NeedsUnread
}

// UseOf says which resource the path of an operation names, or is nil.
func (s *Set) UseOf(operation *document.Operation) *Use { return s.uses[operation] }

// findResources finds the resources that links and the options declare, and infers others. Links come
// first: the author of the document has written them, and the options may add to them.
func (s *Set) findResources() {
	for _, operation := range s.document.Operations {
		for _, response := range operation.Spec.Responses.Map() {
			for _, name := range slices.Sorted(maps.Keys(response.Value.Links)) {
				s.addLink(operation, response.Value.Links[name].Value)
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
func (s *Set) addLink(from *document.Operation, link *openapi3.Link) {
	to := s.document.Operation(link.OperationID)
	for parameter, expression := range link.Parameters {
		source, member, isBody := strings.Cut(fmt.Sprint(expression), ".body#/")
		isKnown := slices.Contains([]string{"$request", "$response"}, source)
		isTop := !strings.Contains(member, "/")
		switch {
		case !isBody, !isKnown:
			s.document.Unsupport("%s, link to %s by %v", from.ID, link.OperationID, expression)
		case !isTop, !canFollow(from, to):
			s.document.Unsupport("%s, link to %s: only a POST without path parameters can be followed", from.ID, link.OperationID)
		default:
			of := scenario.Resource{ID: member, Assigned: source == "$response"}
			s.addUse(from, to, of, strings.TrimPrefix(parameter, "path."), false)
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
		if operation == nil || len(operation.PathNames) == 0 {
			continue
		}
		parameter := operation.PathNames[len(operation.PathNames)-1]
		isTaken := inferred && s.uses[operation] != nil
		if !isTaken {
			s.addUse(create, operation, declared, parameter, inferred)
		}
	}
}

// addUse adds an operation on a resource, whose path parameter identifies it. Links and options speak of one
// operation at a time, so the resource is made with its first one.
func (s *Set) addUse(create, operation *document.Operation, declared scenario.Resource, parameter string, inferred bool) {
	if s.IsLeftOut(create) || s.IsLeftOut(operation) {
		return
	}
	x := first(s.All, func(x *Resource) bool { return x.Create == create })
	if x == nil {
		x = &Resource{
			Create: create, Member: declared.ID, IsAssigned: declared.Assigned, IsInferred: inferred,
			Operations: map[string]*document.Operation{},
		}
		s.markIdentity(x)
		s.All = append(s.All, x)
	}
	// The service assigns it: the path says what it looks like.
	if x.Identity == nil {
		described := operation.Parameter("path", parameter)
		if described == nil {
			return
		}
		x.Identity, _ = document.ParameterSchema(described)
	}
	x.Operations[operation.Method] = operation
	s.uses[operation] = &Use{x, parameter}
}

// markIdentity makes the member of the body of a create an identity, also one that the service may not take
// over. Values of that member are drawn fresh from then on, in every test of the operation.
func (s *Set) markIdentity(x *Resource) {
	body := x.Create.BodySchema()
	if body == nil {
		return
	}
	property := s.values.Flatten(body).Properties[x.Member]
	if property == nil || s.values.IsAbsent(property.Value) {
		return
	}
	s.values.MarkIdentity(property.Value)
	if !x.IsAssigned {
		x.Identity = property.Value
	}
}

// Of returns the resource that an operation creates or works on, or nil. A PUT that creates is
// both, and the resource is the same one.
func (s *Set) Of(operation *document.Operation) *Resource {
	return first(s.All, func(x *Resource) bool {
		return x.Create == operation || x.Operations[operation.Method] == operation
	})
}

// FirstChosen returns the first resource whose identity the client chooses, or nil.
func (s *Set) FirstChosen() *Resource {
	return first(s.All, func(x *Resource) bool { return !x.IsAssigned })
}

// Creates reports whether an operation creates a resource that a test knows.
func (s *Set) Creates(operation *document.Operation) bool {
	return slices.ContainsFunc(s.All, func(x *Resource) bool { return x.Create == operation })
}

// CreatedBy returns the resource of a create operation, or nil.
func (s *Set) CreatedBy(id string) *Resource {
	return first(s.All, func(x *Resource) bool { return x.Create.ID == id })
}

// first returns the first element that is asked for, or the zero value.
func first[T any](all []T, is func(T) bool) (found T) {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i]
	}
	return found
}
