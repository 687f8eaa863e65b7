package values

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

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
func (g *Generator) candidates(wanted *openapi3.Schema) []candidate {
	switch {
	case len(wanted.Enum) > 0:
		return enumCandidates(wanted)
	case schema.IsNumber(wanted):
		return numberCandidates(wanted)
	case wanted.Type.Is("string"):
		return g.textCandidates(wanted)
	case wanted.Type.Is("array"):
		return g.arrayCandidates(wanted)
	case schema.IsObject(wanted):
		return g.objectCandidates(wanted)
	}
	return nil
}

// enumCandidates are the values of an enumeration, and some beside them.
func enumCandidates(wanted *openapi3.Schema) (all []candidate) {
	for i, value := range wanted.Enum {
		all = append(all, candidate{"enum", jsonvalue.Normal(value)})
		if schema.IsNumber(wanted) {
			all = append(all, candidate{"enum", int64(i + 1)})
		}
	}
	return append(all,
		candidate{"enum", int64(0)},
		candidate{"enum", fmt.Sprint(wanted.Enum[0], "?")},
		// Some services take it for an absent parameter.
		candidate{"enum", ""},
	)
}

// arrayCandidates are arrays at the bounds of their length, with equal items and with different ones.
func (g *Generator) arrayCandidates(wanted *openapi3.Schema) []candidate {
	all := []candidate{{"minItems", g.Many(wanted, wanted.MinItems)}}
	if wanted.MinItems > 0 {
		all = append(all, candidate{"minItems", g.Many(wanted, wanted.MinItems-1)})
	}
	if most := wanted.MaxItems; most != nil {
		all = append(all, candidate{"maxItems", g.Many(wanted, *most)}, candidate{"maxItems", g.Many(wanted, *most+1)})
	}
	if !wanted.UniqueItems {
		return all
	}
	most := orMost(wanted.MaxItems)
	all = append(all, candidate{"uniqueItems", g.Many(wanted, max(wanted.MinItems, min(2, most)))})
	array := g.Many(wanted, max(wanted.MinItems, 1))
	if uint64(len(array)) < most {
		array = append(array, nil)
	}
	array[len(array)-1] = array[0]
	return append(all, candidate{"uniqueItems", array})
}

// objectCandidates are objects at the bounds of their size, and one with a member that no property names.
func (g *Generator) objectCandidates(wanted *openapi3.Schema) (all []candidate) {
	if wanted.MinProps > 0 {
		small := g.objectBase(wanted, true)
		maps.DeleteFunc(small, func(name string, _ any) bool {
			return !isRequired(wanted, name) && uint64(len(small)) >= wanted.MinProps
		})
		all = append(all, candidate{"minProperties", g.objectBase(wanted, false)}, candidate{"minProperties", small})
	}
	if wanted.MaxProps != nil {
		large := g.grown(wanted, g.objectBase(wanted, false), *wanted.MaxProps+1)
		all = append(all, candidate{"maxProperties", g.objectBase(wanted, false)}, candidate{"maxProperties", large})
	}
	const keyword = "additionalProperties"
	switch {
	case schema.IsClosed(wanted):
		return append(all, candidate{keyword, g.objectBase(wanted, false)})
	case wanted.AdditionalProperties.Schema != nil:
		return append(all, candidate{keyword, g.with(wanted, schema.UnknownMember, g.additional(wanted))})
	}
	anything := map[string]any{"deep": []any{nil}}
	return append(all, candidate{keyword, g.with(wanted, schema.UnknownMember, anything)})
}

// Texts that a pattern may match or not.
var patternTexts = []string{"", "~", "a", "1", "ABC def", `"`, "\n", "\x00"}

// textCandidates are texts of the formats, patterns and lengths of a schema, and beside them.
func (g *Generator) textCandidates(wanted *openapi3.Schema) (all []candidate) {
	plain := g.plainText(wanted)
	all = append(all, formatCandidates(wanted, plain)...)
	all = append(all, patternCandidates(wanted, plain)...)
	if isFree(wanted) {
		for _, text := range g.someOddStrings() {
			all = append(all, candidate{"type", text})
		}
	}
	if least := wanted.MinLength; least > 0 && least <= longest {
		all = append(all, g.lengthCandidates(wanted, "minLength", plain, least, least-1)...)
	}
	if most := wanted.MaxLength; most != nil && *most <= longest {
		all = append(all, g.lengthCandidates(wanted, "maxLength", plain, *most, *most+1)...)
	}
	return all
}

// formatCandidates are texts that have a format, and some that nearly have it.
func formatCandidates(wanted *openapi3.Schema, plain string) (all []candidate) {
	if wanted.Format == "" {
		return nil
	}
	format := schema.Formats[wanted.Format]
	for _, text := range slices.Concat(format.Valid, format.Invalid) {
		all = append(all, candidate{"format", text})
	}
	// Of an unknown format the plain text is the example.
	return append(all, candidate{"format", plain})
}

// patternCandidates are texts that a pattern may match or not, as they are and as long as they must be.
func patternCandidates(wanted *openapi3.Schema, plain string) (all []candidate) {
	if wanted.Pattern == "" {
		return nil
	}
	all = append(all, candidate{"pattern", plain})
	for _, text := range patternTexts {
		all = append(all,
			candidate{"pattern", text},
			candidate{"pattern", padded(text, wanted)})
	}
	return all
}

// isFree reports whether a text may consist of any characters.
func isFree(wanted *openapi3.Schema) bool {
	format := schema.Formats[wanted.Format]
	isKnown := schema.IsKnownFormat(wanted.Format)
	return wanted.Pattern == "" && isKnown && len(format.Valid) == 0
}

// someOddStrings are few of them where a document is large, and one that is drawn.
func (g *Generator) someOddStrings() []string {
	if !g.Few && !g.isRecursive() {
		return oddStrings
	}
	drawn := oddStrings[fewStrings+g.Below(len(oddStrings)-fewStrings)]
	return append(slices.Clip(oddStrings[:fewStrings]), drawn)
}

// lengthCandidates are texts of a length that is still allowed, and of one beyond it.
func (g *Generator) lengthCandidates(wanted *openapi3.Schema, keyword, plain string, edge, beyond uint64) (all []candidate) {
	if isFree(wanted) {
		all = append(all, candidate{keyword, strings.Repeat("蘭", int(edge))})
	}
	longer := *wanted
	longer.MinLength = beyond
	longer.MaxLength = nil
	grown, _ := g.matchPattern(&longer) // without a match it is empty
	return append(all,
		candidate{keyword, plain},
		candidate{keyword, strings.Repeat("x", int(beyond))},
		candidate{keyword, strings.Repeat("0", int(beyond))},
		candidate{keyword, grown},
	)
}
