package plan

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/draft"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// The identity of what was created leads to it, and an identity that was never created leads to nothing. Services that return any
// row for any identity pass all tests that read only what they have just created.

// leadsTest is the test that the identity of what was created leads to an operation.
func (p *Planner) leadsTest(x *resources.Resource, operation *document.Operation) Test {
	promise := scenario.Promise{Operation: x.Create.ID, Kind: scenario.LinkLeads, Place: operation.ID}
	if x.IsInferred {
		promise.Kind = scenario.IdentityLeads
	}
	test := p.testOf(promise, func(t *draft.Trial) { identityLeads(t, x, operation) })
	test.Shows = []scenario.Promise{scenario.Effect(operation.ID, p.Resources.UseOf(operation).Parameter), promise}
	return test
}

// identityLeads calls an operation on what was created, where it must succeed, and then on what was never created.
func identityLeads(t *draft.Trial, x *resources.Resource, operation *document.Operation) {
	body := t.PlainBody(operation)
	thing := t.CreateOf(x)
	t.Accepted(operation.Method, thing, body)
	needsIdentity(t, x, operation, thing)
}

// needsIdentity fails if an operation succeeds on what was never created, as it does if it does not look at its path. A PUT is left
// out, because it may create, and so is what the document does not promise to refuse.
//
//	GET /tools/1000007           must not be 200, if the only tool has the id 7
func needsIdentity(t *draft.Trial, x *resources.Resource, operation *document.Operation, existing *scenario.Thing) {
	if operation.Method == http.MethodPut || !x.RefusesAbsent(operation) {
		return
	}
	other := neverCreated(t.Draft, x, existing)
	got := t.Call(operation.Method, other, t.PlainBody(operation))
	isRefused := got.Status >= http.StatusBadRequest
	t.Require(isRefused, "%s succeeds for %v, which was never created; %v was: %.300s", operation.ID, other.ID, existing.ID, got.Body)
}

// neverCreated is what a service has never created, below what a thing that exists is below.
func neverCreated(d *draft.Draft, x *resources.Resource, existing *scenario.Thing) *scenario.Thing {
	other := x.Thing(d.Values.Identity(x.Identity))
	other.Parent = existing.Parent
	if number, err := strconv.ParseInt(fmt.Sprint(existing.ID), 10, 64); err == nil && x.IsAssigned {
		// A service that counts has not come so far: it may come to the number that was drawn.
		other.ID = number + 1_000_000
	}
	return other
}
