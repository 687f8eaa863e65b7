package values

import (
	"fmt"
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
//
//	["red", "blue"]   "red" "blue" 0 "red?" ""
//	[1, 5]            1 1 5 2 0 "1?" ""          a number of the same type may be missing, as 2 is
func enumCandidates(wanted *schema.Schema) (all []candidate) {
	values := schema.ValuesOf(wanted)
	for i, value := range values {
		all = append(all, candidate{"enum", jsonvalue.Normal(value)})
		if schema.IsNumber(wanted) {
			all = append(all, candidate{"enum", int64(i + 1)})
		}
	}
	return append(all,
		candidate{"enum", int64(0)},
		candidate{"enum", fmt.Sprint(values[0], "?")},
		candidate{"enum", ""}, // some services take it for an absent parameter
	)
}

// arrayCandidates are arrays at the bounds of their length, with equal items and with different ones. An
// array that may be empty is tried empty, too.
//
//	minItems 2, maxItems 3, uniqueItems   2, 1, 3 and 4 items; [1, 2] and [1, 1]
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
		two := max(least, min(2, most)) // two items, or as near to two as the bounds allow
		all = append(all,
			candidate{"uniqueItems", g.Many(wanted, two)},
			candidate{"uniqueItems", withLastEqual(g.Many(wanted, two))})
	}
	return all
}

// withLastEqual makes the last item of an array equal to the first one.
func withLastEqual(array []any) []any {
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

// smallObject returns an object with one member less than it must have. It has more if more members are required.
//
//	minProperties 3, required a   {"a": "Ficus", "member2": "more"}
func (g *Generator) smallObject(wanted *schema.Schema) map[string]any {
	small := g.objectBase(wanted, true)
	for _, name := range jsonvalue.Names(small) {
		isTooLarge := len(small) >= OrNone(wanted.MinProperties)
		if isTooLarge && !isRequired(wanted, name) {
			delete(small, name)
		}
	}
	return small
}

// withMore returns an object with a member that no property names, unless the schema forbids such members.
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

// isFree reports whether a text may consist of any characters: no format and no pattern says more. Only in place of such a
// text is a text tried that services have failed on. Elsewhere it would break the format or the pattern.
func isFree(wanted *schema.Schema) bool {
	format := schema.Formats[schema.FormatOf(wanted)]
	isKnown := schema.IsKnownFormat(schema.FormatOf(wanted))
	return schema.PatternOf(wanted) == "" && isKnown && len(format.Valid) == 0
}

// someRobustnessStrings are strings that services have failed on. Where a document is large, and in a recursion, they are the
// first few and one that is drawn.
func (g *Generator) someRobustnessStrings() []string {
	if !g.Few && !g.isRecursive() {
		return robustnessStrings
	}
	drawn := robustnessStrings[fewStrings+g.Below(len(robustnessStrings)-fewStrings)]
	return append(slices.Clip(robustnessStrings[:fewStrings]), drawn)
}

// lengthCandidates are texts at the bounds of their length: of 5 and of 6 characters, if maxLength is 5. A bound that is beyond
// the longest text that is made is not tried.
func (g *Generator) lengthCandidates(wanted *schema.Schema, plain string) (all []candidate) {
	if least := OrNone(wanted.MinLength); least > 0 && least <= longest {
		all = g.aroundLength(wanted, "minLength", plain, least, least-1)
	}
	if most := wanted.MaxLength; most != nil && *most <= longest {
		all = append(all, g.aroundLength(wanted, "maxLength", plain, *most, *most+1)...)
	}
	return all
}

// aroundLength are texts of a length at the edge, which is still allowed, and of one beyond it: one character less than
// minLength, or one more than maxLength. Of these, the last one matches the pattern if such a text is known.
func (g *Generator) aroundLength(wanted *schema.Schema, keyword, plain string, edge, beyond int) (all []candidate) {
	if isFree(wanted) {
		all = append(all, candidate{keyword, strings.Repeat("蘭", edge)}) // of three bytes: a length is in characters
	}
	moved := *wanted // allows what is beyond
	moved.MinLength = &beyond
	moved.MaxLength = nil
	moved.AllOf = nil // the parts have the length, too
	matching := g.firstAllowed(&moved, samples(&moved), "")
	zeroes := strings.Repeat("0", beyond)
	letters := strings.Repeat("x", beyond)
	return append(all, candidatesOf(keyword, plain, letters, zeroes, matching)...)
}
