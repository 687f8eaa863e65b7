package resources

import (
	"net/http"
	"regexp"
	"slices"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// What a document says of a resource decides which tests it has. Of an inferred one it must say more: that it was
// inferred is no promise.

// HasETag reports whether the document promises an ETag for a read.
func (x *Resource) HasETag() bool { return x.Operations[http.MethodGet].Sends("ETag") }

// HasLocation reports whether the document promises that a create says where the resource is.
func (x *Resource) HasLocation() bool {
	isRead := x.Operations[http.MethodGet] != nil && x.Create.Method == http.MethodPost
	return x.Create.Sends("Location") || isRead && x.Create.SendsLocation()
}

// AssignsIdentity reports whether the service gives what is created an identity.
func (x *Resource) AssignsIdentity() bool { return x.IsAssigned && x.Create.Method == http.MethodPost }

// neverAgain are words of a document that promises that no identity is assigned twice.
var neverAgain = regexp.MustCompile(`(?i)never (assigned|used|given|issued) (twice|again)|not (be )?(reused|reassigned|recycled)|never (be )?(reused|reassigned|recycled)`)

// AssignsOnce reports whether the document says that an identity is not assigned again after a deletion.
func (x *Resource) AssignsOnce() bool {
	return x.IsAssigned && neverAgain.MatchString(x.Create.Says+" "+x.Identity.Description)
}

// RefusesConflicts reports whether a second create with an identity must fail.
func (x *Resource) RefusesConflicts() bool {
	return x.isChosenInBody() && x.Create.Lists(http.StatusConflict)
}

// RefusesAbsent reports whether the document says that an operation refuses what does not exist. Of an
// inferred resource it must list the status itself.
func (x *Resource) RefusesAbsent(operation *document.Operation) bool {
	return slices.ContainsFunc([]int{http.StatusNotFound, http.StatusGone}, func(status int) bool {
		if x.IsInferred {
			return operation.Lists(status)
		}
		return operation.Response(status) != nil
	})
}

// MayIgnoreAbsence reports whether an operation may succeed on what does not exist: deleting twice may be fine, if the document
// does not list a 404. Where the path of a DELETE names a parent, too, the 404 that is listed may be of that.
func (x *Resource) MayIgnoreAbsence(operation *document.Operation) bool {
	if operation.Method == http.MethodDelete && len(operation.PathNames) > 1 {
		return true
	}
	if x.IsInferred {
		return !operation.Lists(http.StatusNotFound)
	}
	return operation.Method == http.MethodDelete && operation.Response(http.StatusNotFound) == nil
}

// ShowsDeletion reports of a thing with a DELETE whether an operation on it shows whether it was deleted: a GET, or a second DELETE.
func (x *Resource) ShowsDeletion() bool {
	if x.Operations[http.MethodGet] != nil || x.OnlyDeletesBelow() {
		return true
	}
	return !x.MayIgnoreAbsence(x.Operations[http.MethodDelete])
}

// OnlyDeletesBelow reports whether the DELETE is all that can show a thing, and its 404 may also mean the parent. A test can find
// out what it means from the response for an identity that the service has never assigned, so the service must assign it. An
// identity that a create takes may be that of something else, such as a user that is added to a group.
func (x *Resource) OnlyDeletesBelow() bool {
	remove := x.Operations[http.MethodDelete]
	if len(remove.PathNames) < 2 || x.Operations[http.MethodGet] != nil {
		return false
	}
	isTaken := len(schema.Members(schema.Parts(x.Create.ThingSchema()), x.Member)) > 0
	return x.IsAssigned && !isTaken && x.RefusesAbsent(remove)
}

// FindingOnes are the operations on a thing that must find it, the one that deletes it last.
func (x *Resource) FindingOnes() (all []*document.Operation) {
	for _, method := range []string{http.MethodGet, http.MethodPatch, http.MethodDelete} {
		if operation := x.Operations[method]; operation != nil && x.RefusesAbsent(operation) {
			all = append(all, operation)
		}
	}
	return all
}
