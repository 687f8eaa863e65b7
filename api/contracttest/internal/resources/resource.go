package resources

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Resource is something that operations create and work on.
type Resource struct {
	// Create is the operation that creates it, a POST or a PUT.
	Create *document.Operation
	// Operations are those on one such thing, by method: GET, PUT, PATCH and DELETE, as far as the document has them.
	Operations map[string]*document.Operation
	// Member is the member that identifies it: of the response to the create if the service assigns the identity, else
	// of the body of the create. It is empty if only a path or Location has the identity.
	Member     string
	IsAssigned bool
	// Identity is the schema of the identity.
	Identity *schema.Schema
	// IsInferred means that the document does not say all this.
	IsInferred bool
	// IsGuessed means that the member that identifies it may be another one: see identify.
	IsGuessed bool
	// Parent is what it is below, which the path of the create names; or nil.
	Parent *Resource
}

// Use says that a path parameter of an operation identifies a resource. The parameters before it identify what that is
// below: in /tickets/{id}/comments/{comment}, {comment} a comment, and {id} its ticket.
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
	if body != nil && x.isChosenInBody() {
		body[x.Member] = thing.ID
	}
	return body
}

// isChosenInBody reports whether the client chooses the identity, and a create has it in its body.
func (x *Resource) isChosenInBody() bool {
	return !x.IsAssigned && x.Create.Method == http.MethodPost
}

// InPath is the identity in a path of the resource, or nil. Any operation on one can read it there.
func (x *Resource) InPath(path string) any {
	return x.onOne().LastPathValue(path)
}

// onOne is an operation on one such thing.
func (x *Resource) onOne() *document.Operation {
	on := x.Operations
	return cmp.Or(on[http.MethodDelete], on[http.MethodGet], on[http.MethodPut], on[http.MethodPatch])
}

// Methods are those of the operations on one resource, sorted.
func (x *Resource) Methods() []string { return slices.Sorted(maps.Keys(x.Operations)) }

// Named is the resource that is identified, or nil.
func (u *Use) Named() *Resource {
	if u == nil {
		return nil
	}
	return u.Resource
}

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
		// What cannot be written leaves an empty segment, which no path of the operation has.
		text, _ := document.Written(parameter, thing.ID)
		path = strings.ReplaceAll(path, "{"+parameter.Name+"}", text)
		thing = thing.Parent
	}
	return path
}

// IsOn reports whether an operation is on the thing itself that its path names, and not on something below that.
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

// Shown is the thing in a response to a read, or nil.
func (x *Resource) Shown(read scenario.Interaction) map[string]any {
	if get := x.Operations[http.MethodGet]; get != nil {
		return get.GivenBy(read)
	}
	return nil
}

// WithIdentity returns the body of an operation whose identity, if it has one, is that of the path: two that differ are a
// mistake that only some services refuse.
func (u *Use) WithIdentity(operation *document.Operation, body, id any) any {
	place := operation.Takes.IdentityOf(u.Member)
	if jsonvalue.Lookup(body, "#"+place) == nil {
		return body
	}
	return jsonvalue.With(body, place, id)
}
