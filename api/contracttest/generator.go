package contracttest

import (
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/judge"
	sch "github.com/plantstore/plantstore/api/contracttest/internal/schema"

	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/getkin/kin-openapi/openapi3"
)

// generator makes values for requests from schemas. Values for an identity are
// drawn fresh, so that no case uses what another one creates.
type generator struct {
	identities map[*openapi3.Schema]bool
	first      int64
	next       *atomic.Int64                         // the last number drawn
	plain      bool                                  // few texts for each string
	response   bool                                  // makes values for responses: with readOnly members, without writeOnly ones
	flattened  map[*openapi3.Schema]*openapi3.Schema // see flatten
	active     map[*openapi3.Schema]int              // the schemas that are being worked on: recursion
	bases      map[baseKey]any                       // see base
	cuts       int                                   // how often a base had to end a recursion
	rules      Rules
	random     *rand.Rand
	depth      int // of the array that is being made
	nesting    int // of schemas that are being worked on
	work       int // values made since nesting was 0, of which enough is the limit
	enough     int
	exhausted  bool // a schema has led to more than enough
}

// enough is how many values are made for one schema. Only schemas that refer to each
// other in many ways need more; then values are left out.
const enough = 20_000

func newGenerator(firstID int64, rules Rules) *generator {
	g := &generator{
		identities: map[*openapi3.Schema]bool{}, first: firstID, next: new(atomic.Int64), rules: rules, enough: enough, random: rand.New(rand.NewPCG(1, 0)),
		flattened: map[*openapi3.Schema]*openapi3.Schema{}, active: map[*openapi3.Schema]int{}, bases: map[baseKey]any{},
	}
	g.next.Store(firstID)
	return g
}

// texts are strings that services have failed on. The first few are tried
// everywhere, the others where the document is small.
var texts = []string{
	"Ficus", "", "0", "蘭 🌵", `"\/<&>'; --`, "\x00", "a\x00b", " ", "\t\r\n", `"\/`, "<&>", "'; --", "%_", "null",
	"Épinette à feuilles d'if", "E\u0301", "蘭", "🌵", "\u202eRTL", "\u2028\ufeff", "\U0010ffff", strings.Repeat("x", 5000),
}

const fewTexts = 5

// judge.UnknownMember is the name of a member that no schema has. A request has one of oddNames in
// its place, which services have failed on.

var oddNames = []string{judge.UnknownMember, "", "__proto__", "蘭 🌵", `a"b\c`, "a/b~c", "\x00", "$ref", "toString", strings.Repeat("n", 300)}

// deepest is how often a recursive schema is followed.
const deepest = 2

// enter reports whether a schema may be followed once more. If so, leave must
// be called.
func (g *generator) enter(s *openapi3.Schema) bool {
	if g.active[s] >= deepest {
		return false
	}
	g.hold(s)
	return true
}

func (g *generator) hold(s *openapi3.Schema) {
	if g.nesting == 0 {
		g.work = 0
	}
	g.active[s]++
	g.nesting++
}

func (g *generator) leave(s *openapi3.Schema) {
	g.active[s]--
	g.nesting--
}

// recursive reports whether a schema is being followed for a second time. What
// it has was tried the first time.
func (g *generator) recursive() bool {
	for _, times := range g.active {
		if times > 1 {
			return true
		}
	}
	return false
}

// baseKey is what a base depends on, if it has no identity and ends no recursion.
type baseKey struct {
	schema *openapi3.Schema
	depth  int
}

// base returns the plainest valid value: every property, every minimum met. In a
// recursion it leaves out what is optional. The result may be changed, but not what is in it.
func (g *generator) base(s *openapi3.Schema) any {
	if g.identities[s] {
		return g.identity(s)
	}
	key := baseKey{s, g.depth}
	value, known := g.bases[key]
	if !known {
		drawn, cuts := g.next.Load(), g.cuts
		if value = g.newBase(s); g.next.Load() == drawn && g.cuts == cuts {
			g.bases[key] = value
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

func (g *generator) newBase(s *openapi3.Schema) any {
	recursion := g.active[s] >= deepest
	if g.work++; g.active[s] > 2*deepest || g.work > g.enough { // of a required recursion no value is finite
		g.exhausted = g.exhausted || g.work > g.enough
		g.cuts++
		return nil
	}
	if recursion {
		g.cuts++
	}
	g.hold(s)
	defer g.leave(s)
	original := s
	s = g.flatten(s)
	if branches := g.branches(s); len(branches) > 0 {
		for _, branch := range branches {
			if v := g.base(branch); g.valid(original, v) {
				return v
			}
		}
		return g.base(branches[0])
	}
	v := g.simpleBase(s, recursion)
	if s.Not != nil && !g.valid(original, v) {
		others := []any{"another", int64(2), true, map[string]any{}, []any{}, json.Number("1.5")}
		return cmp.Or(firstWhere(others, func(other any) bool { return g.valid(original, other) }), v)
	}
	return v
}

func (g *generator) simpleBase(s *openapi3.Schema, recursion bool) any {
	switch {
	case len(s.Enum) > 0:
		return jsonvalue.Normal(s.Enum[0])
	case sch.IsObject(s):
		object := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			property := s.Properties[name].Value
			full := s.MaxProps != nil && uint64(len(object)) >= *s.MaxProps
			optional := !slices.Contains(s.Required, name)
			if !g.absent(property) && !(optional && (recursion || full)) {
				object[name] = g.base(property)
			}
		}
		return g.grown(s, object, s.MinProps)
	case s.Type.Is("array"):
		least := s.MinItems
		if least == 0 && !recursion && (s.MaxItems == nil || *s.MaxItems > 0) {
			least = 1
		}
		return g.many(s, least)
	case s.Type.Is("integer"), s.Type.Is("number"):
		return g.plainNumber(s)
	case s.Type.Is("boolean"):
		return true
	default:
		return g.text(s)
	}
}

// absent reports whether a property is not part of a request, or of a response.
func (g *generator) absent(property *openapi3.Schema) bool {
	p := g.flatten(property)
	return p.ReadOnly && !g.response || p.WriteOnly && g.response
}

// grown adds members to an object until it has n of them.
func (g *generator) grown(s *openapi3.Schema, object map[string]any, n uint64) map[string]any {
	for i := len(object); uint64(i) < min(n, most+1); i++ {
		object[fmt.Sprint("member", i)] = g.additional(s)
	}
	return object
}

// additional returns a value for a member that no property names.
func (g *generator) additional(s *openapi3.Schema) any {
	if s.AdditionalProperties.Schema != nil {
		return g.base(s.AdditionalProperties.Schema.Value)
	}
	return "more"
}

// text returns the plainest string.
func (g *generator) text(s *openapi3.Schema) string {
	fits := func(text string) bool { return g.valid(s, text) }
	if s.Pattern != "" || !sch.IsKnownFormat(s.Format) {
		if text, ok := s.Example.(string); ok && fits(text) {
			return text
		}
		if text, ok := g.matchPattern(s); ok && s.Pattern != "" {
			return text
		}
	}
	if text := firstWhere(sch.Formats[s.Format].Valid, fits); text != "" {
		return text
	}
	return padded("Ficus", s)
}

// identity returns a value that no other case has.
func (g *generator) identity(s *openapi3.Schema) any {
	n := g.next.Add(1)
	if s.Type.Is("integer") {
		return n
	}
	if s.Format == "uuid" {
		return fmt.Sprintf("00000000-0000-4000-8000-%012x", n)
	}
	return padded(fmt.Sprintf("id%d", n), s)
}

// many returns an array of n items that begins with the given ones, different ones where they must be.
func (g *generator) many(s *openapi3.Schema, n uint64, begin ...any) []any {
	g.depth++
	defer func() { g.depth-- }()
	n = min(n, uint64(most>>(3*min(g.depth-1, 3)))+1) // arrays in arrays are small
	array, item := append([]any{}, begin...), sch.Of(s.Items)
	for uint64(len(array)) < n {
		if s.UniqueItems && len(array) > 0 {
			array = append(array, g.another(item, array))
		} else {
			array = append(array, g.base(item))
		}
	}
	return array
}

// another returns a valid value that is not among others, if there is one.
func (g *generator) another(s *openapi3.Schema, others []any) any {
	taken := map[string]bool{}
	for _, v := range others {
		taken[string(jsonvalue.Encode(v))] = true
	}
	flat := g.flatten(s)
	for i := range int64(len(others) + 1) {
		var v any
		switch low, high := limits(flat); {
		case len(flat.Enum) > int(i):
			v = jsonvalue.Normal(flat.Enum[i])
		case flat.Type.Is("integer") && low+i+1 <= high && flat.MultipleOf == nil:
			v = max(low, 0) + i + 1
		case flat.Type.Is("string") && flat.Pattern == "" && sch.Formats[flat.Format].Check == nil:
			v = padded(fmt.Sprintf("%dFicus", i), flat)
		default:
			v = g.base(s)
		}
		if !taken[string(jsonvalue.Encode(v))] && g.valid(s, v) {
			return v
		}
	}
	return g.base(s)
}

// fresh returns a text that no other test uses, or at least a value that is not among others.
func (g *generator) fresh(s *openapi3.Schema, others []any) any {
	for _, form := range []string{"value%d", "value%d@plants.example", "https://plants.example/value%d", "00000000-0000-4000-8000-%012d"} {
		if text := fmt.Sprintf(form, g.next.Add(1)); g.valid(s, text) {
			return text
		}
	}
	return g.another(s, others)
}

// valid reports whether a schema allows a value in a request, by kin-openapi,
// which has no part in making it.
func (g *generator) valid(s *openapi3.Schema, value any) bool {
	return sch.Allows(s, value, g.direction())
}

func (g *generator) direction() sch.Direction { return sch.Direction(g.response) }

// with returns the base of an object with one member set.
func (g *generator) with(s *openapi3.Schema, name string, value any) map[string]any {
	object, ok := g.simpleBase(s, false).(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	object[name] = value
	return object
}
