package contracttest

import (
	sch "github.com/plantstore/plantstore/api/contracttest/internal/schema"

	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// matchPattern returns a text that the pattern of a schema matches and its other
// keywords allow, or false if it finds none.
func (g *generator) matchPattern(s *openapi3.Schema) (string, bool) {
	parsed, err := syntax.Parse(sch.GoPattern(s.Pattern), syntax.Perl)
	if err != nil {
		return "", false
	}
	parsed = parsed.Simplify()
	for _, repeats := range []int{1, int(s.MinLength), int(s.MinLength) / 2, 2, 0} {
		text := sample(parsed, min(repeats, 4096))
		for _, candidate := range []string{text, padded(text, s)} {
			if g.valid(s, candidate) {
				return candidate, true
			}
		}
	}
	return "", false
}

// sample returns a text that an expression matches, if it needs no look around.
func sample(re *syntax.Regexp, repeats int) string {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		// A letter or digit is the plainest character.
		class := regexp.MustCompile("^" + re.String() + "$")
		for _, r := range "aA0x-_." {
			if class.MatchString(string(r)) {
				return string(r)
			}
		}
		if len(re.Rune) > 0 {
			return string(re.Rune[0])
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "a"
	case syntax.OpCapture, syntax.OpQuest, syntax.OpAlternate:
		return sample(re.Sub[0], repeats)
	case syntax.OpStar:
		return strings.Repeat(sample(re.Sub[0], 1), repeats)
	case syntax.OpPlus:
		return strings.Repeat(sample(re.Sub[0], 1), max(1, repeats))
	case syntax.OpConcat:
		text := ""
		for _, sub := range re.Sub {
			text += sample(sub, repeats)
		}
		return text
	}
	return ""
}
