package contract

import (
	"regexp"
	"strings"
	"time"

	"github.com/dlclark/regexp2/v2"
)

// pattern is a regular expression of ECMA-262, which is compiled with package regexp if that can read it.
type pattern struct {
	expression string
	linear     *regexp.Regexp
	slow       *regexp2.Regexp // of those that look ahead, for example; nil for others
}

// String implements [jsonschema.Regexp].
func (p *pattern) String() string { return p.expression }

// MatchString implements [jsonschema.Regexp], for the document itself.
func (p *pattern) MatchString(text string) bool { return new(visit).matches(p, text) }

// maxMatching is how long the slow patterns of one body may take together. Such a pattern may take a time that
// doubles with each character of a text.
const maxMatching = 100 * time.Millisecond

func newPattern(expression string) (*pattern, error) {
	if linear, err := regexp.Compile(goPattern(expression)); err == nil {
		return &pattern{expression: expression, linear: linear}, nil
	}
	slow, err := regexp2.Compile(expression, regexp2.ECMAScript, regexp2.Unicode)
	if err != nil {
		return nil, err
	}
	slow.MatchTimeout = maxMatching
	return &pattern{expression: expression, slow: slow}, nil
}

// matches reports whether a text matches.
func (v *visit) matches(p *pattern, text string) bool {
	if p.linear != nil {
		return p.linear.MatchString(text)
	}
	began := time.Now()
	isMatch, err := p.slow.MatchString(text)
	v.matching += time.Since(began)
	if err != nil || v.matching > maxMatching {
		v.isTooComplex = true
	}
	return isMatch
}

// ecmaTokens splits a pattern as far as its parts differ from those of Go.
var ecmaTokens = regexp.MustCompile(`\\u[0-9A-Fa-f]{4}|\\u\{[0-9A-Fa-f]+\}|\\[pP]\{[^}]*\}|\\.|\[|\]|\.`)

// ecmaSpace is the white space of ECMA-262, as a part of a class.
const ecmaSpace = `\s\v\x{a0}\x{feff}\p{Z}`

// goPattern writes a pattern of ECMA-262 as one of Go: what a dot and white space are differs.
func goPattern(expression string) string {
	isInClass := false
	return ecmaTokens.ReplaceAllStringFunc(expression, func(token string) string {
		if token == "[" || token == "]" {
			isInClass = token == "["
			return token
		}
		if rest, isCharacter := strings.CutPrefix(token, `\u`); isCharacter {
			return `\x{` + strings.Trim(rest, "{}") + `}`
		}
		if isInClass {
			return inClass.Replace(token)
		}
		return outsideOfClass.Replace(token)
	})
}

// A class that has all that is not white space is left to the other package.
var (
	inClass        = strings.NewReplacer(`\s`, ecmaSpace, `\S`, `\u`, "Script=", "", "General_Category=", "", "gc=", "", "sc=", "")
	outsideOfClass = strings.NewReplacer(`\s`, "["+ecmaSpace+"]", `\S`, "[^"+ecmaSpace+"]", `\.`, `\.`, ".", `[^\n\r\x{2028}\x{2029}]`,
		"Script=", "", "General_Category=", "", "gc=", "", "sc=", "")
)
