package schema

import (
	"regexp"
	"strings"
	"time"

	"github.com/dlclark/regexp2/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// GoPattern writes a pattern of ECMA-262 so that package regexp/syntax reads it.
func GoPattern(pattern string) string {
	return unicodeEscape.ReplaceAllString(pattern, `\x{$1}`)
}

// unicodeEscape finds an escape that ECMA-262 has and Go writes in another way.
var unicodeEscape = regexp.MustCompile(`\\u([0-9A-Fa-f]{4})`)

// IsPattern reports whether a pattern can be compiled.
func IsPattern(pattern string) bool {
	_, err := compilePattern(pattern)
	return err == nil
}

// compilePattern compiles a pattern of ECMA-262: with package regexp, which takes linear time, or else, as
// for those that look ahead, with one that goes back.
func compilePattern(pattern string) (jsonschema.Regexp, error) {
	if compiled, err := regexp.Compile(ecmaPattern(pattern)); err == nil {
		return compiled, nil
	}
	return compileBacktracking(pattern)
}

// backtracking is a pattern of ECMA-262 that package regexp cannot compile.
type backtracking struct{ *regexp2.Regexp }

// matchTimeout is how long such a pattern may take. A text that takes longer does not match.
const matchTimeout = time.Second

// compileBacktracking compiles a pattern that package regexp cannot compile. Such a pattern may take a time
// that grows with the power of the length of a text, so it is bounded.
func compileBacktracking(pattern string) (backtracking, error) {
	compiled, err := regexp2.Compile(pattern, regexp2.ECMAScript, regexp2.Unicode)
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

// ecmaPattern writes a pattern of ECMA-262 as one of Go: what a dot and white space are differs.
func ecmaPattern(pattern string) string {
	inClass := false
	return ecmaTokens.ReplaceAllStringFunc(pattern, func(token string) string {
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
