package plan

import (
	"maps"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// member is a member of an object somewhere in a body. The object need not have it: then a test is about its absence.
type member struct {
	body   any
	above  string // the JSON Pointer of its object
	name   string
	object map[string]any // nil: there is none
	shape  *schema.Schema // of the object
}

// memberIn is the member of the body of a request that a test is about. A test of an item of an array is about the member
// that has the array:
//
//	"/pots/*/tags/*": the member tags of the object at /pots/0
func (s *surroundings) memberIn(sent scenario.Request) member {
	place := s.promise.Place
	for strings.HasSuffix(place, "/*") {
		place = strings.TrimSuffix(place, "/*")
	}
	place = jsonvalue.First(place) // the arrays of a test have what it is about as their first item
	if place == "" {
		place = jsonvalue.Pointer(schema.UnknownMember) // of the body itself only these are tested
	}
	i := strings.LastIndexByte(place, '/')
	body, _ := jsonvalue.Decode(sent.Body) // a test has written it
	m := member{body: body, above: place[:i], name: jsonvalue.Unescape(place[i+1:])}
	m.object = jsonvalue.Object(jsonvalue.Lookup(body, "#"+m.above))
	m.shape = s.Values.ShapeOf(schema.At(s.Operation.BodySchema(), m.above), m.object)
	return m
}

// property is what the document says of the member, or nil.
func (m member) property() *schema.Schema { return m.shape.Properties[m.name] }

// with is the object with another value of the member.
func (m member) with(value any) map[string]any {
	other := maps.Clone(m.object)
	other[m.name] = value
	return other
}

// absent is the object without the member, or without those that the document does not name.
func (m member) absent() map[string]any {
	other := maps.Clone(m.object)
	maps.DeleteFunc(other, func(name string, _ any) bool {
		isUnnamed := m.name == schema.UnknownMember && m.shape.Properties[name] == nil
		return name == m.name || isUnnamed
	})
	return other
}

// bodyWith is the body with another object in place of that of the member.
func (m member) bodyWith(object map[string]any) any {
	body, _ := jsonvalue.Decode(jsonvalue.Encode(m.body)) // it was decoded
	own := jsonvalue.Object(jsonvalue.Lookup(body, "#"+m.above))
	clear(own)
	maps.Copy(own, object)
	return body
}
