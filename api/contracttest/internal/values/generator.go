// Package values makes values for requests from schemas.
//
// There are five kinds of values, and one file for each:
//
//   - generator.go makes the plainest value that a schema allows: every property, every minimum met.
//   - variants.go makes values on both sides of the edge of each keyword: [Generator.Variants]. demands.go
//     lists the keywords, and candidates.go has the values to try, which does not know which side they
//     are on: a judge says that.
//   - vary.go makes values that differ from each other, so that what a service stores can be told apart,
//     and identity.go identities that no other test uses.
//   - random.go draws values from random numbers that are kept (draws.go), so that a value that makes a
//     service fail can be shrunk.
//   - odd.go has texts and bodies that services have crashed on.
//
// parameters.go writes such values into parameters, where all is text. shapes.go looks through allOf, oneOf and
// anyOf: the other files see schemas that are not composed.
//
// Work is bounded: a schema that refers to itself is followed twice, and for one schema some ten thousand
// values are made and looked at, those near the top first. What is left out is reported by
// [Generator.TakeExhausted].
//
// # Who says what is valid
//
// A generator may be wrong about a value: patterns, "not" and choices that overlap are too much for it. So
// each value is tried on its schema ([Generator.Fits]) before a test says of it that a service must take
// or refuse it. A candidate that breaks another keyword than the one that it was made for is left out
// (see verdict in variants.go): a service would refuse it for the other reason, and the test would show nothing.
//
// # To add a value
//
// Of a keyword: a candidate in candidates.go, with the keyword that it is for. That a service has crashed
// on something: a line in odd.go. Of a new format: an entry in schema.Formats, with texts of both kinds.
package values

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Settings say which values are made.
type Settings struct {
	FirstID int64          // where the identities begin; 0: 1,000,000
	Rules   scenario.Rules // what a service promises beyond OpenAPI
	Few     bool           // makes few texts for each place
	// How many values are made for one schema; 0: enough.
	Enough int
	// Of the values; they are made for requests mostly.
	Direction schema.Direction
	Seed      uint64 // of all that is drawn
}

// enough is how many values are made for one schema, and looked at, which takes some tenths of a second. Only
// schemas that refer to each other in many ways need more; then values are left out.
const enough = 50_000

// weight is how many values are in a value.
func weight(value any) int {
	all := 1
	for _, item := range jsonvalue.List(value) {
		all += weight(item)
	}
	for _, member := range jsonvalue.Object(value) {
		all += weight(member)
	}
	return all
}

// Generator makes values. One generator may be used by one goroutine; [Generator.ForTest] makes others.
type Generator struct {
	Settings
	*Shapes
	validator *schema.Validator
	random    *rand.Rand
	drawn     *atomic.Int64 // the last number of an identity
	stopped   *atomic.Bool

	// The schemas that are being worked on: recursion.
	active map[*openapi3.Schema]int
	held   uint64 // a sum of them
	// Bases that end a recursion, for the work on one schema.
	cutBases map[baseKey]any
	// How often a base had to end a recursion.
	cuts  int
	depth int // of the array that is being made
	// Of schemas that are being worked on.
	nesting int
	work    int // values made since nesting was 0
	levels  int // how many schemas variants follow
	// A schema has led to more than enough.
	exhausted bool
}

// New returns a generator.
func New(settings Settings) *Generator {
	if settings.FirstID == 0 {
		settings.FirstID = 1_000_000
	}
	if settings.Enough == 0 {
		settings.Enough = enough
	}
	g := &Generator{
		Settings:  settings,
		Shapes:    newShapes(),
		validator: schema.NewValidator(),
		drawn:     new(atomic.Int64),
		stopped:   new(atomic.Bool),
	}
	g.drawn.Store(settings.FirstID)
	g.restart(0)
	return g
}

// ForTest returns a generator whose draws depend on the seed and a number only, not on what other
// tests have drawn. They have the same identities, of which none is drawn twice.
func (g *Generator) ForTest(number uint64) *Generator {
	other := &Generator{
		Settings:  g.Settings,
		Shapes:    g.Shapes,
		validator: g.validator,
		drawn:     g.drawn,
		stopped:   g.stopped,
	}
	other.restart(number)
	return other
}

// restart begins the draws of a test.
func (g *Generator) restart(number uint64) {
	g.random = rand.New(rand.NewPCG(g.Seed, number))
	g.active = map[*openapi3.Schema]int{}
}

// Stop makes this generator, and those that were made of it, leave out variants from now on.
func (g *Generator) Stop() { g.stopped.Store(true) }

// Below draws a number from 0 to n-1.
func (g *Generator) Below(n int) int { return g.random.IntN(n) }

// Shuffle draws an order.
func (g *Generator) Shuffle(variants []Variant) {
	g.random.Shuffle(len(variants), func(i, j int) {
		variants[i], variants[j] = variants[j], variants[i]
	})
}

// TakeExhausted reports whether values were left out since it was called last.
func (g *Generator) TakeExhausted() bool {
	was := g.exhausted
	g.exhausted = false
	return was
}

// deepest is how often a recursive schema is followed.
const deepest = 2

// enter reports whether a schema may be followed once more. If so, leave must be called.
func (g *Generator) enter(wanted *openapi3.Schema) bool {
	if g.active[wanted] >= deepest {
		return false
	}
	g.hold(wanted)
	return true
}

// hold notes that a schema is being followed. The work is counted from the outermost one.
func (g *Generator) hold(wanted *openapi3.Schema) {
	if g.nesting == 0 {
		g.begin()
	}
	g.active[wanted]++
	g.held += maphash.Comparable(heldSeed, wanted)
	g.nesting++
}

// begin begins to count the work for a schema.
func (g *Generator) begin() {
	g.work = 0
	g.cutBases = map[baseKey]any{}
}

// leave notes that a schema is not followed any more.
func (g *Generator) leave(wanted *openapi3.Schema) {
	g.active[wanted]--
	g.held -= maphash.Comparable(heldSeed, wanted)
	g.nesting--
}

// isRecursive reports whether a schema is being followed for a second time. What it has was tried the first
// time. Trying it again would double the tests with each level.
func (g *Generator) isRecursive() bool {
	for _, times := range g.active {
		if times > 1 {
			return true
		}
	}
	return false
}

// Fits reports whether a schema allows a value. What says so has no part in making the value.
func (g *Generator) Fits(wanted *openapi3.Schema, value any) bool {
	g.work += weight(value) * (1 + len(wanted.OneOf) + len(wanted.AnyOf))
	return g.validator.Allows(wanted, value, g.Direction)
}

// IsAbsent reports whether a property is not part of the values.
func (g *Generator) IsAbsent(property *openapi3.Schema) bool {
	return document.IsUnread(property) || g.Direction.Lacks(g.Flatten(property))
}

// baseKey is what a base depends on, if it has no identity.
type baseKey struct {
	schema *openapi3.Schema
	depth  int
	held   uint64 // 0 if it ends no recursion
}

// heldSeed is the seed of sums of schemas. They are not compared between runs.
var heldSeed = maphash.MakeSeed()

// Base returns the plainest valid value: every property, every minimum met. In a recursion it leaves out
// what is optional. The result may be changed, but not what is in it. It is asked for thousands of times in
// a large document, so what can be kept is kept.
func (g *Generator) Base(wanted *openapi3.Schema) any {
	if g.IsIdentity(wanted) {
		return g.Identity(wanted)
	}
	if g.nesting == 0 {
		g.begin()
	}
	g.work++
	key := baseKey{schema: wanted, depth: g.depth}
	inRecursion := baseKey{wanted, g.depth, g.held}
	value, isKnown := g.knownBase(key)
	if !isKnown {
		value, isKnown = g.knownCutBase(inRecursion)
	}
	if !isKnown {
		drawn := g.drawn.Load()
		cuts := g.cuts
		value = g.newBase(wanted)
		hasIdentity := g.drawn.Load() != drawn
		isWhole := g.work <= g.Enough
		switch {
		case hasIdentity:
		case g.cuts == cuts:
			g.keepBase(key, value)
		case isWhole:
			g.cutBases[inRecursion] = value
		}
	}
	switch value := value.(type) {
	case map[string]any:
		return maps.Clone(value)
	case []any:
		return slices.Clone(value)
	}
	return value
}

// knownCutBase returns a base that was made before, and ends a recursion where it would again. What it becomes
// a part of ends a recursion, too.
func (g *Generator) knownCutBase(key baseKey) (value any, isKnown bool) {
	value, isKnown = g.cutBases[key]
	if isKnown {
		g.cuts++
	}
	return value, isKnown
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

// objectBase has all members, as long as they are allowed: a service that fails for an optional one is found
// by the first request.
func (g *Generator) objectBase(wanted *openapi3.Schema, inRecursion bool) map[string]any {
	object := map[string]any{}
	for _, name := range PropertyNames(wanted) {
		property := wanted.Properties[name].Value
		isFull := uint64(len(object)) >= orMost(wanted.MaxProps)
		canLeaveOut := (inRecursion || isFull) && !isRequired(wanted, name)
		if !canLeaveOut && !g.IsAbsent(property) {
			object[name] = g.Base(property)
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
