package plan

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/draft"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// What is below something else is found there and nowhere else: the comments of a ticket are not those of another one.
// Services that look for a comment by its own identity alone pass all tests that have one ticket.

// notUnderAnotherParent asks for a thing under another parent than its own: no list may have it there, and no operation may
// find it. A DELETE may succeed, if a read shows that the thing is still there.
//
//	POST /tickets/1/comments     201 {"id": 5}
//	GET /tickets/2/comments/5    must be 404
//	GET /tickets/2/comments      must not have 5
func notUnderAnotherParent(t *draft.Trial, x *resources.Resource) {
	thing := t.CreateOf(x)
	other := t.CreateOf(x.Parent)
	moved := &scenario.Thing{Creator: thing.Creator, ID: thing.ID, Parent: other}
	for _, list := range t.Resources.Lists {
		if list.Resource == x {
			notListed(t, list, moved)
		}
	}
	for _, operation := range x.FindingOnes() {
		if operation.Method == http.MethodDelete && x.Operations[http.MethodGet] != nil {
			keepsAnother(t, operation, thing, moved)
			continue
		}
		refusedOn(t, operation, moved, fmt.Sprintf("it was created below %v", thing.Parent.ID))
	}
}

// keepsAnother deletes a thing under another parent. If that succeeds, it must not have deleted the thing.
func keepsAnother(t *draft.Trial, remove *document.Operation, thing, moved *scenario.Thing) {
	t.Read(thing)
	if got := plainCall(t, remove, moved); got.Status < http.StatusBadRequest {
		t.Unchanged(thing, "%s for %s", remove.ID, got.Path)
	}
}

// notListed reads the first page of a list below another parent than that of a thing, which must not have the thing.
func notListed(t *draft.Trial, list *resources.List, moved *scenario.Thing) {
	test := &listTest{Trial: t, list: list, things: []*scenario.Thing{moved}}
	found := test.page(test.first())
	isListed := slices.Contains(found.ids, fmt.Sprint(moved.ID))
	t.Require(!isListed, "the list below %v has %v, which is under another parent", moved.Parent.ID, moved.ID)
}

// refusedOn calls an operation on a thing that it must not find.
func refusedOn(t *draft.Trial, operation *document.Operation, thing *scenario.Thing, why string) {
	got := plainCall(t, operation, thing)
	isRefused := got.Status >= http.StatusBadRequest
	t.Require(isRefused, "%s succeeds for %s, but %s: %.300s", operation.ID, got.Path, why, got.Body)
}

// plainCall calls an operation on a thing with the plainest body.
func plainCall(t *draft.Trial, operation *document.Operation, thing *scenario.Thing) scenario.Interaction {
	call := scenario.Call{Operation: operation.ID, Of: thing, Body: t.PlainBody(operation)}
	return t.Do(call, scenario.Expectation{})
}

// belowTests are the tests of what is below a resource: things, and operations that are not on a thing. A test of things also
// shows the effect of the parameter that names the parent, such as id of /tickets/{id}/comments/{comment}.
func (p *Planner) belowTests() (all []Test) {
	for _, x := range p.Resources.All {
		if x.Parent == nil {
			continue
		}
		promise := scenario.Promise{Operation: x.Create.ID, Kind: scenario.NotUnderAnotherParent}
		test := p.testOf(promise, func(t *draft.Trial) { notUnderAnotherParent(t, x) })
		test.Shows = nil
		for _, operation := range x.FindingOnes() {
			parent := operation.PathNames[len(operation.PathNames)-2]
			test.Shows = append(test.Shows, scenario.Effect(operation.ID, parent))
		}
		test.Shows = append(test.Shows, promise) // the last one is that of the test
		all = append(all, test)
	}
	return append(all, p.needsParentTests()...)
}

// needsParentTests are the tests of operations below an inferred resource that are not on a thing, as POST
// /tickets/{id}/close: they must work on what their path names, and on nothing that was never created there. A PUT may create
// it.
func (p *Planner) needsParentTests() (all []Test) {
	for _, operation := range p.Document.Operations {
		use := p.Resources.UseOf(operation)
		isBelow := use != nil && use.IsInferred && !use.IsOn(operation)
		mayCreate := operation.Method == http.MethodPut
		if !isBelow || mayCreate || !use.Resource.RefusesAbsent(operation) {
			continue
		}
		promise := scenario.Effect(operation.ID, use.Parameter)
		test := p.testOf(promise, func(t *draft.Trial) { needsParent(t, use.Resource, operation) })
		if use.Parent != nil {
			parent := operation.PathNames[slices.Index(operation.PathNames, use.Parameter)-1]
			test.Shows = []scenario.Promise{scenario.Effect(operation.ID, parent), promise}
		}
		all = append(all, test)
	}
	return all
}

// needsParent calls an operation on a thing, on one that was never created, and on the thing below another one.
//
//	POST /tickets/1/close        200
//	POST /tickets/999/close      must not succeed
func needsParent(t *draft.Trial, x *resources.Resource, operation *document.Operation) {
	thing := t.CreateOf(x)
	if got := plainCall(t, operation, thing); got.Status >= http.StatusBadRequest {
		t.NotTested(scenario.NotTested(fmt.Sprintf("no request of %s was accepted", operation.ID)))
	}
	refusedOn(t, operation, neverCreated(t.Draft, x, thing), "nothing was created there")
	if x.Parent == nil {
		return
	}
	moved := x.Thing(thing.ID)
	moved.Parent = t.CreateOf(x.Parent)
	refusedOn(t, operation, moved, "it was created elsewhere")
}
