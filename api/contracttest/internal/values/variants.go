package values

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Variant is a value made from a schema that obeys, or breaks, one keyword of
// the schema at one place.
type Variant struct {
	Pointer string // of the place, a JSON Pointer
	Keyword string
	Value   any // the whole value; its numbers are int64 or json.Number
	Valid   bool
	// Demand means that the variant has no value: it lists a promise, whether or not a value is known for it.
	Demand bool
}

// Duty is what a service must do with the value.
func (v Variant) Duty() scenario.Duty {
	if v.Valid {
		return scenario.MustAccept
	}
	return scenario.MustRefuse
}

// isBroken reports whether the value must be refused.
func (v Variant) isBroken() bool { return !v.Valid && !v.Demand }

// below returns the variant as one of a whole value, which has its value at a place.
func (v Variant) below(place string, whole any) Variant {
	v.Pointer = place + v.Pointer
	v.Value = whole
	return v
}

// index finds an index of an item among the tokens of a pointer.
var index = regexp.MustCompile(`^[0-9]+$`)

// Place writes a pointer as promises do: an index is *, as in /rows/*/* for /rows/0/1.
func Place(pointer string) string {
	tokens := strings.Split(pointer, "/")
	for i, token := range tokens {
		tokens[i] = index.ReplaceAllString(token, "*")
	}
	return strings.Join(tokens, "/")
}

// demands are the promises of both sides of some keywords: to accept and to refuse.
func demands(keywords ...string) (all []Variant) {
	for _, keyword := range keywords {
		all = append(all,
			Variant{Keyword: keyword, Valid: true, Demand: true},
			Variant{Keyword: keyword, Demand: true})
	}
	return all
}

// Obeying returns valid values, each at the edge of some keyword.
func (g *Generator) Obeying(wanted *schema.Schema) []Variant {
	return obeying(g.Variants(wanted))
}

// obeying leaves out what is not valid.
func obeying(all []Variant) []Variant {
	return slices.DeleteFunc(all, func(v Variant) bool { return !v.Valid || v.Demand })
}

// triedLevels are how many schemas deep variants are made: as deep as it goes, or less deep where that is too much work.
var triedLevels = []int{math.MaxInt, 6, 5, 4, 3, 2, 1}

// Variants returns values on both sides of the edge of each keyword. It demands more than it knows values
// for. A keyword that no value could be found for is demanded all the same, and stays not tested in the
// report. Where all values are too much work, those of the deepest schemas are left out.
//
// The whole schema has the last word. A part of a value may be right and the whole not: an array of different objects, of
// which only one is known.
func (g *Generator) Variants(wanted *schema.Schema) (all []Variant) {
	for _, g.levels = range triedLevels {
		all = g.variants(wanted)
		isTooMuch := g.work > g.Enough
		g.exhausted = g.exhausted || isTooMuch
		if !isTooMuch || g.stopped.Load() {
			break
		}
	}
	return g.asMeant(wanted, all)
}

// asMeant leaves out the variants of which a schema says otherwise than they are meant to be.
func (g *Generator) asMeant(wanted *schema.Schema, all []Variant) []Variant {
	return slices.DeleteFunc(all, func(v Variant) bool {
		return !v.Demand && g.Fits(wanted, v.Value) != v.Valid
	})
}

// variants is Variants of a schema that others may have led to. Those of a schema that is not composed may not be what they
// are meant to be.
func (g *Generator) variants(wanted *schema.Schema) (all []Variant) {
	isTooDeep := g.nesting >= g.levels
	isTooMuch := g.stopped.Load() || g.nesting > 0 && g.work > g.Enough
	if isTooDeep || isTooMuch || !g.enter(wanted) {
		return nil
	}
	defer g.leave(wanted)
	flat := g.Flatten(wanted)
	if branches := g.Branches(flat); len(branches) > 0 {
		all = g.choiceVariants(wanted, compositionOf(flat), branches)
	} else {
		all = g.simpleVariants(flat)
	}
	isMerged := flat == wanted // then its allOf is that of the schema that it was merged from
	if len(wanted.AllOf) > 0 && !isMerged {
		all = append(all, g.firstBreaking(wanted, "allOf", all)...)
		all = append(all, Variant{Keyword: "allOf", Value: g.Base(wanted), Valid: true})
	}
	if flat.Not != nil {
		all = append(all, g.notVariants(wanted, flat)...)
	}
	// What is merged may not be what it is meant to be. After too much work all is thrown away.
	isNeeded := g.work <= g.Enough
	if isNeeded && schema.IsComposed(wanted) {
		all = g.asMeant(wanted, all)
	}
	return g.fewer(all)
}

// typedValue is a value with the types that it has.
type typedValue struct {
	value any
	types []string
}

// ofEachType are values of all types, each as plain as it can be, so that nothing but the type is wrong.
var ofEachType = []typedValue{
	{value: []any{}, types: []string{"array"}},
	{value: true, types: []string{"boolean"}},
	{value: int64(1), types: []string{"integer", "number"}},
	{value: json.Number("1.5"), types: []string{"number"}},
	{value: map[string]any{}, types: []string{"object"}},
	{value: "1", types: []string{"string"}},
}

// isOf reports whether a schema allows a type of the value.
func (v typedValue) isOf(wanted *schema.Schema) bool {
	allowsAny := !schema.HasType(wanted) && !schema.IsNull(wanted)
	allows := func(name string) bool { return schema.AllowsType(wanted, name) }
	return allowsAny || slices.ContainsFunc(v.types, allows)
}

// fewer keeps one variant of each keyword at each place, where a schema is followed for a second time. The
// first time all were tried, and what is deeper multiplies.
func (g *Generator) fewer(all []Variant) []Variant {
	if !g.isRecursive() {
		return all
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(v Variant) bool {
		key := fmt.Sprint(v.Pointer, v.Keyword, v.Valid, v.Demand)
		was := seen[key]
		seen[key] = true
		return was
	})
}

// looseIntegers are numbers that are no integers to a service with strict JSON.
var looseIntegers = []string{"1.0", "1e2", "1e400", strings.Repeat("9", 400)}

// simpleVariants returns the variants of a schema that is not composed.
func (g *Generator) simpleVariants(wanted *schema.Schema) []Variant {
	return slices.Concat(
		g.plainVariant(wanted),
		g.otherTypes(wanted),
		g.nullVariant(wanted),
		g.relations(wanted),
		simpleDemands(wanted),
		g.chosen(wanted),
		g.innerVariants(wanted),
	)
}

// plainVariant is the plainest value, unless it is a guess: then nothing is known of it.
func (g *Generator) plainVariant(wanted *schema.Schema) []Variant {
	if isGuessed(wanted) {
		return nil
	}
	plain := Variant{Keyword: "type", Valid: true}
	if g.IsIdentity(wanted) {
		plain.Value = g.Identity(wanted)
	} else {
		plain.Value = g.simpleBase(wanted, g.active[wanted] > 1)
	}
	return []Variant{plain}
}

// otherTypes are values of types that a schema does not have.
func (g *Generator) otherTypes(wanted *schema.Schema) (all []Variant) {
	for _, typed := range ofEachType {
		if !typed.isOf(wanted) {
			all = append(all, Variant{Keyword: "type", Value: typed.value})
		}
	}
	if schema.TypeOf(wanted) == "integer" && g.Rules.StrictJSON {
		for _, text := range looseIntegers {
			all = append(all, Variant{Keyword: "type", Value: json.Number(text)})
		}
	}
	return all
}

// nullVariant is null. No client means null without a type. Libraries read an enumeration without null that is
// nullable in different ways: [Generator.Variants] leaves out null then, because the judge does not allow it.
func (g *Generator) nullVariant(wanted *schema.Schema) []Variant {
	if !schema.HasType(wanted) || schema.IsNull(wanted) {
		return nil
	}
	return []Variant{{Keyword: "nullable", Valid: schema.AllowsType(wanted, "null")}}
}

// simpleDemands are what the keywords of a schema promise. That an object may have more members is promised
// without a keyword.
func simpleDemands(wanted *schema.Schema) []Variant {
	all := demands(demandedKeywords(wanted)...)
	if schema.TypeOf(wanted) == "object" {
		all = append(all, Variant{Keyword: "additionalProperties", Valid: true, Demand: true})
	}
	return all
}

// isGuessed reports whether no valid text of a schema is known: its format is not, and it has no example.
func isGuessed(wanted *schema.Schema) bool {
	isText := schema.TypeOf(wanted) == "string" && len(schema.ValuesOf(wanted)) == 0
	return isText && schema.Example(wanted) == nil && !schema.IsKnownFormat(schema.FormatOf(wanted))
}

// chosen are the candidates that show something: one on each side of the edge of a keyword (see sideOf). A number or text is
// not tried for its type if it was tried for another keyword.
func (g *Generator) chosen(wanted *schema.Schema) (all []Variant) {
	isGuess := isGuessed(wanted)
	seen := map[string]bool{}
	for _, c := range g.candidates(wanted) {
		isAllowed, isShown := g.verdict(wanted, c.keyword, c.value)
		side := sideOf(c, isAllowed)
		isUseful := isShown && !(isAllowed && isGuess)
		if !isUseful || seen[side] {
			continue
		}
		all = append(all, Variant{Keyword: c.keyword, Value: c.value, Valid: isAllowed})
		seen[side] = true
		seen[encoded(c.value)] = true // the side for its type
	}
	return all
}

// sideOf is the side of the edge of a keyword that a candidate is on. Of most keywords one value on each side
// is enough; of a type, a format or an enumeration each value is a side of its own.
func sideOf(c candidate, isAllowed bool) string {
	switch c.keyword {
	case "type":
		return encoded(c.value)
	case "enum", "format":
		return fmt.Sprint(c.keyword, isAllowed, encoded(c.value))
	}
	return fmt.Sprint(c.keyword, isAllowed)
}

// verdict reports whether a schema allows a value, and whether the value shows that a keyword is obeyed or
// that it, and no other one, is broken. A value that breaks two keywords shows nothing: the service may
// have looked at one of them only.
func (g *Generator) verdict(wanted *schema.Schema, keyword string, value any) (isAllowed, isShown bool) {
	faults := schema.Faults("", wanted, value)
	isOther := func(fault scenario.Fault) bool {
		return fault.Where != "" || !breaksWith(wanted, keyword, fault.Keyword)
	}
	// The document does not say that an integer without a format has 64 bits.
	isUnsaid := schema.FormatOf(wanted) == "" && len(faults) == 1 && faults[0].Keyword == "format"
	return len(faults) == 0, !isUnsaid && !slices.ContainsFunc(faults, isOther)
}

// breaksWith reports whether what breaks a keyword may break another one, too: an exclusive bound is
// broken with the bound, and bounds of integers with their format.
func breaksWith(wanted *schema.Schema, keyword, other string) bool {
	if other == keyword || strings.EqualFold(other, "exclusive"+keyword) {
		return true
	}
	isBound := schema.TypeOf(wanted) == "integer" && keyword != "type"
	return isBound && slices.Contains([]string{other, keyword}, "format")
}
