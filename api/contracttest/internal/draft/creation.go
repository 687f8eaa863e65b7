package draft

import (
	"bytes"
	"maps"
	"net/http"
	"slices"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// How a draft creates a thing, and what it learns of it.

// Varied draws the body of a create, with the identity of a thing if the client chooses it. A create may have no
// body, or one that is no object: then it is nil.
func (d *Draft) Varied(x *resources.Resource, thing *scenario.Thing) map[string]any {
	return x.Identified(jsonvalue.Object(d.VariedThing(x.Create)), thing)
}

// VariedThing draws a thing as an operation takes it: each member has another value than the plainest one, but for those that the
// service is known to need. It is nil if the operation has no body, and the plainest value if a thing is no object.
func (d *Draft) VariedThing(operation *document.Operation) any {
	described := operation.ThingSchema()
	if described == nil {
		return nil
	}
	plain := d.Values.Base(described)
	if jsonvalue.Object(plain) == nil {
		return plain
	}
	return d.Values.Vary(described, jsonvalue.Normal(plain), d.Needed(operation, plain), d.Lessons.Of(operation).RefusesVaried)
}

// Needed is a thing with what an operation is known to need in place of what is plain. Of a body that wraps the thing, it is
// the thing alone.
func (d *Draft) Needed(operation *document.Operation, thing any) map[string]any {
	body := d.Lessons.Value(operation, d.wrapped(operation, thing))
	return jsonvalue.Object(jsonvalue.Lookup(body, "#"+operation.Takes.Members))
}

// Parent is what must be created before a thing that is below it, or nil if there is nothing, or nothing any more. All things
// of a test get the same parent: otherwise a service that mixes up the things of one parent would pass.
func (d *Draft) Parent(x *resources.Resource, thing *scenario.Thing) *scenario.Thing {
	if x.Parent == nil || thing.Parent != nil {
		return nil
	}
	if parent := d.parents[x]; parent != nil {
		thing.Parent = parent
		return nil
	}
	parent := x.Parent.Thing(nil)
	d.parents[x] = parent
	thing.Parent = parent
	return parent
}

// Creation is how a thing is created.
type Creation struct {
	Resource *resources.Resource
	Body     map[string]any
	// Least is the body without what is optional, or nil. If an optional member makes a create fail, that must not hide
	// all else: the thing is created without them. Tests of the create report it.
	Least map[string]any
}

// Creation is how a thing is created, with values that vary unless the test has chosen them. It notes in the thing what is sent.
func (d *Draft) Creation(x *resources.Resource, thing *scenario.Thing) (creation Creation, err error) {
	if thing.ID == nil {
		thing.ID = d.Values.Identity(x.Identity)
	}
	isGiven := thing.Sent != nil
	if isGiven {
		thing.Sent = x.Identified(thing.Sent, thing)
	} else {
		thing.Sent = d.Varied(x, thing)
	}
	if thing.Sent == nil {
		if x.Create.BodySchema() != nil {
			return creation, noObject(x)
		}
		thing.Sent = map[string]any{} // the create has no body
	}
	creation = Creation{Resource: x, Body: thing.Sent}
	if isGiven || x.Create.Method != http.MethodPost {
		return creation, nil
	}
	if least := d.withoutOptional(x, thing.Sent); len(least) < len(thing.Sent) {
		creation.Least = least
	}
	return creation, nil
}

// noObject ends a test that would have to tell one thing from another by the members of a body. Of a resource that the
// options declare, it is a failure: the declaration is wrong.
func noObject(x *resources.Resource) error {
	if x.IsInferred {
		return scenario.NotTested("the body of " + x.Create.ID + " is not an object")
	}
	return scenario.Brokenf("the body of %s is not an object", x.Create.ID)
}

// withoutOptional is the body of a create without what is optional. The identity stays, also where it is
// optional: what follows uses it.
func (d *Draft) withoutOptional(x *resources.Resource, body map[string]any) map[string]any {
	least := maps.Clone(body)
	if described := x.Create.ThingSchema(); described != nil {
		required := d.Values.Flatten(described).Required
		maps.DeleteFunc(least, func(name string, _ any) bool {
			return !slices.Contains(required, name)
		})
	}
	return x.Identified(least, &scenario.Thing{ID: body[x.Member]})
}

// HasCreated learns from the response to a create with a body, which must have what was sent. Members that it lacks are returned
// as errors, and not expected any more: they must not hide what else is wrong.
func (d *Draft) HasCreated(x *resources.Resource, thing *scenario.Thing, body map[string]any, got scenario.Interaction) (lost []error, err error) {
	thing.Sent = maps.Clone(body)
	if x.IsAssigned {
		delete(thing.Sent, x.Member) // the service may replace an identity that the client proposes
	}
	for _, name := range d.Lost(got, thing.Sent, x.Create) {
		cause := scenario.Cause{Kind: scenario.SentIsLost, Operation: x.Create.ID, Place: name}
		lost = append(lost, scenario.BrokenBy(cause, "%s", difference(name, thing.Sent, x.Create.GivenBy(got))))
		delete(thing.Sent, name)
	}
	return lost, d.identityOf(x, thing, got)
}

// CreationOf is the call that creates a thing with values that vary.
func (d *Draft) CreationOf(x *resources.Resource, thing *scenario.Thing) scenario.Call {
	return scenario.Call{
		Operation: x.Create.ID,
		Of:        x.Target(thing),
		Body:      orNil(d.Varied(x, thing)),
	}
}

// identityOf remembers in a thing the identity that the service has assigned: the one in the body of the response, or, if it
// was only inferred that the body has it, the one in Location.
func (d *Draft) identityOf(x *resources.Resource, thing *scenario.Thing, got scenario.Interaction) error {
	if !x.IsAssigned {
		return nil
	}
	identity := x.Create.GivenBy(got)[x.Member]
	switch {
	case identity != nil:
		thing.ID = identity
		return nil
	case !x.IsInferred:
		return scenario.Brokenf("the response to a create has no %s: %s", x.Member, got.Body)
	}
	return locatedID(x, thing, got)
}

// locatedID remembers in a thing the identity in Location, which must lead to the path of one such thing.
func locatedID(x *resources.Resource, thing *scenario.Thing, got scenario.Interaction) error {
	path, _, err := got.LeadsTo(got.Header.Get("Location")) // an empty one leads to the create itself, which names no thing
	if err != nil {
		return err
	}
	id := x.InPath(path)
	if id == nil {
		return scenario.NotTested("the response to a create does not say what it has created")
	}
	thing.ID = id
	return nil
}

// Confirmations are calls that find out whether the service responds alike to creates of different values: then
// it does not store them, as a mock. To accuse a mock of forgetting would be true and useless.
//
//	POST /tools {"name": "a"}   201 {"id": 1, "name": "string"}
//	POST /tools {"name": "b"}   201 {"id": 1, "name": "string"}
func (d *Draft) Confirmations(x *resources.Resource) (one, other scenario.Call) {
	first := x.Thing(d.Values.Identity(x.Identity))
	second := x.Thing(d.Values.Identity(x.Identity))
	first.Parent = d.parents[x]
	second.Parent = d.parents[x]
	return d.CreationOf(x, first), d.CreationOf(x, second)
}

// ReadOf is the call that reads what another call has created. The other call is a POST: it is of the parent, if there is one.
func (d *Draft) ReadOf(x *resources.Resource, create scenario.Call, created scenario.Interaction) scenario.Call {
	thing := x.Thing(x.Create.GivenBy(created)[x.Member])
	if x.Parent != nil {
		thing.Parent = create.Of
	}
	return d.CallOf(http.MethodGet, thing, nil)
}

// AreAlike returns why nothing is shown if the responses to confirmations are alike, or nil.
func AreAlike(one, other scenario.Interaction) error {
	if len(one.Body) > 0 && bytes.Equal(one.Body, other.Body) {
		return scenario.NotTested("it was inferred, and the service responds to each create alike")
	}
	return nil
}

// orNil is a body, or nil if there is none: a nil map in an interface would not be equal to nil.
func orNil(body map[string]any) any {
	if body == nil {
		return nil
	}
	return body
}
