package draft

import (
	"bytes"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// How a draft creates a thing, and what it learns of it.

// Varied draws the body of a create, with the identity of a thing if the client chooses it. A create may have no
// body, or one that is no object: then it is nil.
func (d *Draft) Varied(x *resources.Resource, thing *scenario.Thing) map[string]any {
	described := x.Create.BodySchema()
	if described == nil {
		return nil
	}
	return x.Identified(jsonvalue.Object(d.Lessons.Value(x.Create, d.Values.Varied(described))), thing)
}

// create creates a thing with values that vary. If an optional member makes it fail, that must not hide
// all else: it is created without them. Tests of the create report it.
func (d *Draft) create(step scenario.Step) []scenario.Step {
	thing := step.Create
	x := d.Resources.CreatedBy(thing.Creator)
	if x == nil {
		return Failing("%s creates no resource that a test can use", thing.Creator)
	}
	if x.Parent != nil && thing.Parent == nil {
		return append(d.parentOf(x, thing), step)
	}
	if thing.ID == nil {
		thing.ID = d.Values.Identity(x.Identity)
	}
	isGiven := thing.Sent != nil
	if isGiven {
		thing.Sent = x.Identified(thing.Sent, thing)
	} else {
		thing.Sent = d.Varied(x, thing)
	}
	if thing.Sent == nil && x.Create.BodySchema() != nil {
		return noObject(x)
	}
	if thing.Sent == nil {
		thing.Sent = map[string]any{}
	}
	created := d.creation(x, thing, thing.Sent)
	if !isGiven {
		created.Instead = d.withLess(x, thing)
	}
	created.Then = step.Then
	return []scenario.Step{created}
}

// withLess makes the step that creates a thing without what is optional, or is nil if that is nothing else.
func (d *Draft) withLess(x *resources.Resource, thing *scenario.Thing) func() []scenario.Step {
	least := d.withoutOptional(x, thing.Sent)
	hasLess := len(least) < len(thing.Sent)
	if !hasLess || x.Create.Method != http.MethodPost {
		return nil
	}
	return func() []scenario.Step { return []scenario.Step{d.creation(x, thing, least)} }
}

// noObject ends a test that would have to tell one thing from another by the members of a body. Of a resource that the
// options declare, it is a failure: the declaration is wrong.
func noObject(x *resources.Resource) []scenario.Step {
	if x.IsInferred {
		return Untried(scenario.Untried("the body of " + x.Create.ID + " is not an object"))
	}
	return Failing("the body of %s is not an object", x.Create.ID)
}

// parentOf are steps that create what a thing is below, which all things of a test share: else a service that mixes up
// those of one parent would pass.
func (d *Draft) parentOf(x *resources.Resource, thing *scenario.Thing) []scenario.Step {
	if parent := d.parents[x]; parent != nil {
		thing.Parent = parent
		return nil
	}
	parent := x.Parent.Thing(nil)
	d.parents[x] = parent
	thing.Parent = parent
	return []scenario.Step{{Create: parent}}
}

// Parents are steps that create what a thing is below, if it is below something.
func (d *Draft) Parents(x *resources.Resource, thing *scenario.Thing) []scenario.Step {
	if x.Parent == nil {
		return nil
	}
	return d.parentOf(x, thing)
}

// withoutOptional is the body of a create without what is optional. The identity stays, also where it is
// optional: the steps that follow use it.
func (d *Draft) withoutOptional(x *resources.Resource, body map[string]any) map[string]any {
	least := maps.Clone(body)
	if described := x.Create.BodySchema(); described != nil {
		required := d.Values.Flatten(described).Required
		maps.DeleteFunc(least, func(name string, _ any) bool {
			return !slices.Contains(required, name)
		})
	}
	return x.Identified(least, &scenario.Thing{ID: body[x.Member]})
}

// creation is the request that creates a thing. Of one that was inferred, failures are confirmed.
func (d *Draft) creation(x *resources.Resource, thing *scenario.Thing, body map[string]any) scenario.Step {
	step := scenario.Step{
		Call: func() scenario.Call {
			return scenario.Call{Operation: x.Create.ID, Of: x.Target(thing), Body: body}
		},
		Expect: scenario.Accepted,
		Check: func(got scenario.Interaction) error {
			thing.Sent = body
			// Also if the service lets the client propose one.
			if x.IsAssigned {
				thing.Sent = maps.Clone(body)
				delete(thing.Sent, x.Member)
			}
			if err := d.Shows(got, thing.Sent, x.Create); err != nil {
				return err
			}
			return d.identityOf(x, thing, got)
		},
	}
	if x.IsInferred {
		step.Doubt = func() []scenario.Step { return d.confirm(x) }
	}
	return step
}

// CreationOf is the call that creates a thing with values that vary.
func (d *Draft) CreationOf(x *resources.Resource, thing *scenario.Thing) scenario.Call {
	return scenario.Call{
		Operation: x.Create.ID,
		Of:        x.Target(thing),
		Body:      orNil(d.Varied(x, thing)),
	}
}

// identityOf remembers the identity that the service has assigned. Where it was inferred that the response has
// it, Location may have it instead.
func (d *Draft) identityOf(x *resources.Resource, thing *scenario.Thing, got scenario.Interaction) error {
	if !x.IsAssigned {
		return nil
	}
	identity := got.Object()[x.Member]
	switch {
	case identity != nil:
		thing.ID = identity
		return nil
	case !x.IsInferred:
		return scenario.Brokenf("the response to a create has no %s: %s", x.Member, got.Body)
	}
	return locatedID(x, thing, got)
}

// locatedID remembers the identity in Location, which must lead to a path of the read.
func locatedID(x *resources.Resource, thing *scenario.Thing, got scenario.Interaction) error {
	path, _, err := LeadsTo(got, got.Header.Get("Location")) // nothing leads to the create itself, which names no thing
	if err != nil {
		return err
	}
	id := x.Operations[http.MethodGet].LastPathValue(path)
	if id == nil {
		return scenario.Untried("the response to a create does not say what it has created")
	}
	thing.ID = id
	return nil
}

// confirm are steps that find out whether the service responds alike to creates of different values: then
// it does not store them, as a mock. To accuse a mock of forgetting would be true and useless.
//
//	POST /tools {"name": "a"}   201 {"id": 1, "name": "string"}
//	POST /tools {"name": "b"}   201 {"id": 1, "name": "string"}
func (d *Draft) confirm(x *resources.Resource) (steps []scenario.Step) {
	bodies := make([][]byte, 2)
	for i := range bodies {
		thing := x.Thing(d.Values.Identity(x.Identity))
		thing.Parent = d.parents[x]
		steps = append(steps, scenario.Step{
			Call: func() scenario.Call { return d.CreationOf(x, thing) },
			Check: func(got scenario.Interaction) error {
				bodies[i] = got.Body
				return nil
			},
		})
	}
	return append(steps, scenario.Verify(func() error {
		if len(bodies[0]) > 0 && bytes.Equal(bodies[0], bodies[1]) {
			return scenario.Untried("it was inferred, and the service responds to each create alike")
		}
		return nil
	}))
}

// Created returns what a response says was created, and the path at which it can be deleted; or nil, if nothing
// was created, or the document has no DELETE for it.
func (s *Drafts) Created(got scenario.Interaction) (thing *scenario.Thing, path string) {
	operation := s.Document.Find(got.Method, got.Path)
	x := s.createdBy(operation, got)
	if x == nil || x.Operations[http.MethodDelete] == nil {
		return nil, ""
	}
	remove := x.Operations[http.MethodDelete]
	thing = x.Thing(IdentityIn(x, operation, got))
	path = s.Resources.UseOf(remove).Fill(remove, remove.Template, thing)
	// Of what is below another resource the path lacks that: /tickets/{id}/comments/7.
	isPart := strings.Contains(path, "{")
	if thing.ID == nil || isPart {
		return nil, ""
	}
	return thing, path
}

// createdBy is the resource of which a response says that one was created, or nil.
func (s *Drafts) createdBy(operation *document.Operation, got scenario.Interaction) *resources.Resource {
	isReplaced := got.Method == http.MethodPut && got.Status != http.StatusCreated
	isSuccess := got.Status < http.StatusMultipleChoices && !isReplaced
	if operation == nil || !isSuccess {
		return nil
	}
	x := s.Resources.Of(operation)
	if x == nil {
		return nil
	}
	if isCreate := operation == x.Create || operation == x.Operations[http.MethodPut]; !isCreate {
		return nil
	}
	return x
}

// IdentityIn is the identity of what a response says was created, or nil.
func IdentityIn(x *resources.Resource, operation *document.Operation, got scenario.Interaction) any {
	if got.Method == http.MethodPut {
		return operation.LastPathValue(got.Path)
	}
	if !x.IsAssigned {
		// A service may take a body that is wrong behind its first value.
		sent, _ := jsonvalue.DecodeLoosely(got.RequestBody)
		return jsonvalue.Object(sent)[x.Member]
	}
	if id := got.Object()[x.Member]; id != nil {
		return id
	}
	// No path, if it leads elsewhere.
	path, _, _ := LeadsTo(got, got.Header.Get("Location"))
	return x.InPath(path)
}

// orNil is a body that may be none.
func orNil(body map[string]any) any {
	if body == nil {
		return nil
	}
	return body
}
