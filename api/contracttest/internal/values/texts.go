package values

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// longest is the longest text that is made, in characters.
const longest = 1 << 20

// plainText returns the plainest string.
func (g *Generator) plainText(wanted *openapi3.Schema) string {
	fits := func(text string) bool { return g.Fits(wanted, text) }
	isKnown := schema.IsKnownFormat(wanted.Format)
	if wanted.Pattern != "" || !isKnown {
		if text, is := wanted.Example.(string); is && fits(text) {
			return text
		}
		if text, ok := g.matchPattern(wanted); ok {
			return text
		}
	}
	valid := schema.Formats[wanted.Format].Valid
	if i := slices.IndexFunc(valid, fits); i >= 0 {
		return valid[i]
	}
	return padded("Ficus", wanted)
}

// padded makes a text as long as a schema wants it. Lengths are in characters. It cuts at the beginning,
// because identities differ at their end.
func padded(text string, wanted *openapi3.Schema) string {
	runes := []rune(text)
	if need := int(min(wanted.MinLength, longest)) - len(runes); need > 0 {
		return text + strings.Repeat("x", need)
	}
	if wanted.MaxLength == nil || uint64(len(runes)) <= *wanted.MaxLength {
		return text
	}
	// The end is what makes identities different.
	return string(runes[uint64(len(runes))-*wanted.MaxLength:])
}

// matchPattern returns a text that the pattern of a schema matches and its other keywords allow, or false
// if it finds none. What the syntax gives is
// tried on the schema, because it looks neither ahead nor back.
func (g *Generator) matchPattern(wanted *openapi3.Schema) (text string, ok bool) {
	if wanted.Pattern == "" {
		return "", false
	}
	parsed, err := syntax.Parse(schema.GoPattern(wanted.Pattern), syntax.Perl)
	if err != nil {
		return "", false
	}
	parsed = parsed.Simplify()
	least := int(min(wanted.MinLength, 1<<13))
	for _, repeats := range []int{1, least, least / 2, 2, 0} {
		text := sample(parsed, min(repeats, 4096))
		for _, candidate := range []string{text, padded(text, wanted)} {
			if g.Fits(wanted, candidate) {
				return candidate, true
			}
		}
	}
	return "", false
}

// sample returns a text that an expression matches, if it needs no look around.
func sample(expression *syntax.Regexp, repeats int) string {
	switch expression.Op {
	case syntax.OpLiteral:
		return string(expression.Rune)
	case syntax.OpCharClass:
		return sampleOfClass(expression)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "a"
	case syntax.OpCapture, syntax.OpQuest, syntax.OpAlternate:
		return sample(expression.Sub[0], repeats)
	case syntax.OpStar:
		return strings.Repeat(sample(expression.Sub[0], 1), repeats)
	case syntax.OpPlus:
		return strings.Repeat(sample(expression.Sub[0], 1), max(1, repeats))
	case syntax.OpConcat:
		text := ""
		for _, part := range expression.Sub {
			text += sample(part, repeats)
		}
		return text
	}
	return ""
}

// sampleOfClass returns a letter or digit of a class, which is the plainest character, or its first one.
func sampleOfClass(expression *syntax.Regexp) string {
	class := regexp.MustCompile("^" + expression.String() + "$")
	for _, plain := range "aA0x-_." {
		if class.MatchString(string(plain)) {
			return string(plain)
		}
	}
	if len(expression.Rune) == 0 {
		return ""
	}
	return string(expression.Rune[0])
}

// another returns a valid value that is not among others, if there is one.
func (g *Generator) another(wanted *openapi3.Schema, others []any) any {
	taken := map[string]bool{}
	for _, other := range others {
		taken[encoded(other)] = true
	}
	for i := range int64(len(others) + 1) {
		value := g.numbered(wanted, i)
		if !taken[encoded(value)] && g.Fits(wanted, value) {
			return value
		}
	}
	return g.Base(wanted)
}

// numbered returns the value of a schema with a number, if it has values that can be counted.
func (g *Generator) numbered(wanted *openapi3.Schema, number int64) any {
	flat := g.Flatten(wanted)
	isFreeText := flat.Type.Is("string") && flat.Pattern == "" && schema.Formats[flat.Format].Check == nil
	low, high := Limits(flat)
	isCounted := flat.Type.Is("integer") && flat.MultipleOf == nil
	switch {
	case int64(len(flat.Enum)) > number:
		return normalEnum(flat, number)
	case isCounted && low+number+1 <= high:
		return max(low, 0) + number + 1
	case isFreeText:
		return padded(fmt.Sprintf("%dFicus", number), flat)
	}
	return g.Base(wanted)
}
