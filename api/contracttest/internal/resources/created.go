package resources

import (
	"net/http"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Created returns what a response says was created, and the path at which it can be deleted; or nil, if nothing
// was created, or the document has no DELETE for it.
func (s *Set) Created(operation *document.Operation, got scenario.Interaction) (thing *scenario.Thing, path string) {
	x := s.createdIn(operation, got)
	if x == nil || x.Operations[http.MethodDelete] == nil {
		return nil, ""
	}
	remove := x.Operations[http.MethodDelete]
	thing = x.Thing(x.IdentityIn(operation, got))
	path = s.UseOf(remove).Fill(remove, remove.Template, thing)
	// Of what is under another resource the path lacks that: /tickets/{id}/comments/7.
	isPart := strings.Contains(path, "{")
	if thing.ID == nil || isPart {
		return nil, ""
	}
	return thing, path
}

// createdIn is the resource of which a response says that one was created, or nil.
func (s *Set) createdIn(operation *document.Operation, got scenario.Interaction) *Resource {
	isReplaced := got.Method == http.MethodPut && got.Status != http.StatusCreated
	isSuccess := got.Status < http.StatusMultipleChoices && !isReplaced
	x := s.Of(operation)
	if x == nil || !isSuccess {
		return nil
	}
	if isCreate := operation == x.Create || operation == x.Operations[http.MethodPut]; !isCreate {
		return nil
	}
	return x
}

// IdentityIn is the identity of what a response says was created, or nil.
func (x *Resource) IdentityIn(operation *document.Operation, got scenario.Interaction) any {
	if got.Method == http.MethodPut {
		return operation.LastPathValue(got.Path)
	}
	if !x.IsAssigned {
		// A service may take a body that is wrong behind its first value.
		sent, _ := jsonvalue.DecodeLoosely(got.RequestBody)
		return operation.Takes.Thing(sent)[x.Member]
	}
	if id := operation.GivenBy(got)[x.Member]; id != nil {
		return id
	}
	// No path, if it leads elsewhere.
	path, _, _ := got.LeadsTo(got.Header.Get("Location"))
	return x.InPath(path)
}
