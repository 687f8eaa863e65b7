package plan

import (
	"fmt"
	"net/http"

	"github.com/plantstore/plantstore/api/contracttest/internal/draft"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// What happens to one resource must not happen to another one. These sequences have two.

// twoThings creates two resources, which must have different identities, and reads the second one. With one
// resource only, a service that stores one value for all of them would be right.
func twoThings(d *draft.Draft, x *resources.Resource) (one, other *scenario.Thing, steps []scenario.Step) {
	one = x.Thing(nil)
	other = x.Thing(nil)
	steps = []scenario.Step{{Create: one}, {Create: other}, {Check: func(scenario.Interaction) error {
		if fmt.Sprint(one.ID) != fmt.Sprint(other.ID) {
			return nil
		}
		return oneIdentity(x, one.ID)
	}}}
	return one, other, append(steps, d.Read(other)...)
}

// oneIdentity says that two resources have the same identity, which fails tests of all kinds.
func oneIdentity(x *resources.Resource, id any) error {
	return scenario.BrokenBy(scenario.Cause{Kind: scenario.TwoHaveOneIdentity, Operation: x.Create.ID}, "two resources have the identity %v", id)
}

// deletesOne fails if another resource changes when one is deleted, or when one is created then:
// services that count what they have give it an identity that is taken.
//
//	DELETE /tools/7              204
//	GET /tools/8                 must be as before
//	POST /tools                  must not have the id 8
func deletesOne(d *draft.Draft, x *resources.Resource) []scenario.Step {
	one, other, steps := twoThings(d, x)
	next := x.Thing(nil)
	return append(steps,
		d.CallAccepted(http.MethodDelete, one, nil),
		scenario.Later(func() []scenario.Step {
			return d.Unchanged(other, "a deletion of %v", one.ID)
		}),
		scenario.Step{Create: next},
		scenario.Verify(func() error {
			isNew := fmt.Sprint(next.ID) != fmt.Sprint(other.ID)
			return scenario.Require(isNew, "a create after a deletion has the identity %v of a resource that exists", other.ID)
		}))
}

// assignsAnother deletes a resource and creates another one, which must not have its identity again.
func assignsAnother(d *draft.Draft, x *resources.Resource) []scenario.Step {
	again := x.Thing(nil)
	newest := x.Thing(nil)
	return []scenario.Step{
		{Create: newest},
		scenario.Later(func() []scenario.Step { return []scenario.Step{d.CallAccepted(http.MethodDelete, newest, nil)} }),
		{Create: again},
		scenario.Verify(func() error {
			isNew := fmt.Sprint(again.ID) != fmt.Sprint(newest.ID)
			return scenario.Require(isNew, "the identity %v of what was deleted is assigned again", newest.ID)
		}),
	}
}

// replacesOne fails if another resource changes when one is replaced: an UPDATE without its WHERE does that.
//
//	PUT /tools/7 {"name": "c"}   200
//	GET /tools/8                 must be as before
func replacesOne(d *draft.Draft, x *resources.Resource) []scenario.Step {
	one, other, steps := twoThings(d, x)
	steps = append(steps, changeThing(d, http.MethodPut, one)...)
	return append(steps, scenario.Later(func() []scenario.Step {
		return d.Unchanged(other, "a change of %v", one.ID)
	}))
}

// createsNew fails if a create that must conflict replaces what exists. That the second one is refused, a
// test of the status shows; this one looks at what is left.
//
//	POST /shelves {"code": "A", "room": 1}   201
//	POST /shelves {"code": "A", "room": 2}   whatever it is,
//	GET /shelves/A                           must have the room 1
func createsNew(d *draft.Draft, x *resources.Resource) []scenario.Step {
	thing := x.Thing(nil)
	steps := append([]scenario.Step{{Create: thing}}, d.Read(thing)...)
	return append(steps, scenario.Later(func() []scenario.Step {
		return []scenario.Step{{
			Call: func() scenario.Call { return d.CreationOf(x, thing) },
			Then: func(scenario.Interaction) []scenario.Step { return d.Unchanged(thing, "a second create") },
		}}
	}))
}
