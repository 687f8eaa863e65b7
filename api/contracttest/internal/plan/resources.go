package plan

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// A resource is what makes tests of several requests possible: which operation creates a thing, which one reads
// it, and what in the response of the first goes into the path of the second. Links of the document say that
// best. Few documents have links, so options can say it, too, and else it is inferred.

// resource is something that operations create and work on.
type resource struct {
	create *document.Operation
	// Of the create's body, or of its response, that identifies it.
	member   string
	assigned bool
	identity *openapi3.Schema // of the identity
	// The operations on one resource, by method.
	uses     map[string]*document.Operation
	inferred bool
	// That the path of the create names, or nil.
	parent *resource
}

// use says that a path parameter of an operation identifies a resource. The parameters before it identify what that is
// below.
type use struct {
	*resource
	parameter string
}

// thing is a resource that a test creates; an identity of nil is drawn, or assigned by the service.
func (x *resource) thing(id any) *scenario.Thing {
	return &scenario.Thing{Creator: x.create.ID, ID: id}
}

// methods are those of the operations on one resource, sorted.
func (x *resource) methods() []string { return slices.Sorted(maps.Keys(x.uses)) }

// isNamed reports whether a path parameter is the one that identifies the resource itself.
func (u *use) isNamed(parameter string) bool { return u != nil && u.parameter == parameter }

// fill writes the identity of a thing into a path, and those of what it is below. What is not a parameter of the path
// is left as it is.
func (u *use) fill(operation *document.Operation, path string, thing *scenario.Thing) string {
	for i := slices.Index(operation.PathNames, u.parameter); i >= 0 && thing != nil; i-- {
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

// isOn reports whether an operation is on the thing that it names, and not on something below it.
func (u *use) isOn(operation *document.Operation) bool {
	return u != nil && u.uses[operation.Method] == operation
}

// above is the use of what the resource is below, or nil.
func (u *use) above(operation *document.Operation) *use {
	i := slices.Index(operation.PathNames, u.parameter)
	if u.parent == nil || i < 1 {
		return nil
	}
	return &use{u.parent, operation.PathNames[i-1]}
}

// isNamedBy reports whether a path parameter of an operation identifies the resource, or what that is below.
func (u *use) isNamedBy(operation *document.Operation, parameter string) bool {
	for ; u != nil; u = u.above(operation) {
		if u.parameter == parameter {
			return true
		}
	}
	return false
}

// findResources finds the resources that links and the options declare, and infers others. Links come
// first: the author of the document has written them, and the options may add to them.
func (p *Planner) findResources() {
	for _, operation := range p.Document.Operations {
		for _, response := range operation.Spec.Responses.Map() {
			for _, name := range slices.Sorted(maps.Keys(response.Value.Links)) {
				p.addLink(operation, response.Value.Links[name].Value)
			}
		}
	}
	for _, declared := range p.Resources {
		p.addResource(declared, false)
	}
	p.inferResources()
	p.inferBelow()
}

// addLink adds what a link of a response leads to.
func (p *Planner) addLink(from *document.Operation, link *openapi3.Link) {
	to := p.Document.Operation(link.OperationID)
	for parameter, expression := range link.Parameters {
		source, member, isBody := strings.Cut(fmt.Sprint(expression), ".body#/")
		isKnown := slices.Contains([]string{"$request", "$response"}, source)
		isTop := !strings.Contains(member, "/")
		switch {
		case !isBody, !isKnown:
			p.Document.Unsupport("%s, link to %s by %v", from.ID, link.OperationID, expression)
		case !isTop, !canFollow(from, to):
			p.Document.Unsupport("%s, link to %s: only a POST without path parameters can be followed", from.ID, link.OperationID)
		default:
			of := scenario.Resource{ID: member, Assigned: source == "$response"}
			p.addUse(from, to, of, strings.TrimPrefix(parameter, "path."), false)
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
func (p *Planner) addResource(declared scenario.Resource, inferred bool) {
	create := p.Document.Operation(declared.Create)
	if create == nil {
		return
	}
	for _, id := range []string{declared.Read, declared.Replace, declared.Change, declared.Delete} {
		operation := p.Document.Operation(id)
		if operation == nil || len(operation.PathNames) == 0 {
			continue
		}
		parameter := operation.PathNames[len(operation.PathNames)-1]
		isTaken := inferred && p.uses[operation] != nil
		if !isTaken {
			p.addUse(create, operation, declared, parameter, inferred)
		}
	}
}

// addUse adds an operation on a resource, whose path parameter identifies it. Links and options speak of one
// operation at a time, so the resource is made with its first one.
func (p *Planner) addUse(create, operation *document.Operation, declared scenario.Resource, parameter string, inferred bool) {
	if p.isLeftOut(create) || p.isLeftOut(operation) {
		return
	}
	x := first(p.resources, func(x *resource) bool { return x.create == create })
	if x == nil {
		x = &resource{
			create: create, member: declared.ID, assigned: declared.Assigned, inferred: inferred,
			uses: map[string]*document.Operation{},
		}
		p.markIdentity(x)
		p.resources = append(p.resources, x)
	}
	// The service assigns it: the path says what it looks like.
	if x.identity == nil {
		described := operation.Parameter("path", parameter)
		if described == nil {
			return
		}
		x.identity, _ = document.ParameterSchema(described)
	}
	x.uses[operation.Method] = operation
	p.uses[operation] = &use{x, parameter}
}

// markIdentity makes the member of the body of a create an identity, also one that the service may not take
// over. Values of that member are drawn fresh from then on, in every test of the operation.
func (p *Planner) markIdentity(x *resource) {
	body := x.create.BodySchema()
	if body == nil {
		return
	}
	property := p.values.Flatten(body).Properties[x.member]
	if property == nil || p.values.IsAbsent(property.Value) {
		return
	}
	p.values.MarkIdentity(property.Value)
	if !x.assigned {
		x.identity = property.Value
	}
}

// resourceOf returns the resource that an operation creates or works on, or nil. A PUT that creates is
// both, and the resource is the same one.
func (p *Planner) resourceOf(operation *document.Operation) *resource {
	return first(p.resources, func(x *resource) bool {
		return x.create == operation || x.uses[operation.Method] == operation
	})
}

// creates reports whether an operation creates a resource that a test knows.
func (p *Planner) creates(operation *document.Operation) bool {
	return slices.ContainsFunc(p.resources, func(x *resource) bool { return x.create == operation })
}

// resourceCreatedBy returns the resource of a create operation, or nil.
func (p *Planner) resourceCreatedBy(id string) *resource {
	return first(p.resources, func(x *resource) bool { return x.create.ID == id })
}
