package schema

import (
	"regexp"
	"strings"
	"time"

	"github.com/dlclark/regexp2/v2"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// GoPattern writes a pattern as kin-openapi does before it compiles it.
func GoPattern(pattern string) string { return unicodeEscape.ReplaceAllString(pattern, `\x{$1}`) }

var unicodeEscape = regexp.MustCompile(`\\u([0-9A-Fa-f]{4})`)

// emptyGroup begins the patterns that package regexp cannot compile, as those that look ahead. It
// matches anything. kin-openapi has one table of compiled patterns for the whole process: without
// the group a handler in this process would find there what it could not compile itself.
const emptyGroup = "(?:)"

// OwnPattern returns a pattern as this package compiles it, or false if it cannot.
func OwnPattern(pattern string) (own string, ok bool) {
	if _, err := regexp.Compile(GoPattern(pattern)); err == nil {
		return pattern, true
	}
	if _, err := compileBacktracking(pattern); err != nil {
		return "", false
	}
	return emptyGroup + pattern, true
}

// compileForFirstJudge compiles a pattern of kin-openapi.
func compileForFirstJudge(pattern string) (openapi3.RegexMatcher, error) {
	if compiled, err := regexp.Compile(GoPattern(pattern)); err == nil {
		return compiled, nil
	}
	return compileBacktracking(pattern)
}

// compileForSecondJudge compiles a pattern of jsonschema.
func compileForSecondJudge(pattern string) (jsonschema.Regexp, error) {
	if compiled, err := regexp.Compile(ecmaPattern(pattern)); err == nil {
		return compiled, nil
	}
	return compileBacktracking(pattern)
}

// backtracking is a pattern of ECMA-262 that package regexp cannot compile.
type backtracking struct{ *regexp2.Regexp }

// matchTimeout is how long such a pattern may take. A text that takes longer does not match.
const matchTimeout = time.Second

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
	matches, err := b.Regexp.MatchString(text)
	return matches && err == nil
}

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
