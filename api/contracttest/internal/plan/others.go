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
func twoThings(t *draft.Trial, x *resources.Resource) (one, other *scenario.Thing) {
	one, other = t.CreateOf(x), t.CreateOf(x)
	if areSame(one, other) {
		t.Check(oneIdentity(x, one.ID))
	}
	t.Read(other)
	return one, other
}

// areSame reports whether two things have the same identity, which may be written as a number and as a text.
func areSame(one, other *scenario.Thing) bool { return fmt.Sprint(one.ID) == fmt.Sprint(other.ID) }

// oneIdentity says that two resources have the same identity, which fails tests of all kinds.
func oneIdentity(x *resources.Resource, id any) error {
	cause := scenario.Cause{Kind: scenario.TwoHaveOneIdentity, Operation: x.Create.ID}
	return scenario.BrokenBy(cause, "two resources have the identity %v", id)
}

// deletesOne fails if another resource changes when one is deleted, or when one is created then:
// services that count what they have give it an identity that is taken.
//
//	DELETE /tools/7              204
//	GET /tools/8                 must be as before
//	POST /tools                  must not have the id 8
func deletesOne(t *draft.Trial, x *resources.Resource) {
	one, other := twoThings(t, x)
	t.Accepted(http.MethodDelete, one, nil)
	t.Unchanged(other, "a deletion of %v", one.ID)
	next := t.CreateOf(x)
	t.Require(!areSame(next, other), "a create after a deletion has the identity %v of a resource that exists", other.ID)
}

// assignsAnother deletes a resource and creates another one, which must not have its identity again.
func assignsAnother(t *draft.Trial, x *resources.Resource) {
	newest := t.CreateOf(x)
	t.Accepted(http.MethodDelete, newest, nil)
	again := t.CreateOf(x)
	t.Require(!areSame(again, newest), "the identity %v of what was deleted is assigned again", newest.ID)
}

// replacesOne fails if another resource changes when one is replaced: an UPDATE without its WHERE does that.
//
//	PUT /tools/7 {"name": "c"}   200
//	GET /tools/8                 must be as before
func replacesOne(t *draft.Trial, x *resources.Resource) {
	one, other := twoThings(t, x)
	changeThing(t, http.MethodPut, one)
	t.Unchanged(other, "a change of %v", one.ID)
}

// createsNew fails if a create with an identity that exists has changed what exists. That such a create must be refused has a
// test of its own; here its status does not matter.
//
//	POST /shelves {"code": "A", "room": 1}   201
//	POST /shelves {"code": "A", "room": 2}   whatever it is,
//	GET /shelves/A                           must have the room 1
func createsNew(t *draft.Trial, x *resources.Resource) {
	thing := t.CreateOf(x)
	t.Read(thing)
	t.Do(t.CreationOf(x, thing), scenario.Expectation{})
	t.Unchanged(thing, "a second create")
}
