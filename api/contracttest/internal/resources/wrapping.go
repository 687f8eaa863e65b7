package resources

import (
	"cmp"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// Many services have each thing in a member: {"data": {…}}, {"book": {…}}, or as JSON:API has it. The identity says where the
// thing is: an object that does not have it wraps the thing in its member that does, if that is the only one.

// find returns the member of a result that identifies a thing, which has one of some plain names and is suitable, and where the
// result has the thing; an empty name: nowhere. A result with other members that a create sends is the thing itself, and does
// not wrap it.
func (s *Set) find(result, sent *schema.Schema, plainNames []string, isSuitable suitable) (member string, w document.Wrapping) {
	if member = s.memberNamed(result, plainNames, isSuitable); member != "" {
		return member, s.besideAttributes(result, "", member)
	}
	names := s.values.Names(result)
	identityIn := func(name string) string {
		return s.memberNamed(s.values.Property(result, name), plainNames, isSuitable)
	}
	wrappers := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return identityIn(name) == "" })
	if len(wrappers) != 1 {
		return "", w
	}
	wrapper := wrappers[0]
	isBeside := func(name string) bool { return name != wrapper && s.values.Property(sent, name) != nil }
	if slices.ContainsFunc(names, isBeside) {
		return "", w
	}
	member = identityIn(wrapper)
	return member, s.besideAttributes(s.values.Property(result, wrapper), jsonvalue.Pointer(wrapper), member)
}

// besideIdentity are the members that JSON:API has beside an identity (https://jsonapi.org/format, resource objects).
var besideIdentity = []string{"type", "id", "lid", "attributes", "relationships", "links", "meta"}

// besideAttributes is where a thing is whose identity is in an object at a place: the object itself, or its attributes, if it has
// only what JSON:API has beside them.
func (s *Set) besideAttributes(of *schema.Schema, at, member string) document.Wrapping {
	hasAttributes := len(s.values.Names(s.values.Property(of, "attributes"))) > 0
	isOther := func(name string) bool { return !slices.Contains(besideIdentity, name) }
	if hasAttributes && !slices.ContainsFunc(s.values.Names(of), isOther) {
		return document.Wrapping{Members: at + "/attributes", Identity: at + jsonvalue.Pointer(member)}
	}
	return document.Wrapping{Members: at}
}

// wrap finds out where an operation has the thing that it is about, if that is not known.
func (s *Set) wrap(x *Resource, operation *document.Operation) {
	name := cmp.Or(x.Member, operation.LastPathName())
	if operation.Gives == (document.Wrapping{}) {
		_, operation.Gives = s.find(operation.Result(), x.Create.BodySchema(), identityNames(name), anyMember)
	}
	if operation.Takes == (document.Wrapping{}) {
		operation.Takes = s.takes(operation, x.Create.Gives)
	}
}

// takes is where the body of a request has a thing: where the response has it, or that of the create, or in the only member of
// the body, if no response has that member. It has the identity beside the thing only where the response of the create does.
func (s *Set) takes(operation *document.Operation, created document.Wrapping) (w document.Wrapping) {
	body := operation.BodySchema()
	places := []string{operation.Gives.Members, created.Members}
	if names := s.values.Names(body); len(names) == 1 && s.values.Property(operation.ThingResult(), names[0]) == nil {
		places = append(places, jsonvalue.Pointer(names[0]))
	}
	w.Members = first(places, func(at string) bool { return at != "" && len(s.values.Names(schema.At(body, at))) > 0 })
	if w.Members == created.Members {
		w.Identity = created.Identity
	}
	return w
}

// placed is the member that is an identity, and where its thing is, of what the options have: id, or /data/id.
func (s *Set) placed(of *schema.Schema, id string) (member string, w document.Wrapping) {
	above, last := jsonvalue.Split(id)
	member = jsonvalue.Unescape(strings.TrimPrefix(last, "/"))
	return member, s.besideAttributes(schema.At(of, above), above, member)
}

// anyMember finds each member suitable.
func anyMember(string, *schema.Schema) bool { return true }
