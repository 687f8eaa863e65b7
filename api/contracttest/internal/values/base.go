package values

import (
	"fmt"
	"hash/maphash"
	"maps"
	"slices"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// A base has every member, as long as that is allowed. So a service that fails for an optional one is found by
// the first request, and a variant, which is a base with one change, fails for that change alone.

// baseKey is what a base depends on, if it has no identity.
type baseKey struct {
	schema *schema.Schema
	depth  int
	held   uint64 // 0 if it ends no recursion
}

// heldSeed is the seed of sums of schemas. They are not compared between runs.
var heldSeed = maphash.MakeSeed()

// Base returns the plainest valid value: every property, every minimum met. In a recursion it leaves out
// what is optional. The result may be changed, but not what is in it.
func (g *Generator) Base(wanted *schema.Schema) any {
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
func (g *Generator) keptBase(wanted *schema.Schema) any {
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
func (g *Generator) newBase(wanted *schema.Schema) any {
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
	return g.simpleBase(flat, inRecursion)
}

// baseOfBranches returns the base of the first branch of which a schema allows it.
func (g *Generator) baseOfBranches(wanted *schema.Schema, branches []*schema.Schema) any {
	for _, branch := range branches {
		if value := g.Base(branch); g.Fits(wanted, value) {
			return value
		}
	}
	for _, branch := range branches {
		if value := g.repaired(wanted, g.Flatten(branch), g.Base(branch)); g.Fits(wanted, value) {
			return value
		}
	}
	return g.Base(branches[0])
}

// simpleBase is the base of a schema that is not a choice.
func (g *Generator) simpleBase(wanted *schema.Schema, inRecursion bool) any {
	value := g.roughBase(wanted, inRecursion)
	if isHard(wanted) && !g.Fits(wanted, value) {
		return g.repaired(wanted, wanted, value)
	}
	return value
}

// roughBase is simpleBase by the keywords that are about one value. What else a schema says may forbid it.
func (g *Generator) roughBase(wanted *schema.Schema, inRecursion bool) any {
	switch {
	case len(schema.ValuesOf(wanted)) > 0:
		return jsonvalue.Normal(schema.ValuesOf(wanted)[0])
	case schema.IsNull(wanted):
		return nil
	case schema.IsObject(wanted):
		return g.objectBase(wanted, inRecursion)
	case schema.TypeOf(wanted) == "array":
		return g.Many(wanted, leastItems(wanted, inRecursion))
	case schema.IsNumber(wanted):
		return g.plainNumber(wanted)
	case schema.TypeOf(wanted) == "boolean":
		return true
	}
	return g.plainText(wanted)
}

// leastItems is how many items a base has: one at least, unless it ends a recursion.
func leastItems(wanted *schema.Schema, inRecursion bool) int {
	least := OrNone(wanted.MinItems)
	mayHaveOne := orMost(wanted.MaxItems) > 0
	if least == 0 && mayHaveOne && !inRecursion {
		return 1
	}
	return least
}

// objectBase has all members, as long as they are allowed.
//
//	{"id": 1000001, "name": "Ficus", "size": 1, "tags": ["Ficus"]}
func (g *Generator) objectBase(wanted *schema.Schema, inRecursion bool) map[string]any {
	object := map[string]any{}
	for _, name := range PropertyNames(wanted) {
		property := wanted.Properties[name]
		isFull := len(object) >= orMost(wanted.MaxProperties)
		canLeaveOut := (inRecursion || isFull) && !isRequired(wanted, name)
		if canLeaveOut || g.IsAbsent(property) {
			continue
		}
		object[name] = g.inOrder(name, property, g.baseOf(name, property))
		// Of some no value is known, or there is none.
		isGuess := isHard(property) && !isRequired(wanted, name)
		if isGuess && !schema.Allows(property, object[name]) {
			delete(object, name)
		}
	}
	return g.grown(wanted, object, OrNone(wanted.MinProperties))
}

// PropertyNames lists the names of the properties of a schema, sorted.
func PropertyNames(wanted *schema.Schema) []string {
	return slices.Sorted(maps.Keys(wanted.Properties))
}

// isRequired reports whether an object must have a member.
func isRequired(wanted *schema.Schema, name string) bool {
	return slices.Contains(wanted.Required, name)
}

// grown adds members to an object until it has n of them.
func (g *Generator) grown(wanted *schema.Schema, object map[string]any, n int) map[string]any {
	for i := len(object); i < min(n, Most+1); i++ {
		object[fmt.Sprint("member", i)] = g.additional(wanted)
	}
	return object
}

// additional returns a value for a member that no property names.
func (g *Generator) additional(wanted *schema.Schema) any {
	if more := schema.More(wanted); more != nil {
		return g.Base(more)
	}
	return "more"
}

// with returns the base of an object with one member set.
func (g *Generator) with(wanted *schema.Schema, name string, value any) map[string]any {
	object := jsonvalue.Object(g.simpleBase(wanted, false))
	if object == nil {
		object = map[string]any{}
	}
	object[name] = value
	return object
}

// Many returns an array of n items that begins with the given ones, different ones where they must be.
// Large arrays in large arrays would be gigabytes, so the inner ones are short.
func (g *Generator) Many(wanted *schema.Schema, n int, begin ...any) []any {
	g.depth++
	defer func() { g.depth-- }()
	// Arrays in arrays are small.
	n = min(n, Most>>(3*min(g.depth-1, 3))+1)
	array := append([]any{}, begin...)
	if wanted.Contains != nil {
		array = append(array, g.contained(wanted)...)
	}
	for len(array) < n {
		item := itemAt(wanted, len(array))
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
func orMost(n *int) int {
	if n == nil {
		return Most
	}
	return *n
}

// OrNone is a lower bound, or where there is none, 0.
func OrNone(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// itemAt is the schema of an item of arrays. Their first ones may have schemas of their own.
func itemAt(wanted *schema.Schema, index int) *schema.Schema {
	if index < len(wanted.PrefixItems) {
		return wanted.PrefixItems[index]
	}
	return schema.Of(wanted.Items2020)
}
