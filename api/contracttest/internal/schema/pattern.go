package schema

import (
	"regexp"
	"strings"
	"time"

	"github.com/dlclark/regexp2/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// GoPattern writes a pattern of ECMA-262 so that package regexp/syntax reads it.
func GoPattern(text string) string {
	return unicodeEscape.ReplaceAllString(text, `\x{$1}`)
}

// unicodeEscape finds an escape that ECMA-262 has and Go writes in another way.
var unicodeEscape = regexp.MustCompile(`\\u([0-9A-Fa-f]{4})`)

// pattern is a compiled pattern, which is still known as the document has it.
type pattern struct {
	text    string
	matches func(text string) bool // nil: it cannot be compiled, and any text matches it
}

// String is the pattern as the document has it.
func (p *pattern) String() string { return p.text }

// MatchString reports whether a text matches.
func (p *pattern) MatchString(text string) bool { return p.matches == nil || p.matches(text) }

// patternEngine compiles the patterns of schemas.
func patternEngine(text string) (jsonschema.Regexp, error) {
	compiled, err := compilePattern(text)
	if err != nil {
		return &pattern{text: text}, nil
	}
	return &pattern{text: text, matches: compiled.MatchString}, nil
}

// PatternOf is the pattern of a schema, or nothing. One that cannot be compiled is none.
func PatternOf(of *Schema) string {
	if of.Pattern == nil || !IsChecked(of) {
		return ""
	}
	return of.Pattern.String()
}

// IsChecked reports whether the pattern of a schema, if it has one, can be compiled.
func IsChecked(of *Schema) bool {
	compiled, isPattern := of.Pattern.(*pattern)
	return !isPattern || compiled.matches != nil
}

// compilePattern compiles a pattern of ECMA-262: with package regexp, which takes linear time, or else with regexp2, which
// knows more, such as to look ahead, and goes back.
func compilePattern(text string) (jsonschema.Regexp, error) {
	if compiled, err := regexp.Compile(ecmaPattern(text)); err == nil {
		return compiled, nil
	}
	return compileBacktracking(text)
}

// backtracking is a pattern of ECMA-262 that package regexp cannot compile.
type backtracking struct{ *regexp2.Regexp }

// matchTimeout is how long such a pattern may take. A text that takes longer does not match.
const matchTimeout = time.Second

// compileBacktracking compiles a pattern that package regexp cannot compile. To match a text may take a time that grows
// exponentially with its length, so the time is bounded.
func compileBacktracking(text string) (backtracking, error) {
	compiled, err := regexp2.Compile(text, regexp2.ECMAScript, regexp2.Unicode)
	if err != nil {
		return backtracking{}, err
	}
	compiled.MatchTimeout = matchTimeout
	return backtracking{compiled}, nil
}

// MatchString reports whether a text matches.
func (b backtracking) MatchString(text string) bool {
	matches, _ := b.Regexp.MatchString(text) // one that took too long does not match
	return matches
}

// ecmaTokens splits a pattern as far as its parts differ from those of Go.
var ecmaTokens = regexp.MustCompile(`\\u[0-9A-Fa-f]{4}|\\.|\[|\]|\.`)

// The white space of ECMA-262, as a part of a class.
const ecmaSpace = `\s\v\x{a0}\x{feff}\p{Z}`

// ecmaPattern writes a pattern of ECMA-262 as one of Go. Escapes of Unicode are written in another way, and a dot and white
// space mean other characters. Within a class, white space is a part of the class.
//
//	[\s_]\u00e9   [\s\v\x{a0}\x{feff}\p{Z}_]\x{00e9}
func ecmaPattern(text string) string {
	inClass := false
	return ecmaTokens.ReplaceAllStringFunc(text, func(token string) string {
		if token == "[" || token == "]" {
			inClass = token == "["
		}
		if strings.HasPrefix(token, `\u`) {
			return `\x{` + token[2:] + `}`
		}
		if inClass {
			return strings.Replace(token, `\s`, ecmaSpace, 1)
		}
		switch token {
		case ".":
			return `[^\n\r\x{2028}\x{2029}]`
		case `\s`:
			return "[" + ecmaSpace + "]"
		case `\S`:
			return "[^" + ecmaSpace + "]"
		}
		return token
	})
}
