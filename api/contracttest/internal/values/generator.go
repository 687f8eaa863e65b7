// Package values makes values for requests from schemas.
//
// There are five kinds of values, and one file for each:
//
//   - base.go makes the plainest value that a schema allows: every property, every minimum met.
//   - variants.go makes values on both sides of the edge of each keyword: [Generator.Variants]. demands.go
//     lists the keywords, and candidates.go has the values to try, which does not know which side they
//     are on: a judge says that.
//   - vary.go makes values that differ from each other, so that what a service stores can be told apart,
//     and identity.go identities that no other test uses.
//   - random.go draws values from random numbers.
//   - robustness.go has texts and bodies that services have crashed on.
//
// parameters.go writes such values into parameters, where all is text. shapes.go looks through allOf, oneOf and
// anyOf, and choices.go makes their variants: the other files see schemas that are not composed. hard.go looks for values
// where several members or items depend on each other, as with if, contains and not.
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
// on something: a line in robustness.go. Of a new format: an entry in schema.Formats, with texts of both kinds.
package values

import (
	"hash/fnv"
	"hash/maphash"
	"io"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Settings say which values are made.
type Settings struct {
	FirstID int64             // where the identities begin; 0: 1,000,000
	Rules   scenario.Rules    // what a service promises beyond OpenAPI
	Few     bool              // makes few texts for each place
	Values  map[string]string // given ones, by the name of a parameter or a member
	Enough  int               // how many values are made for one schema; 0: enough
	Seed    uint64            // of all that is drawn
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
	random  *rand.Rand
	drawn   *atomic.Int64 // the last number of an identity
	stopped *atomic.Bool
	turn    int64 // the number of the varied body

	// The schemas that are being followed, one within another. A schema that is followed twice is in a recursion.
	active  map[*schema.Schema]int // how often each is followed
	held    uint64                 // a sum of them
	nesting int                    // how many there are
	levels  int                    // how many of them variants may follow
	depth   int                    // how many arrays are being made, one within another

	// The work on the outermost schema.
	work      int             // how many values were made and looked at
	cutBases  map[baseKey]any // bases that end a recursion
	cuts      int             // how many bases had to end a recursion, ever
	exhausted bool            // there was too much work
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
		Settings: settings,
		Shapes:   newShapes(),
		drawn:    new(atomic.Int64),
		stopped:  new(atomic.Bool),
	}
	g.drawn.Store(settings.FirstID)
	g.restart(0)
	return g
}

// NumberOf is a number for an id, which is the same in every run. Draws depend on it, so that a test draws the same values
// alone and among all others.
func NumberOf(id string) uint64 {
	hash := fnv.New64a()
	_, _ = io.WriteString(hash, id)
	return hash.Sum64()
}

// ForTest returns a generator whose draws depend on the seed and an id only, that of the promise of a test, not on what
// other tests have drawn. They have the same identities, of which none is drawn twice.
func (g *Generator) ForTest(id string) *Generator {
	other := &Generator{
		Settings: g.Settings,
		Shapes:   g.Shapes,
		drawn:    g.drawn,
		stopped:  g.stopped,
	}
	other.restart(NumberOf(id))
	return other
}

// restart begins the draws of a test.
func (g *Generator) restart(number uint64) {
	g.random = rand.New(rand.NewPCG(g.Seed, number))
	g.active = map[*schema.Schema]int{}
	g.turn = int64(number % mostFirst)
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
func (g *Generator) enter(wanted *schema.Schema) bool {
	if g.active[wanted] >= deepest {
		return false
	}
	g.hold(wanted)
	return true
}

// hold notes that a schema is being followed.
func (g *Generator) hold(wanted *schema.Schema) {
	g.begin()
	g.active[wanted]++
	g.held += maphash.Comparable(heldSeed, wanted)
	g.nesting++
}

// begin begins to count the work anew if no schema is being followed: it is counted from the outermost one.
func (g *Generator) begin() {
	if g.nesting == 0 {
		g.work = 0
		g.cutBases = map[baseKey]any{}
	}
}

// leave notes that a schema is not followed any more.
func (g *Generator) leave(wanted *schema.Schema) {
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

// Fits reports whether a schema allows a value. What says so has no part in making the value. To look at a value is work,
// the more so the larger the value is, and the more branches may be tried.
func (g *Generator) Fits(wanted *schema.Schema, value any) bool {
	g.work += weight(value) * (1 + len(wanted.OneOf) + len(wanted.AnyOf))
	return schema.Allows(wanted, value)
}

// ShapeOf is the schema of the members that a value has: that of the first branch that allows it, or of the whole.
func (g *Generator) ShapeOf(wanted *schema.Schema, value any) *schema.Schema {
	flat := g.Flatten(wanted)
	for _, branch := range g.Branches(flat) {
		if g.Fits(branch, value) {
			return g.Flatten(branch)
		}
	}
	return flat
}

// FirstFit is the first of some values that a schema allows, or false if it allows none.
func (g *Generator) FirstFit(wanted *schema.Schema, values ...any) (value any, ok bool) {
	i := slices.IndexFunc(values, func(value any) bool { return g.Fits(wanted, value) })
	if i < 0 {
		return nil, false
	}
	return values[i], true
}

// IsAbsent reports whether values have no such member: its schema is not in the document, or it is not sent.
func (g *Generator) IsAbsent(property *schema.Schema) bool {
	return schema.IsUnread(property) || schema.IsForbidden(property)
}
