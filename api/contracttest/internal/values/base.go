package values

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// A base has every member, as long as that is allowed. So a service that fails for an optional one is found by
// the first request, and a variant, which is a base with one change, fails for that change alone.

// baseKey is what a base depends on, if it has no identity.
type baseKey struct {
	schema *openapi3.Schema
	depth  int
	held   uint64 // 0 if it ends no recursion
}

// heldSeed is the seed of sums of schemas. They are not compared between runs.
var heldSeed = maphash.MakeSeed()

// Base returns the plainest valid value: every property, every minimum met. In a recursion it leaves out
// what is optional. The result may be changed, but not what is in it.
func (g *Generator) Base(wanted *openapi3.Schema) any {
	if g.IsIdentity(wanted) {
		return g.Identity(wanted)
	}
	if g.nesting == 0 {
		g.begin()
	}
	g.work++
	switch value := g.keptBase(wanted).(type) {
	case map[string]any:
		return maps.Clone(value)
	case []any:
		return slices.Clone(value)
	default:
		return value
	}
}

// keptBase returns a base that was made before, or makes it. It is asked for thousands of times in a large
// document, so what can be kept is kept: not what has an identity, which is drawn fresh each time, and what
// ends a recursion only for the work on one schema, because elsewhere it would end later.
func (g *Generator) keptBase(wanted *openapi3.Schema) any {
	key := baseKey{schema: wanted, depth: g.depth}
	if value, isKnown := g.knownBase(key); isKnown {
		return value
	}
	inRecursion := baseKey{wanted, g.depth, g.held}
	if value, isKnown := g.cutBases[inRecursion]; isKnown {
		g.cuts++ // what it becomes a part of ends a recursion, too
		return value
	}
	drawn := g.drawn.Load()
	cuts := g.cuts
	value := g.newBase(wanted)
	hasIdentity := g.drawn.Load() != drawn
	isWhole := g.work <= g.Enough
	switch {
	case hasIdentity:
	case g.cuts == cuts:
		g.keepBase(key, value)
	case isWhole:
		g.cutBases[inRecursion] = value
	}
	return value
}

// newBase makes a base. Where it would not end, or take too much work, it is null, and cuts counts it: such a
// base must not be used again elsewhere.
func (g *Generator) newBase(wanted *openapi3.Schema) any {
	isTooMuch := g.work > g.Enough
	g.exhausted = g.exhausted || isTooMuch
	// Of a required recursion no value is finite.
	if isTooMuch || g.active[wanted] > 2*deepest {
		g.cuts++
		return nil
	}
	inRecursion := g.active[wanted] >= deepest
	if inRecursion {
		g.cuts++
	}
	g.hold(wanted)
	defer g.leave(wanted)
	flat := g.Flatten(wanted)
	if branches := g.Branches(flat); len(branches) > 0 {
		return g.baseOfBranches(wanted, branches)
	}
	value := g.simpleBase(flat, inRecursion)
	if flat.Not != nil && !g.Fits(wanted, value) {
		return g.otherThan(wanted, value)
	}
	return value
}

// baseOfBranches returns the base of the first branch of which a schema allows it.
func (g *Generator) baseOfBranches(wanted *openapi3.Schema, branches []*openapi3.Schema) any {
	for _, branch := range branches {
		if value := g.Base(branch); g.Fits(wanted, value) {
			return value
		}
	}
	return g.Base(branches[0])
}

// otherThan returns a value that a schema with "not" allows, if there is one, in place of one that it forbids.
func (g *Generator) otherThan(wanted *openapi3.Schema, forbidden any) any {
	for _, other := range []any{"another", int64(2), true, map[string]any{}, []any{}, json.Number("1.5")} {
		if g.Fits(wanted, other) {
			return other
		}
	}
	return forbidden
}

// simpleBase is the base of a schema that is not composed.
func (g *Generator) simpleBase(wanted *openapi3.Schema, inRecursion bool) any {
	switch {
	case len(wanted.Enum) > 0:
		return jsonvalue.Normal(wanted.Enum[0])
	case schema.IsObject(wanted):
		return g.objectBase(wanted, inRecursion)
	case wanted.Type.Is("array"):
		return g.Many(wanted, leastItems(wanted, inRecursion))
	case schema.IsNumber(wanted):
		return g.plainNumber(wanted)
	case wanted.Type.Is("boolean"):
		return true
	}
	return g.plainText(wanted)
}

// leastItems is how many items a base has: one at least, unless it ends a recursion.
func leastItems(wanted *openapi3.Schema, inRecursion bool) uint64 {
	mayHaveOne := orMost(wanted.MaxItems) > 0
	if wanted.MinItems == 0 && mayHaveOne && !inRecursion {
		return 1
	}
	return wanted.MinItems
}

// objectBase has all members, as long as they are allowed.
//
//	{"id": 1000001, "name": "Ficus", "size": 1, "tags": ["Ficus"]}
func (g *Generator) objectBase(wanted *openapi3.Schema, inRecursion bool) map[string]any {
	object := map[string]any{}
	for _, name := range PropertyNames(wanted) {
		property := wanted.Properties[name].Value
		isFull := uint64(len(object)) >= orMost(wanted.MaxProps)
		canLeaveOut := (inRecursion || isFull) && !isRequired(wanted, name)
		if !canLeaveOut && !g.IsAbsent(property) {
			object[name] = g.baseOf(name, property)
		}
	}
	return g.grown(wanted, object, wanted.MinProps)
}

// PropertyNames lists the names of the properties of a schema, sorted.
func PropertyNames(wanted *openapi3.Schema) []string {
	return slices.Sorted(maps.Keys(wanted.Properties))
}

// isRequired reports whether an object must have a member.
func isRequired(wanted *openapi3.Schema, name string) bool {
	return slices.Contains(wanted.Required, name)
}

// grown adds members to an object until it has n of them.
func (g *Generator) grown(wanted *openapi3.Schema, object map[string]any, n uint64) map[string]any {
	for i := len(object); uint64(i) < min(n, Most+1); i++ {
		object[fmt.Sprint("member", i)] = g.additional(wanted)
	}
	return object
}

// additional returns a value for a member that no property names.
func (g *Generator) additional(wanted *openapi3.Schema) any {
	if more := wanted.AdditionalProperties.Schema; more != nil {
		return g.Base(more.Value)
	}
	return "more"
}

// with returns the base of an object with one member set.
func (g *Generator) with(wanted *openapi3.Schema, name string, value any) map[string]any {
	object := jsonvalue.Object(g.simpleBase(wanted, false))
	if object == nil {
		object = map[string]any{}
	}
	object[name] = value
	return object
}

// Many returns an array of n items that begins with the given ones, different ones where they must be.
// Large arrays in large arrays would be gigabytes, so the inner ones are short.
func (g *Generator) Many(wanted *openapi3.Schema, n uint64, begin ...any) []any {
	g.depth++
	defer func() { g.depth-- }()
	// Arrays in arrays are small.
	n = min(n, uint64(Most>>(3*min(g.depth-1, 3)))+1)
	array := append([]any{}, begin...)
	item := schema.Of(wanted.Items)
	for uint64(len(array)) < n {
		if wanted.UniqueItems && len(array) > 0 {
			array = append(array, g.another(item, array))
		} else {
			array = append(array, g.Base(item))
		}
	}
	return array
}

// Most is the largest array or object that is made, where the document allows
// still larger ones.
const Most = 1000

// orMost is a bound, or where there is none, as much as is ever made.
func orMost(n *uint64) uint64 {
	if n == nil {
		return Most
	}
	return *n
}
