package contract

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

// shape says what of a JSON value its schema can need. JSON of a MiB can become forty as Go
// values, so what the schema cannot need is checked as JSON, and not kept: members that the schema does not have,
// all items but one of those that an array may not have, and what is in an object or array in place of something
// else.
type shape struct {
	isInteger bool // a number must be an integer
	members   map[string]*shape
	others    *shape // of members with other names: skipped if the schema ignores them; nil: nothing of an object is kept
	items     *shape // nil: nothing of an array is kept
	mostItems int    // that are kept
}

// Both skipped and named are empty. The decoder tells them apart by their addresses.
var (
	// skipped is the shape of a member that is left out.
	skipped = &shape{}

	// named is the shape of a member of which only the name is kept: the schema counts or forbids such members.
	named = &shape{}

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
func (known shapes) of(isWhole bool, schemas ...*openapi3.Schema) *shape {
	key := fmt.Sprint(isWhole, schemas)
	if found := known[key]; found != nil {
		return found
	}
	combined := schemas[0]
	if len(schemas) > 1 {
		combined = openapi3.NewAnyOfSchema(schemas...)
	}
	isWhole = isWhole || isWholeNeeded(combined)
	made := &shape{isInteger: typeOf(combined) == openapi3.TypeInteger, members: map[string]*shape{}}
	known[key] = made
	for name, described := range membersOf(combined) {
		made.members[name] = known.of(isWhole, described...)
	}
	if combined.Items != nil {
		made.items = known.of(isWhole, combined.Items.Value)
		made.mostItems = mostItems(combined)
	}
	if isWhole {
		made.items, made.others, made.mostItems = cmp.Or(made.items, wholeShape), wholeShape, math.MaxInt
	} else if combined.Type.Is(openapi3.TypeObject) {
		made.others = known.ofOthers(combined)
	}
	return made
}

// mostItems is one more than an array may have.
func mostItems(array *openapi3.Schema) int {
	if array.MaxItems == nil {
		return math.MaxInt
	}
	return int(*array.MaxItems) + 1
}

// isWholeNeeded reports whether a schema is combined of others, so that no single one says what is needed, or compares
// whole values, or accepts values of any type.
func isWholeNeeded(schema *openapi3.Schema) bool {
	return slices.Contains([]bool{
		len(partsOf(schema)) > 1,
		schema.Not != nil,
		len(schema.Enum) > 0,
		schema.UniqueItems,
		schema.Type == nil,
	}, true)
}

// ofOthers returns the shape of the members of an object for which its schema has no name.
func (known shapes) ofOthers(object *openapi3.Schema) *shape {
	additional := object.AdditionalProperties
	if additional.Schema != nil {
		return known.of(false, additional.Schema.Value)
	}
	isOpen := len(object.Properties) == 0 // an object of any members
	if additional.Has != nil {
		isOpen = *additional.Has
	}
	if isOpen {
		return wholeShape
	}
	isForbidden := additional.Has != nil
	if isForbidden || object.MinProps > 0 || object.MaxProps != nil {
		return named
	}
	return skipped
}

// membersOf returns the schemas that a schema, and those that it is combined of, have for each member.
func membersOf(combined *openapi3.Schema) map[string][]*openapi3.Schema {
	members := map[string][]*openapi3.Schema{}
	for _, part := range partsOf(combined) {
		for name, member := range part.Properties {
			if !slices.Contains(members[name], member.Value) {
				members[name] = append(members[name], member.Value)
			}
		}
	}
	return members
}
