package values

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/internal/schematest"
)

func schemaOf(t *testing.T, text string) *schema.Schema {
	t.Helper()
	return schematest.Of(t, text)
}

// parent is the place of which a judge tells what is broken: a member that must not be there is a fault of its object.
func parent(variant Variant) string {
	if variant.Keyword == "additionalProperties" {
		return strings.TrimSuffix(variant.Pointer, "/"+schema.UnknownMember)
	}
	return variant.Pointer
}

// A schema that leads to itself in many ways takes no more than some work. Each alternative is tried, and
// what lies deep is left out: every other order would spend all of the work on the first one.
func TestWorkIsBounded(t *testing.T) {
	t.Parallel()
	const alternatives = 10
	member := func(i int) string { return fmt.Sprintf("member%02d", i) }
	var branches []string
	for i := range alternatives {
		branches = append(branches, fmt.Sprintf(`{type: object, required: [%s], properties: {%[1]s: {type: string, maxLength: 9},
			next: {$ref: '#/components/schemas/Wanted'}, all: {type: array, items: {$ref: '#/components/schemas/Wanted'}}}}`, member(i)))
	}
	wanted := schemaOf(t, "{oneOf: ["+strings.Join(branches, ", ")+"]}")
	g := New(Settings{})
	all := g.Variants(wanted)
	if !g.TakeExhausted() {
		t.Error("nothing was left out")
	}
	for i := range alternatives {
		isTried := func(v Variant) bool { return v.Pointer == "/"+member(i) && v.Keyword == "required" && !v.Valid }
		if !slices.ContainsFunc(all, isTried) {
			t.Errorf("nothing is without %s", member(i))
		}
	}
	// Both where there is no bound and where there is one, whichever level is being made.
	for _, bound := range []int{math.MaxInt, enough} {
		endless := New(Settings{Enough: bound})
		time.AfterFunc(20*time.Millisecond, endless.Stop)
		endless.Variants(wanted)
	}
	if right := len(g.asMeant(wanted, slices.Clone(all))); right != len(all) {
		t.Errorf("%d of %d values are not what they are meant to be", len(all)-right, len(all))
	}
}

// Identities are drawn once, also by generators of other tests, and their schema allows them. They are found again in what
// has them.
func TestIdentities(t *testing.T) {
	t.Parallel()
	one := New(Settings{})
	other := one.ForTest("a test")
	seen := map[string]bool{}
	for _, text := range []string{
		`{"type":"integer"}`, `{"type":"string"}`, `{"type":"string","format":"uuid"}`, `{"type":"string","maxLength":4}`,
		// What may be left out, as pydantic writes it.
		`{"anyOf":[{"type":"string","format":"uuid"},{"enum":[null],"nullable":true}]}`,
		`{"anyOf":[{"type":"integer"},{"enum":[null],"nullable":true}]}`,
	} {
		of := schemaOf(t, text)
		one.MarkIdentity(of)
		for _, g := range []*Generator{one, other, one} {
			value := g.Identity(of)
			identity := encoded(value)
			if seen[identity] || !g.Fits(of, value) {
				t.Errorf("%s: %s is drawn twice, or not allowed", text, identity)
			}
			if found := g.Identities(of, value); !slices.Equal(found, []any{value}) {
				t.Errorf("%s: in %s are the identities %v", text, identity, found)
			}
			seen[identity] = true
		}
	}
}

// The limits of integers are the first and the last one that a schema allows.
func TestLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text      string
		low, high int64
	}{
		{`{"type":"integer"}`, math.MinInt64, math.MaxInt64},
		{`{"type":"integer","format":"int32"}`, math.MinInt32, math.MaxInt32},
		{`{"type":"integer","minimum":1,"maximum":9}`, 1, 9},
		{`{"type":"integer","minimum":1,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":true}`, 2, 8},
		{`{"type":"integer","minimum":1,"maximum":9,"exclusiveMaximum":true}`, 1, 8},
		{`{"type":"integer","minimum":1,"exclusiveMinimum":true,"maximum":9}`, 2, 9},
		{`{"type":"integer","minimum":0.5,"exclusiveMinimum":true,"maximum":9.5,"exclusiveMaximum":true}`, 1, 9},
		{`{"type":"integer","minimum":1,"maximum":9223372036854775807}`, 1, math.MaxInt64},
		{`{"type":"integer","format":"int32","maximum":3000000000}`, math.MinInt32, math.MaxInt32},
		{`{"type":"integer","minimum":-1e30,"maximum":1e30}`, math.MinInt64, math.MaxInt64},
		{`{"type":"integer","minimum":1e30}`, math.MaxInt64, math.MaxInt64},
	} {
		if low, high := Limits(schemaOf(t, c.text)); low != c.low || high != c.high {
			t.Errorf("%s has the limits %d and %d, want %d and %d", c.text, low, high, c.low, c.high)
		}
	}
}

// Of two bounds that are equal, the exclusive one is stricter.
func TestLimitsOfEqualBounds(t *testing.T) {
	t.Parallel()
	one, nine := big.NewRat(1, 1), big.NewRat(9, 1)
	wanted := &schema.Schema{Minimum: one, ExclusiveMinimum: big.NewRat(1, 1), Maximum: nine, ExclusiveMaximum: big.NewRat(9, 1)}
	if low, high := Limits(wanted); low != 2 || high != 8 {
		t.Errorf("the limits are %d and %d, want 2 and 8", low, high)
	}
}

// A spoilt object has one fault, where it says, and the object that it was made of has none.
func TestSpoil(t *testing.T) {
	t.Parallel()
	wanted := schemaOf(t, `{"type":"object","required":["items"],"properties":{
		"items":{"type":"array","minItems":2,"items":{"type":"object","required":["id"],"properties":{"id":{"type":"integer"},"kind":{"type":"string","enum":["a","b"]}}}},
		"note":{"type":"string","nullable":true},"href":{"type":"string","readOnly":true}}}`)
	g := New(Settings{})
	seen := map[string]bool{}
	for seed := range uint64(400) {
		draws := rand.NewPCG(seed, 0)
		object := jsonvalue.Object(g.Draw(draws, wanted))
		before := encoded(object)
		spoilt, pointer, keyword := g.Spoil(draws, wanted, object)
		if after := encoded(object); after != before || !g.Fits(wanted, object) {
			t.Fatalf("%s has become %s", before, after)
		}
		if keyword == "" {
			continue
		}
		seen[Place(pointer)+" "+keyword] = true
		faults := schema.Faults("", wanted, spoilt)
		if len(faults) != 1 || strings.TrimSpace(faults[0].Where) != pointer || faults[0].Keyword != keyword {
			t.Fatalf("%s should break %s at %s: %v", encoded(spoilt), keyword, pointer, faults)
		}
	}
	for _, want := range []string{"/items required", "/items type", "/items/*/id required", "/items/*/id type", "/items/*/kind enum", "/note type"} {
		if !seen[want] {
			t.Errorf("no object breaks %s, only %v", want, seen)
		}
	}
}
