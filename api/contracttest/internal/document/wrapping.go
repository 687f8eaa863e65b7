package document

import (
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Wrapping is where the JSON of an operation has the thing that it is about, as JSON Pointers. Tests see the members of a thing,
// and no wrapping.
//
//	{"id": 7, "name": "a"}                                 both are empty
//	{"data": {"id": 7, "name": "a"}}                       Members is /data
//	{"data": {"id": 7, "attributes": {"name": "a"}}}       Members is /data/attributes, and Identity /data/id
type Wrapping struct {
	Members  string
	Identity string // empty: it is one of the members
}

// Thing is the thing in a body, with its identity, or nil.
func (w Wrapping) Thing(body any) map[string]any {
	members := jsonvalue.Object(jsonvalue.Lookup(body, "#"+w.Members))
	if w.Identity == "" || members == nil {
		return members
	}
	_, name := jsonvalue.Split(w.Identity)
	return jsonvalue.Object(jsonvalue.With(members, name, jsonvalue.Lookup(body, "#"+w.Identity)))
}

// Wrapped is a body whose thing has been replaced by another one, which may be wrapped already. What is no object is no thing,
// but a body by itself.
func (w Wrapping) Wrapped(body, thing any) any {
	isWrapped := w.Thing(thing) != nil // also where nothing wraps it
	if isWrapped || jsonvalue.Object(thing) == nil {
		return thing
	}
	return jsonvalue.With(body, w.Members, thing)
}

// IdentityOf is where a body has the member that is the identity of the thing.
func (w Wrapping) IdentityOf(member string) string {
	if w.Identity != "" {
		return w.Identity
	}
	return w.Members + jsonvalue.Pointer(member)
}

// NameOf is the identity as the options have it: the name of the member, or a JSON Pointer where that does not suffice.
func (w Wrapping) NameOf(member string) string {
	if place := w.IdentityOf(member); place != jsonvalue.Pointer(member) {
		return place
	}
	return member
}

// GivenBy is the thing in a response, or nil.
func (o *Operation) GivenBy(got scenario.Interaction) map[string]any {
	value, _ := got.Value() // what is no JSON has none
	return o.Gives.Thing(value)
}

// ThingSchema is the schema of the thing in a JSON body of requests, or nil.
func (o *Operation) ThingSchema() *schema.Schema { return o.Takes.Schema(o.BodySchema()) }

// ThingResult is the schema of the thing in the JSON of a success, or nil.
func (o *Operation) ThingResult() *schema.Schema { return o.Gives.Schema(o.Result()) }

// Schema is the schema of the thing in a body.
func (w Wrapping) Schema(of *schema.Schema) *schema.Schema {
	if w.Members == "" {
		return of
	}
	return schema.At(of, w.Members)
}
