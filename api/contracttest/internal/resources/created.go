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
	x := s.Of(operation)
	if x == nil || !x.isCreatedBy(operation, got) {
		return nil, ""
	}
	remove := x.Operations[http.MethodDelete]
	if remove == nil {
		return nil, ""
	}
	thing = x.Thing(x.IdentityIn(operation, got))
	path = s.UseOf(remove).Fill(remove, remove.Template, thing)
	// The path of what is below another resource still lacks that: /tickets/{id}/comments/7.
	isPart := strings.Contains(path, "{")
	if thing.ID == nil || isPart {
		return nil, ""
	}
	return thing, path
}

// isCreatedBy reports whether a response of an operation on such a thing says that it was created. A PUT has replaced it unless its
// status is 201.
func (x *Resource) isCreatedBy(operation *document.Operation, got scenario.Interaction) bool {
	if got.Method == http.MethodPut {
		return got.Status == http.StatusCreated
	}
	return operation == x.Create && got.Status < http.StatusMultipleChoices
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
	// A Location that leads to another server has no path.
	path, _, _ := got.LeadsTo(got.Header.Get("Location"))
	return x.InPath(path)
}
