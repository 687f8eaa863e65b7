package values

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// Candidates are made generously and then sifted: it is easier to say which values are near an edge than on
// which side of it they are, above all where several keywords meet.

// candidate is a value that may show that a keyword is obeyed, or broken.
type candidate struct {
	keyword string
	value   any
}

// candidates are values at the edge of each keyword of a schema that is not composed, and beside it.
func (g *Generator) candidates(wanted *schema.Schema) []candidate {
	switch {
	case schema.IsNull(wanted):
		return nil // a value of another type is all that can be wrong
	case len(schema.ValuesOf(wanted)) > 0:
		return enumCandidates(wanted)
	case schema.IsNumber(wanted):
		return numberCandidates(wanted)
	case schema.TypeOf(wanted) == "string":
		return g.textCandidates(wanted)
	case schema.TypeOf(wanted) == "array":
		return g.arrayCandidates(wanted)
	case schema.IsObject(wanted):
		return g.objectCandidates(wanted)
	}
	return nil
}

// enumCandidates are the values of an enumeration, and some beside them.
func enumCandidates(wanted *schema.Schema) (all []candidate) {
	for i, value := range schema.ValuesOf(wanted) {
		all = append(all, candidate{"enum", jsonvalue.Normal(value)})
		if schema.IsNumber(wanted) {
			all = append(all, candidate{"enum", int64(i + 1)})
		}
	}
	return append(all,
		candidate{"enum", int64(0)},
		candidate{"enum", fmt.Sprint(schema.ValuesOf(wanted)[0], "?")},
		// Some services take it for an absent parameter.
		candidate{"enum", ""},
	)
}

// arrayCandidates are arrays at the bounds of their length, with equal items and with different ones. An
// array that may be empty is tried empty, too.
func (g *Generator) arrayCandidates(wanted *schema.Schema) []candidate {
	least, most := OrNone(wanted.MinItems), orMost(wanted.MaxItems)
	all := []candidate{
		{"minItems", g.Many(wanted, least)},
		{"minItems", g.Many(wanted, max(least, 1)-1)},
	}
	if wanted.MaxItems != nil {
		all = append(all,
			candidate{"maxItems", g.Many(wanted, most)},
			candidate{"maxItems", g.Many(wanted, most+1)})
	}
	if wanted.UniqueItems {
		all = append(all,
			candidate{"uniqueItems", g.Many(wanted, max(least, min(2, most)))},
			candidate{"uniqueItems", g.withEqualItems(wanted)})
	}
	return all
}

// withEqualItems returns an array whose first and last items are equal. It has two items at least, unless it
// must be shorter.
func (g *Generator) withEqualItems(wanted *schema.Schema) []any {
	array := g.Many(wanted, max(OrNone(wanted.MinItems), min(2, orMost(wanted.MaxItems))))
	if len(array) > 0 {
		array[len(array)-1] = array[0]
	}
	return array
}

// objectCandidates are objects at the bounds of their size, and one with a member that no property names.
func (g *Generator) objectCandidates(wanted *schema.Schema) (all []candidate) {
	if OrNone(wanted.MinProperties) > 0 {
		all = append(all,
			candidate{"minProperties", g.objectBase(wanted, false)},
			candidate{"minProperties", g.smallObject(wanted)})
	}
	if wanted.MaxProperties != nil {
		all = append(all,
			candidate{"maxProperties", g.objectBase(wanted, false)},
			candidate{"maxProperties", g.grown(wanted, g.objectBase(wanted, false), *wanted.MaxProperties+1)})
	}
	return append(all, candidate{"additionalProperties", g.withMore(wanted)})
}

// smallObject returns an object with one member less than it must have, unless it must have all of them.
func (g *Generator) smallObject(wanted *schema.Schema) map[string]any {
	small := g.objectBase(wanted, true)
	for _, name := range slices.Sorted(maps.Keys(small)) {
		isTooLarge := len(small) >= OrNone(wanted.MinProperties)
		if isTooLarge && !isRequired(wanted, name) {
			delete(small, name)
		}
	}
	return small
}

// withMore returns an object that uses what a schema says of members that no property names.
func (g *Generator) withMore(wanted *schema.Schema) map[string]any {
	switch {
	case schema.IsClosed(wanted):
		return g.objectBase(wanted, false)
	case schema.More(wanted) != nil:
		return g.with(wanted, schema.UnknownMember, g.additional(wanted))
	}
	return g.with(wanted, schema.UnknownMember, map[string]any{"deep": []any{nil}})
}

// textCandidates are texts of the formats, patterns and lengths of a schema, and beside them.
func (g *Generator) textCandidates(wanted *schema.Schema) (all []candidate) {
	plain := g.plainText(wanted)
	if schema.FormatOf(wanted) != "" {
		format := schema.Formats[schema.FormatOf(wanted)]
		all = append(all, candidatesOf("format", format.Valid...)...)
		all = append(all, candidatesOf("format", format.Invalid...)...)
		// Of an unknown format the plain text is the example.
		all = append(all, candidate{"format", plain})
	}
	if schema.PatternOf(wanted) != "" {
		all = append(all, candidatesOf("pattern", plain)...)
		all = append(all, patternCandidates(wanted)...)
	}
	if isFree(wanted) {
		all = append(all, candidatesOf("type", g.someRobustnessStrings()...)...)
	}
	return append(all, g.lengthCandidates(wanted, plain)...)
}

// candidatesOf are texts that may show one keyword.
func candidatesOf(keyword string, texts ...string) (all []candidate) {
	for _, text := range texts {
		all = append(all, candidate{keyword, text})
	}
	return all
}

// patternTexts are texts that a pattern may match or not.
var patternTexts = []string{"", "~", "a", "1", "ABC def", `"`, "\n", "\x00"}

// patternCandidates are texts that a pattern may match or not, as they are and as long as they must be.
func patternCandidates(wanted *schema.Schema) (all []candidate) {
	for _, text := range patternTexts {
		all = append(all, candidatesOf("pattern", text, padded(text, wanted))...)
	}
	return all
}

// isFree reports whether a text may consist of any characters. Only such a text is tried with what services have failed on:
// of others it would break the format or the pattern.
func isFree(wanted *schema.Schema) bool {
	format := schema.Formats[schema.FormatOf(wanted)]
	isKnown := schema.IsKnownFormat(schema.FormatOf(wanted))
	return schema.PatternOf(wanted) == "" && isKnown && len(format.Valid) == 0
}

// someRobustnessStrings are few of them where a document is large, and one that is drawn.
func (g *Generator) someRobustnessStrings() []string {
	if !g.Few && !g.isRecursive() {
		return robustnessStrings
	}
	drawn := robustnessStrings[fewStrings+g.Below(len(robustnessStrings)-fewStrings)]
	return append(slices.Clip(robustnessStrings[:fewStrings]), drawn)
}

// lengthCandidates are texts at the bounds of their length. Longer ones than are made are left out.
func (g *Generator) lengthCandidates(wanted *schema.Schema, plain string) (all []candidate) {
	if least := OrNone(wanted.MinLength); least > 0 && least <= longest {
		all = g.aroundLength(wanted, "minLength", plain, least, least-1)
	}
	if most := orMost(wanted.MaxLength); wanted.MaxLength != nil && most <= longest {
		all = append(all, g.aroundLength(wanted, "maxLength", plain, most, most+1)...)
	}
	return all
}

// aroundLength are texts of a length that is still allowed, and of one beyond it. A length is in characters, so
// one of the texts has more bytes.
func (g *Generator) aroundLength(wanted *schema.Schema, keyword, plain string, edge, beyond int) (all []candidate) {
	if isFree(wanted) {
		all = append(all, candidate{keyword, strings.Repeat("蘭", edge)})
	}
	longer := *wanted
	longer.MinLength = &beyond
	longer.MaxLength = nil
	longer.AllOf = nil
	matching := g.firstAllowed(&longer, samples(&longer), "")
	zeroes := strings.Repeat("0", beyond)
	letters := strings.Repeat("x", beyond)
	return append(all, candidatesOf(keyword, plain, letters, zeroes, matching)...)
}
