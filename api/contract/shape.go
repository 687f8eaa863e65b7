package contract

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// shape says what of a JSON value its schema can need. JSON of a MiB can become forty as Go
// values, so what the schema cannot need is checked as JSON, and not kept: members that the schema does not have,
// all items but one of those that an array may not have, and what is in an object or array in place of something
// else.
type shape struct {
	isTime    bool
	members   map[string]*shape
	others    *shape // of members with other names: skipped if the schema ignores them; nil: nothing of an object is kept
	items     *shape // nil: nothing of an array is kept
	mostItems int    // that are kept
}

// The first three are empty. The decoder tells them apart by their addresses.
var (
	// skipped is the shape of a member that is left out.
	skipped = &shape{}

	// named is the shape of a member of which only the name is kept: the schema counts or forbids such members.
	named = &shape{}

	// forResponses is the shape of a member that is left out because it is readOnly.
	forResponses = &shape{}

	// wholeShape keeps everything.
	wholeShape = newWholeShape()
)

func newWholeShape() *shape {
	whole := &shape{mostItems: math.MaxInt}
	whole.items, whole.others = whole, whole
	return whole
}

// shapes are the shapes of schemas, which may contain themselves. The key has the addresses of the schemas.
type shapes map[string]*shape

// of returns the shape of a value that must match at least one of some schemas. A whole one keeps everything.
func (known shapes) of(isWhole bool, schemas ...*node) *shape {
	key := fmt.Sprint(isWhole, schemas)
	if found := known[key]; found != nil {
		return found
	}
	combined := schemas[0]
	if len(schemas) > 1 {
		combined = newNode()
		combined.anyOf = schemas
	}
	isWhole = isWhole || isWholeNeeded(combined)
	made := &shape{isTime: combined.format != nil && combined.format.name == "date-time", members: map[string]*shape{}}
	known[key] = made
	for name, described := range membersOf(combined) {
		made.members[name] = known.of(isWhole, described...)
	}
	for _, part := range partsOf(combined) {
		known.leaveOut(made, part)
	}
	if combined.items != nil {
		made.items, made.mostItems = known.of(isWhole, combined.items), mostItems(combined)
	}
	if isWhole {
		made.items, made.others, made.mostItems = cmp.Or(made.items, wholeShape), wholeShape, math.MaxInt
	} else if combined.types.has(typeObject) {
		made.others = known.ofOthers(combined)
	}
	return made
}

// leaveOut leaves out the members that are for responses alone, if that is set.
func (known shapes) leaveOut(made *shape, schema *node) {
	if !schema.leavesOut {
		return
	}
	for _, name := range schema.readOnly {
		made.members[name] = forResponses
	}
}

// mostItems is one more than an array may have.
func mostItems(array *node) int {
	return max(array.maxItems, array.maxItems+1) // which is not negative
}

// isWholeNeeded reports whether a schema is combined of others, so that no single one says what is needed, or compares
// whole values, or accepts values of any type.
func isWholeNeeded(schema *node) bool {
	isTyped := schema.types != 0
	isCombined := len(schema.sameValue())+len(schema.meeting())+len(schema.prefixItems)+len(schema.dependents) > 0
	isOpenArray := schema.types.has(typeArray) && schema.items == nil
	return slices.Contains([]bool{
		isCombined, len(schema.enum) > 0, schema.isUnique, schema.names != nil, !isTyped, isOpenArray,
	}, true)
}

// ofOthers returns the shape of the members of an object for which its schema has no name.
func (known shapes) ofOthers(object *node) *shape {
	others := object.others
	isElsewhere := func(name string) bool { return object.members[name] == nil }
	isCounted := object.minMembers > 0 || object.maxMembers < unlimited || slices.ContainsFunc(object.required, isElsewhere)
	switch {
	case others == nil && len(object.members) == 0: // an object of any members
		return wholeShape
	case others == nil && isCounted:
		return named
	case others == nil:
		return skipped
	case others.always == nil:
		return known.of(false, others)
	case *others.always:
		return wholeShape
	}
	return named
}

// membersOf returns the schemas that a schema, and those that it is combined of, have for each member.
func membersOf(combined *node) map[string][]*node {
	members := map[string][]*node{}
	for _, part := range partsOf(combined) {
		for name, member := range part.members {
			if !slices.Contains(members[name], member) {
				members[name] = append(members[name], member)
			}
		}
	}
	return members
}

// partsOf returns a schema and all those that it is combined of.
func partsOf(combined *node) []*node {
	parts := []*node{combined}
	for i := 0; i < len(parts); i++ { // parts grows
		for _, part := range parts[i].sameValue() {
			if !slices.Contains(parts, part) {
				parts = append(parts, part)
			}
		}
	}
	return parts
}
