package plan

import (
	"bytes"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// How a draft creates a thing, and what it learns of it.

// varied draws the body of a create, with the identity of a thing if the client chooses it. A create may have no
// body, or one that is no object: then it is nil.
func (d *Draft) varied(x *resource, thing *scenario.Thing) map[string]any {
	described := x.create.BodySchema()
	if described == nil {
		return nil
	}
	return x.identified(d.adaptedObject(x.create, jsonvalue.Object(d.values.Varied(described))), thing)
}

// identified gives the body of a create an identity, if the client chooses that.
func (x *resource) identified(body map[string]any, thing *scenario.Thing) map[string]any {
	isChosen := !x.assigned && x.create.Method == http.MethodPost
	if body != nil && isChosen {
		body[x.member] = thing.ID
	}
	return body
}

// create creates a thing with values that vary. If an optional member makes it fail, that must not hide
// all else: it is created without them. Tests of the create report it.
func (d *Draft) create(step scenario.Step) []scenario.Step {
	thing := step.Create
	x := d.resourceCreatedBy(thing.Creator)
	if x == nil {
		return failing("%s creates no resource that a test can use", thing.Creator)
	}
	if x.parent != nil && thing.Parent == nil {
		return append(d.parentOf(x, thing), step)
	}
	if thing.ID == nil {
		thing.ID = d.values.Identity(x.identity)
	}
	isGiven := thing.Sent != nil
	thing.Sent = x.identified(thing.Sent, thing)
	if !isGiven {
		thing.Sent = d.varied(x, thing)
	}
	if thing.Sent == nil && x.create.BodySchema() != nil {
		return noObject(x)
	}
	if thing.Sent == nil {
		thing.Sent = map[string]any{}
	}
	created := d.creation(x, thing, thing.Sent)
	least := d.withoutOptional(x, thing.Sent)
	hasLess := !isGiven && len(least) < len(thing.Sent)
	if hasLess && x.create.Method == http.MethodPost {
		created.Instead = func() []scenario.Step {
			return []scenario.Step{d.creation(x, thing, least)}
		}
	}
	created.Then = step.Then
	return []scenario.Step{created}
}

// noObject ends a test that would have to tell one thing from another by the members of a body. Of a resource that the
// options declare, it is a failure: the declaration is wrong.
func noObject(x *resource) []scenario.Step {
	if x.inferred {
		return untried(scenario.Untried("the body of " + x.create.ID + " is not an object"))
	}
	return failing("the body of %s is not an object", x.create.ID)
}

// parentOf are steps that create what a thing is below, which all things of a test share: else a service that mixes up
// those of one parent would pass.
func (d *Draft) parentOf(x *resource, thing *scenario.Thing) []scenario.Step {
	if parent := d.parents[x]; parent != nil {
		thing.Parent = parent
		return nil
	}
	parent := x.parent.thing(nil)
	d.parents[x] = parent
	thing.Parent = parent
	return []scenario.Step{{Create: parent}}
}

// above are steps that create what a thing is below, if it is below something.
func (d *Draft) above(x *resource, thing *scenario.Thing) []scenario.Step {
	if x.parent == nil {
		return nil
	}
	return d.parentOf(x, thing)
}

// withoutOptional is the body of a create without what is optional. The identity stays, also where it is
// optional: the steps that follow use it.
func (d *Draft) withoutOptional(x *resource, body map[string]any) map[string]any {
	least := maps.Clone(body)
	if described := x.create.BodySchema(); described != nil {
		required := d.values.Flatten(described).Required
		maps.DeleteFunc(least, func(name string, _ any) bool {
			return !slices.Contains(required, name)
		})
	}
	return x.identified(least, &scenario.Thing{ID: body[x.member]})
}

// creation is the request that creates a thing. Of one that was inferred, failures are confirmed.
func (d *Draft) creation(x *resource, thing *scenario.Thing, body map[string]any) scenario.Step {
	step := scenario.Step{
		Call: func() scenario.Call {
			return scenario.Call{Operation: x.create.ID, Of: x.target(thing), Body: body}
		},
		Expect: scenario.Accepted,
		Check: func(got scenario.Interaction) error {
			thing.Sent = body
			// Also if the service lets the client propose one.
			if x.assigned {
				thing.Sent = maps.Clone(body)
				delete(thing.Sent, x.member)
			}
			if err := d.shows(got, thing.Sent, x.create); err != nil {
				return err
			}
			return d.identityOf(x, thing, got)
		},
	}
	if x.inferred {
		step.Doubt = func() []scenario.Step { return d.confirm(x) }
	}
	return step
}

// target is what the path of a create names: what the new thing is below, or with PUT the thing itself.
func (x *resource) target(thing *scenario.Thing) *scenario.Thing {
	if x.parent != nil && x.create.Method == http.MethodPost {
		return thing.Parent
	}
	return thing
}

// creationOf is the call that creates a thing with values that vary.
func (d *Draft) creationOf(x *resource, thing *scenario.Thing) scenario.Call {
	return scenario.Call{
		Operation: x.create.ID,
		Of:        x.target(thing),
		Body:      orNil(d.varied(x, thing)),
	}
}

// identityOf remembers the identity that the service has assigned. Where it was inferred that the response has
// it, Location may have it instead.
func (d *Draft) identityOf(x *resource, thing *scenario.Thing, got scenario.Interaction) error {
	if !x.assigned {
		return nil
	}
	identity := got.Object()[x.member]
	switch {
	case identity != nil:
		thing.ID = identity
		return nil
	case !x.inferred:
		return scenario.Brokenf("the response to a create has no %s: %s", x.member, got.Body)
	}
	return locatedID(x, thing, got)
}

// locatedID remembers the identity in Location, which must lead to a path of the read.
func locatedID(x *resource, thing *scenario.Thing, got scenario.Interaction) error {
	if location := got.Header.Get("Location"); location != "" {
		path, _, err := leadsTo(got, location)
		if err != nil {
			return err
		}
		if id := lastInPath(x.uses[http.MethodGet], path); id != nil {
			thing.ID = id
			return nil
		}
	}
	return scenario.Untried("the response to a create does not say what it has created")
}

// confirm are steps that find out whether the service responds alike to creates of different values: then
// it does not store them, as a mock. To accuse a mock of forgetting would be true and useless.
func (d *Draft) confirm(x *resource) (steps []scenario.Step) {
	bodies := make([][]byte, 2)
	for i := range bodies {
		thing := x.thing(d.values.Identity(x.identity))
		thing.Parent = d.parents[x]
		steps = append(steps, scenario.Step{
			Call: func() scenario.Call { return d.creationOf(x, thing) },
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
func (p *Planner) Created(got scenario.Interaction) (thing *scenario.Thing, path string) {
	operation := p.Document.Find(got.Method, got.Path)
	isRefused := got.Status >= http.StatusMultipleChoices
	if operation == nil || isRefused {
		return nil, ""
	}
	x := p.resourceOf(operation)
	isReplaced := got.Method == http.MethodPut && got.Status != http.StatusCreated
	if x == nil || isReplaced {
		return nil, ""
	}
	remove := x.uses[http.MethodDelete]
	isCreate := operation == x.create || operation == x.uses[http.MethodPut]
	if remove == nil || !isCreate {
		return nil, ""
	}
	thing = x.thing(x.identityIn(operation, got))
	path = p.uses[remove].fill(remove, remove.Template, thing)
	// Of what is below another resource the path lacks that.
	isPart := strings.Contains(path, "{")
	if thing.ID == nil || isPart {
		return nil, ""
	}
	return thing, path
}

// identityIn is the identity of what a response says was created, or nil.
func (x *resource) identityIn(operation *document.Operation, got scenario.Interaction) any {
	if got.Method == http.MethodPut {
		return lastInPath(operation, got.Path)
	}
	if !x.assigned {
		// A service may take a body that is wrong behind its first value.
		sent, _ := jsonvalue.DecodeLoosely(got.RequestBody)
		return jsonvalue.Object(sent)[x.member]
	}
	if id := got.Object()[x.member]; id != nil {
		return id
	}
	// No path, if it leads elsewhere.
	path, _, _ := leadsTo(got, got.Header.Get("Location"))
	return lastInPath(x.uses[http.MethodDelete], path)
}

// lastInPath is the last parameter in a path, or nil.
func lastInPath(operation *document.Operation, path string) any {
	inPath := operation.PathValues(path)
	if len(inPath) == 0 {
		return nil
	}
	text, _ := url.PathUnescape(inPath[len(inPath)-1]) // it was a path
	return text
}

// orNil is a body that may be none.
func orNil(body map[string]any) any {
	if body == nil {
		return nil
	}
	return body
}
