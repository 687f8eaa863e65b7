package plan

import (
	"slices"
	"strconv"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// A member that a response may lack is easily forgotten by a service, and then no response breaks the document. So each must
// come once, in whatever response has its schema.

// noResponseHad is why nothing is known of a member.
const noResponseHad = "no response has had it"

// placeOfMember is where the document has a member of a schema.
func placeOfMember(of *schema.Schema, name string) string {
	return of.Location + jsonvalue.Pointer(name)
}

// mayBeForgotten reports whether a response may lack a member of a schema, or have null there.
func mayBeForgotten(of *schema.Schema, name string) bool {
	property := of.Properties[name]
	isNeeded := slices.Contains(of.Required, name) && !schema.AllowsType(property, "null")
	return !isNeeded && !schema.IsForbidden(property) && !schema.IsUnread(property)
}

// membersOf are the promises of members that successes may lack, by their place in the document. If several operations have a
// schema, its members are promises of the first one.
func membersOf(of *document.Document) map[string]scenario.Promise {
	members := map[string]scenario.Promise{}
	for _, operation := range of.Operations {
		for _, key := range operation.Statuses() {
			status, _ := strconv.Atoi(key) // 2XX and default are not looked at
			result := operation.ResultOf(status)
			if result == nil || status/100 != 2 {
				continue
			}
			promise := scenario.Promise{Operation: operation.ID, Kind: scenario.MemberOfResponse, Status: key}
			schema.Each(result, func(part *schema.Schema) { addMembers(members, part, promise) })
		}
	}
	return members
}

// addMembers adds the promises of members of a part of a response that are not known yet.
func addMembers(members map[string]scenario.Promise, part *schema.Schema, promise scenario.Promise) {
	for name := range part.Properties {
		at := placeOfMember(part, name)
		if _, isKnown := members[at]; !isKnown && mayBeForgotten(part, name) {
			promise.Place = schema.Component(part) + jsonvalue.Pointer(name)
			members[at] = promise
		}
	}
}

// shownMembers are the promises of members that a value of a schema has.
func (p *Planner) shownMembers(described *schema.Schema, value any) (shown []scenario.Promise) {
	for _, part := range schema.Parts(described) {
		for _, item := range jsonvalue.List(value) {
			shown = append(shown, p.shownMembers(part.Items2020, item)...)
		}
		for name, member := range jsonvalue.Object(value) {
			property := part.Properties[name]
			if property == nil || member == nil {
				continue
			}
			if promise, isPromised := p.members[placeOfMember(part, name)]; isPromised {
				shown = append(shown, promise)
			}
			shown = append(shown, p.shownMembers(property, member)...)
		}
	}
	return shown
}
