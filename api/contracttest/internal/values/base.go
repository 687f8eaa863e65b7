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
// what is optional. The client may change the members or items of the result, but not what is in them: it is kept.
func (g *Generator) Base(wanted *schema.Schema) any {
	if g.IsIdentity(wanted) {
		return g.Identity(wanted)
	}
	g.begin()
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

// keptBase returns a base that was made before, or makes it: a large document asks for the same ones thousands of times.
// A base with an identity is not kept, because each identity is drawn fresh. A base that ends a recursion is kept only
// for the work on one outermost schema, and within the same schemas: elsewhere the recursion would end later.
func (g *Generator) keptBase(wanted *schema.Schema) any {
	key := baseKey{schema: wanted, depth: g.depth}
	if value, isKnown := g.knownBase(key); isKnown {
		return value
	}
	inRecursion := baseKey{wanted, g.depth, g.held}
	if value, isKnown := g.cutBases[inRecursion]; isKnown {
		g.cuts++ // the base that it becomes a part of ends a recursion, too
		return value
	}
	drawn := g.drawn.Load()
	cuts := g.cuts
	value := g.newBase(wanted)
	switch {
	case g.drawn.Load() != drawn:
		return value // it has an identity, or another test has drawn one meanwhile
	case g.cuts == cuts:
		g.keepBase(key, value)
	default:
		g.cutBases[inRecursion] = value
	}
	return value
}

// newBase makes a base. In a recursion it leaves out what is optional. Where that does not end it, or there was too much
// work, the base is null. Each such base is counted in cuts: it must not be used again elsewhere.
func (g *Generator) newBase(wanted *schema.Schema) any {
	isTooMuch := g.work > g.Enough
	inRecursion := g.active[wanted] >= deepest
	isEndless := g.active[wanted] > 2*deepest // of a required recursion no value is finite
	g.exhausted = g.exhausted || isTooMuch
	if isTooMuch || inRecursion {
		g.cuts++
	}
	if isTooMuch || isEndless {
		return nil
	}
	g.hold(wanted)
	defer g.leave(wanted)
	flat := g.Flatten(wanted)
	if branches := g.Branches(flat); len(branches) > 0 {
		return g.baseOfBranches(wanted, branches)
	}
	return g.simpleBase(flat, inRecursion)
}

// baseOfBranches returns the base of the first branch of which a schema allows it, or else the first one that can be
// changed so that the schema does. If there is none, it is the base of the first branch, which the schema forbids.
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

// roughBase is simpleBase by the keywords that are about one value: type, enum and bounds. Others, such as if and not, may
// forbid it.
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
	if mayHaveOne && !inRecursion {
		return max(least, 1)
	}
	return least
}

// objectBase has all members, as long as there may be so many. It leaves out optional ones in a recursion, and those of
// which no valid value is known.
//
//	{"id": 1000001, "name": "Ficus", "size": 1, "tags": ["Ficus"]}
func (g *Generator) objectBase(wanted *schema.Schema, inRecursion bool) map[string]any {
	object := map[string]any{}
	for _, name := range PropertyNames(wanted) {
		property := wanted.Properties[name]
		isOptional := !isRequired(wanted, name)
		isFull := len(object) >= orMost(wanted.MaxProperties)
		isLeftOut := isOptional && (inRecursion || isFull)
		if isLeftOut || g.IsAbsent(property) {
			continue
		}
		value := g.inOrder(name, property, g.baseOf(name, property))
		isGuess := isOptional && isHard(property)
		if !isGuess || schema.Allows(property, value) {
			object[name] = value
		}
	}
	return g.grown(wanted, object, OrNone(wanted.MinProperties))
}

// PropertyNames lists the names of the properties of a schema, sorted.
func PropertyNames(wanted *schema.Schema) []string { return jsonvalue.Names(wanted.Properties) }

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
		object = map[string]any{} // the base is no object, although the schema has properties
	}
	object[name] = value
	return object
}

// mostItems are the largest arrays, by how many arrays they are within. Large ones in large ones would be gigabytes.
var mostItems = []int{Most + 1, Most/8 + 1, Most/64 + 1, 2}

// Many returns an array of n items, as far as an array may be so large: the given ones, those that it must contain, and
// plain ones, which differ from all others if they must.
func (g *Generator) Many(wanted *schema.Schema, n int, begin ...any) []any {
	n = min(n, mostItems[min(g.depth, len(mostItems)-1)])
	g.depth++
	defer func() { g.depth-- }()
	array := append([]any{}, begin...)
	array = append(array, g.contained(wanted)...)
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

// orMost is an upper bound of items or members, or where there is none, as many as are ever made.
func orMost(bound *int) int { return boundOr(bound, Most) }

// OrNone is a lower bound, or where there is none, 0.
func OrNone(bound *int) int { return boundOr(bound, 0) }

// boundOr is a bound, or where there is none, another number.
func boundOr(bound *int, otherwise int) int {
	if bound == nil {
		return otherwise
	}
	return *bound
}

// itemAt is the schema of the item at an index of arrays. Their first items may have schemas of their own.
func itemAt(wanted *schema.Schema, index int) *schema.Schema {
	if index < len(wanted.PrefixItems) {
		return wanted.PrefixItems[index]
	}
	return schema.Of(wanted.Items2020)
}
