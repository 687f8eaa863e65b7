package values

import (
	"cmp"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// A text without a format or a pattern is "Ficus", made longer or shorter. For a pattern, the syntax of Go is
// read and each of its parts gives its plainest character; what Go cannot read, such as a look ahead, needs an
// example in the document. Lengths are in characters, as JSON Schema counts them, and not in bytes.

// longest is the longest text that is made, in characters.
const longest = 1 << 20

// plainText returns the plainest string. The example of the document comes first: its author knows more than the schema says.
func (g *Generator) plainText(wanted *schema.Schema) string {
	var texts []string
	if example, isText := schema.Example(wanted).(string); isText {
		texts = append(texts, example)
	}
	texts = slices.Concat(texts, samples(wanted), schema.Formats[schema.FormatOf(wanted)].Valid)
	return g.firstAllowed(wanted, texts, padded("Ficus", wanted))
}

// firstAllowed returns the first text that a schema allows, or another one if it allows none.
func (g *Generator) firstAllowed(wanted *schema.Schema, texts []string, otherwise string) string {
	for _, text := range texts {
		if g.Fits(wanted, text) {
			return text
		}
	}
	return otherwise
}

// padded makes a text as long as a schema wants it. It cuts at the beginning, because identities differ at their end.
//
//	id1000001   id1000001xxx, if minLength is 12
//	id1000001   00001, if maxLength is 5
func padded(text string, wanted *schema.Schema) string {
	least := min(OrNone(wanted.MinLength), longest)
	most := min(boundOr(wanted.MaxLength, longest), longest)
	missing := least - utf8.RuneCountInString(text)
	runes := []rune(text + strings.Repeat("x", max(missing, 0)))
	surplus := len(runes) - most
	return string(runes[max(surplus, 0):])
}

// parsedPattern is the syntax of the pattern of a schema, or nil if it has none, or one that Go cannot read.
func parsedPattern(wanted *schema.Schema) *syntax.Regexp {
	pattern := schema.PatternOf(wanted)
	parsed, err := syntax.Parse(schema.GoPattern(pattern), syntax.Perl)
	if pattern == "" || err != nil {
		return nil
	}
	return parsed.Simplify() // leaves no {n,m}
}

// neededRepeats is how often a part of a pattern is repeated to be as long as a text must be.
func neededRepeats(wanted *schema.Schema) int { return min(OrNone(wanted.MinLength), 4096) }

// samples are texts that the pattern of a schema may match, as they are and as long as they must be. They
// match its syntax, but the pattern may also look ahead or back.
func samples(wanted *schema.Schema) (texts []string) {
	parsed := parsedPattern(wanted)
	if parsed == nil {
		return nil
	}
	least := neededRepeats(wanted)
	for _, repeats := range []int{1, least, least / 2, 2, 0} { // half, if two parts may be repeated
		text := sample(parsed, repeats, sampleOfClass)
		texts = append(texts, text, padded(text, wanted))
	}
	return texts
}

// freshSample is another text for each call that matches the pattern of a schema, or false if none is known: its characters
// are the digits of a number, see numberedOfClass.
func (g *Generator) freshSample(wanted *schema.Schema) (text string, ok bool) {
	parsed := parsedPattern(wanted)
	if parsed == nil {
		return "", false
	}
	for _, repeats := range []int{8, 1, max(neededRepeats(wanted), 1)} {
		number := g.drawn.Add(1)
		text := sample(parsed, repeats, func(class *syntax.Regexp) string { return numberedOfClass(class, &number) })
		if g.Fits(wanted, text) {
			return text, true
		}
	}
	return "", false
}

// numberedOfClass returns the last digit of a number whose digits are the letters and digits of a class, and takes it from
// the number. For [abc], which counts to three, 5 is "c", and then 1 is left.
func numberedOfClass(class *syntax.Regexp, number *int64) string {
	plain := regexp.MustCompile(class.String()).FindAllString("abcdefghijklmnopqrstuvwxyz0123456789", -1)
	if len(plain) == 0 {
		return sampleOfClass(class)
	}
	at := *number % int64(len(plain))
	*number /= int64(len(plain))
	return plain[at]
}

// sample returns a text that an expression matches, if it needs no look around, with a character of each class. Parts that
// may be repeated are repeated so often, and parts within them once.
//
//	^a(b+c)*$   a for no repeats, abcbc for two
func sample(expression *syntax.Regexp, repeats int, ofClass func(*syntax.Regexp) string) (text string) {
	times, within := 1, repeats // how often the parts are repeated, and parts within them
	switch expression.Op {
	case syntax.OpLiteral:
		return string(expression.Rune)
	case syntax.OpCharClass:
		return ofClass(expression)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "a"
	case syntax.OpCapture, syntax.OpAlternate:
		return sample(expression.Sub[0], repeats, ofClass)
	case syntax.OpQuest:
		times = min(repeats, 1)
	case syntax.OpStar:
		times, within = repeats, 1
	case syntax.OpPlus:
		times, within = max(repeats, 1), 1
	}
	for range times {
		for _, part := range expression.Sub { // several of a concatenation, none of what matches no character
			text += sample(part, within, ofClass)
		}
	}
	return text
}

// sampleOfClass returns a letter or digit of a class, which is the plainest character, or its first one.
func sampleOfClass(class *syntax.Regexp) string {
	plain := regexp.MustCompile(class.String()).FindString("aA0x-_.")
	return cmp.Or(plain, string(class.Rune[:min(1, len(class.Rune))]))
}

// another returns a valid value that is not among others, if there is one, or else the base. Of n+1 different values one is
// not among n others.
func (g *Generator) another(wanted *schema.Schema, others []any) any {
	taken := map[string]bool{}
	for _, other := range others {
		taken[encoded(other)] = true
	}
	for number := range int64(len(others) + 1) {
		value := g.numbered(wanted, number)
		if !taken[encoded(value)] && g.Fits(wanted, value) {
			return value
		}
	}
	return g.Base(wanted)
}

// numbered returns another value for each number, if a schema has values that can be counted. Whether
// the schema allows it is not looked at.
func (g *Generator) numbered(wanted *schema.Schema, number int64) any {
	flat := g.Flatten(wanted)
	switch {
	case number < int64(len(schema.ValuesOf(flat))):
		return normalEnum(flat, number)
	case schema.TypeOf(flat) == "integer":
		low, _ := Limits(flat)
		return max(low, 0) + number + 1
	case schema.TypeOf(flat) == "string":
		return padded(fmt.Sprintf("%dFicus", number), flat)
	}
	return g.Base(wanted)
}
