package contract

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// node is a schema of the document as a visit needs it. kin-openapi and jsonschema/v6 read the schemas, but neither bounds the
// time in which it checks a value: both double it for each level if two schemas meet one value and lead on to the next
// (532 bytes took 3.3 s). kin-openapi also compares integers as float64, and compiles a schema of OpenAPI 3.1 for each
// value. If they remember what they have found one day, nodes and visits can go.
type node struct {
	always   *bool // a boolean schema
	isLegacy bool  // of OpenAPI 3.0, where null is allowed by nullable alone
	isNull   bool  // null is allowed

	types       types
	enum        []any
	isEnum      bool
	enumMessage string
	format      *format
	isBinary    bool // a text of bytes

	bounds     []numberBound
	multipleOf any // int64 or float64

	length         *sizeBounds // nil: any, as in all of these
	pattern        *pattern
	patternMessage string

	itemCount     *sizeBounds
	isUnique      bool
	items         *node // nil: any
	prefixItems   []*node
	contains      *node
	containsCount *sizeBounds

	memberCount    *sizeBounds
	required       []string
	members        map[string]*node
	readOnly       []string // members that a request must not have, also those of allOf
	leavesOut      bool     // those
	patternMembers []patternMember
	others         *node // of members with other names; nil: any
	names          *node
	dependents     map[string][]string

	// What is held against the same value.
	parts            []*node // of allOf, and references beside other keywords: their faults are those of this schema
	anyOf, oneOf     []*node
	discriminator    *discriminator
	not              *node
	conditions       []condition
	dependentSchemas map[string]*node

	unevaluatedItems, unevaluatedMembers *node

	together   []*node // this one and all that are held against the same value
	needsWhole bool    // see wanted
}

// patternMember is the schema of members whose names match a pattern.
type patternMember struct {
	pattern *pattern
	schema  *node
}

// condition is if, then and else.
type condition struct{ when, then, otherwise *node }

// discriminator names one of several schemas by a member.
type discriminator struct {
	member   string
	named    map[string]int // indexes of oneOf or anyOf by the value
	isClosed bool           // other values are wrong
	message  string         // of these
}

// types is a set of the types of JSON, a bit each. No bit means all types.
type types uint8

const (
	typeObject types = 1 << iota
	typeArray
	typeString
	typeNumber
	typeInteger
	typeBoolean
	typeNull
)

// typeNames are the names of the types, in the order of their bits.
var typeNames = []string{"object", "array", "string", "number", "integer", "boolean", "null"}

// typeDescriptions are their descriptions in messages.
var typeDescriptions = []string{"an object", "an array", "a string", "a number", "an integer", "a boolean", "null"}

func typesOf(names []string) (set types) {
	for i, name := range typeNames {
		for _, wanted := range names {
			if wanted == name {
				set |= 1 << i
			}
		}
	}
	return set
}

func (t types) has(other types) bool { return t&other != 0 }

// String returns what a value of the types is, as in "an array or a string".
func (t types) String() string {
	var names []string
	for i, name := range typeDescriptions {
		if t.has(1 << i) {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

// schemaNames is where a document has schemas with names.
const schemaNames = "#/components/schemas/"

// newDiscriminator returns the discriminator of some alternatives, whose names are values, too.
func newDiscriminator(member string, mapping map[string]string, references []string) *discriminator {
	made := &discriminator{member: member, named: map[string]int{}, isClosed: len(mapping) > 0}
	indexes := map[string]int{}
	for i, reference := range references {
		indexes[reference] = i
		if name, hasName := strings.CutPrefix(reference, schemaNames); hasName {
			made.named[name] = i
		}
	}
	for value, target := range mapping {
		if !strings.Contains(target, "/") { // a plain name
			target = schemaNames + target
		}
		index, isKnown := indexes[target]
		if !isKnown {
			index = -1
		}
		made.named[value] = index
	}
	var texts []string
	for _, value := range slices.Sorted(maps.Keys(mapping)) {
		texts = append(texts, string(jsonOf(value)))
	}
	made.message = oneOf(texts)
	return made
}

// isPlain reports whether a schema asks only for types, and for the size of an integer, which is checked when its text
// is read. Most parameters are plain, and a visit costs several times as much.
func (n *node) isPlain() bool {
	plain := &node{}
	plain.isLegacy, plain.isNull, plain.types, plain.leavesOut = n.isLegacy, n.isNull, n.types, n.leavesOut
	plain.together, plain.needsWhole = n.together, n.needsWhole
	if n.types == typeInteger && n.format != nil && n.format.name == "int32" {
		plain.format = n.format
	}
	return n.types != 0 && reflect.DeepEqual(n, plain)
}

func (n *node) setEnum(values []any) {
	if values == nil {
		return
	}
	n.isEnum = true
	texts := make([]string, len(values))
	for i, value := range values {
		n.enum = append(n.enum, plainValue(value))
		texts[i] = string(jsonOf(n.enum[i]))
	}
	n.enumMessage = oneOf(texts)
}

// maxListed is how many values a message lists.
const maxListed = 20

// oneOf returns what a value must be.
func oneOf(texts []string) string {
	if len(texts) == 1 {
		return "must be " + texts[0]
	}
	if len(texts) > maxListed {
		texts = append(slices.Clip(texts[:maxListed]), "…")
	}
	return "must be one of " + strings.Join(texts, ", ")
}

// jsonOf returns a value as JSON, as it is: not with the escapes of HTML.
func jsonOf(value any) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // which was decoded
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}

// numberOf returns the number of a text: an int64 if it is written as an integer that fits, or else a float64, which is infinite
// if it is out of range.
func numberOf(text string) any {
	if whole, err := strconv.ParseInt(text, 10, 64); err == nil {
		return whole
	}
	number, _ := strconv.ParseFloat(text, 64)
	return number
}

// isCombined reports whether other schemas are held against the same value.
func (n *node) isCombined() bool {
	lists := len(n.parts) + len(n.anyOf) + len(n.oneOf)
	return lists+len(n.conditions)+len(n.dependentSchemas) > 0 || n.not != nil
}

// prepare sets what depends on a whole schema and all that it leads to.
func (n *node) prepare() {
	if n == nil || n.together != nil {
		return
	}
	n.together, n.needsWhole = partsOf(n), isWholeNeeded(n)
	for _, next := range slices.Concat(n.sameValue(), n.meeting(), n.children()) {
		next.prepare()
	}
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

// membersOf returns the schemas that a schema, and those that it is combined of, have for each member.
func membersOf(combined *node) map[string][]*node {
	members := map[string][]*node{}
	for _, part := range combined.together {
		for name, member := range part.members {
			if !slices.Contains(members[name], member) {
				members[name] = append(members[name], member)
			}
		}
	}
	return members
}

// sameValue returns the schemas that are held against the same value.
func (n *node) sameValue() (schemas []*node) {
	schemas = slices.Concat(n.parts, n.anyOf, n.oneOf, slices.Collect(maps.Values(n.dependentSchemas)))
	schemas = append(schemas, n.not)
	for _, condition := range n.conditions {
		schemas = append(schemas, condition.when, condition.then, condition.otherwise)
	}
	return slices.DeleteFunc(schemas, func(schema *node) bool { return schema == nil })
}

// meeting returns the schemas that may meet others in items and members.
func (n *node) meeting() (schemas []*node) {
	schemas = append(schemas, n.contains, n.unevaluatedItems, n.unevaluatedMembers)
	for _, each := range n.patternMembers {
		schemas = append(schemas, each.schema)
	}
	return slices.DeleteFunc(schemas, func(schema *node) bool { return schema == nil })
}

// children returns the schemas of items and members.
func (n *node) children() (schemas []*node) {
	return append(slices.Concat(n.prefixItems, slices.Collect(maps.Values(n.members))), n.items, n.others, n.names)
}
