package plan

import (
	"net/http"

	"github.com/plantstore/plantstore/api/contracttest/internal/draft"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// What is deleted is gone. What happens to others then, others.go tests.

// Why a deletion shows nothing.
const (
	deletedLater scenario.NotTested = "it is deleted later"
	deletesAny   scenario.NotTested = "nothing but DELETE shows it, which does not say that something does not exist"
)

// deletedIsGone deletes a resource, which no operation must find afterwards; PUT is not tried, because it may create. A read that
// may succeed on what does not exist must at least have changed. Of a declared resource, the same identity can be created again.
//
//	DELETE /tools/7              204
//	GET /tools/7                 must be 404
//	POST /tools {"id": 7}        must succeed, where the client chooses the identity
func deletedIsGone(t *draft.Trial, x *resources.Resource) {
	thing := t.CreateOf(x)
	mustChange := false
	if get := x.Operations[http.MethodGet]; get != nil && x.MayIgnoreAbsence(get) {
		before, _ := t.Read(thing)
		mustChange = before.Status/100 == 2
	}
	deleteNow(t, thing)
	if mustChange {
		t.Require(t.HasChanged(thing), "%v was deleted, but a read has %.300s", thing.ID, thing.Seen.Body)
	}
	for _, method := range []string{http.MethodGet, http.MethodPatch, http.MethodDelete} {
		operation := x.Operations[method]
		if operation == nil || x.MayIgnoreAbsence(operation) {
			continue
		}
		t.Refused(method, thing, t.PlainBody(operation), scenario.UnknownResource)
	}
	if x.OnlyDeletesBelow() {
		deletesOnce(t, x, thing)
	}
	if x.IsAssigned || x.IsInferred {
		return
	}
	thing.Sent = nil
	t.Create(thing)
	t.ReadShows(thing, thing.Sent)
}

// deleteNow deletes a thing. If the service only promises to delete it later, the test ends: what follows would show nothing.
func deleteNow(t *draft.Trial, thing *scenario.Thing) {
	if t.Accepted(http.MethodDelete, thing, nil).Status == http.StatusAccepted {
		t.NotTested(deletedLater)
	}
}

// deletesOnce deletes again what is below something that exists. If 404 is what the service says to a thing that was never
// created there, it must say so to one that is deleted, too.
//
//	DELETE /pots/7/plants/5        204
//	DELETE /pots/7/plants/1000005  404, so that
//	DELETE /pots/7/plants/5        must be refused, too
func deletesOnce(t *draft.Trial, x *resources.Resource, deleted *scenario.Thing) {
	status := t.Call(http.MethodDelete, neverCreated(t.Draft, x, deleted), nil).Status
	if status != http.StatusNotFound && status != http.StatusGone {
		t.NotTested(deletesAny)
	}
	t.Refused(http.MethodDelete, deleted, nil, scenario.UnknownResource)
}
