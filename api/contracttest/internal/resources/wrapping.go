package resources

import (
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// Many services have each thing in a member: {"data": {…}}, {"book": {…}}, or as JSON:API has it. Where the identity is says
// where the thing is: what does not have it, but exactly one member of which does, wraps the thing in that.

// find returns the member with the identity of a thing in a result, and where that has the thing; an empty name: nowhere. What has
// members that a create sends is the thing itself, and not its wrapping.
func (s *Set) find(result, sent *schema.Schema, identityOf func(*schema.Schema) string) (member string, w document.Wrapping) {
	if result == nil {
		return "", w
	}
	if member = identityOf(result); member != "" {
		return member, s.besideAttributes(result, "", member)
	}
	wrapper := ""
	for _, name := range s.values.Names(result) {
		inner := s.values.Property(result, name)
		switch found := identityOf(inner); {
		case found != "" && wrapper != "":
			return "", w
		case found != "":
			wrapper = name
			member = found
		}
	}
	isSent := func(name string) bool { return name != wrapper && s.values.Property(sent, name) != nil }
	if wrapper == "" || slices.ContainsFunc(s.values.Names(result), isSent) {
		return "", w
	}
	return member, s.besideAttributes(s.values.Property(result, wrapper), jsonvalue.Pointer(wrapper), member)
}

// besideIdentity are the members that JSON:API has beside an identity (https://jsonapi.org/format, resource objects).
var besideIdentity = []string{"type", "id", "lid", "attributes", "relationships", "links", "meta"}

// besideAttributes is where a thing is whose identity is in an object at a place: JSON:API has its other members in attributes.
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
	name := x.Member
	if name == "" && len(operation.PathNames) > 0 {
		name = operation.PathNames[len(operation.PathNames)-1]
	}
	isIdentity := func(of *schema.Schema) string { return s.memberNamed(of, identityNames(name), anyMember) }
	if operation.Gives == (document.Wrapping{}) {
		_, operation.Gives = s.find(operation.Result(), x.Create.BodySchema(), isIdentity)
	}
	if operation.Takes == (document.Wrapping{}) {
		operation.Takes = s.takes(operation, x.Create.Gives)
	}
}

// takes is where the body of a request has a thing: where responses have it, or in its only member, if no response has that.
func (s *Set) takes(operation *document.Operation, created document.Wrapping) (w document.Wrapping) {
	body := operation.BodySchema()
	places := []string{operation.Gives.Members, created.Members}
	if names := s.values.Names(body); len(names) == 1 && s.values.Property(operation.ThingResult(), names[0]) == nil {
		places = append(places, jsonvalue.Pointer(names[0]))
	}
	w.Members = first(places, func(at string) bool { return at != "" && len(s.values.Names(schema.At(body, at))) > 0 })
	if w.Members == created.Members && created.Identity != "" && schema.At(body, created.Identity) != nil {
		w.Identity = created.Identity
	}
	return w
}

// placed is the member that is an identity, and where its thing is, of what the options have: a name, or a JSON Pointer.
func (s *Set) placed(of *schema.Schema, id string) (member string, w document.Wrapping) {
	i := strings.LastIndex(id, "/")
	above := id[:max(i, 0)]
	member = jsonvalue.Unescape(id[i+1:])
	return member, s.besideAttributes(schema.At(of, above), above, member)
}

// anyMember takes each member.
func anyMember(string, *schema.Schema) bool { return true }
