package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mostOfBody is how long a body is that Curl shows as it is, and the commands that write a longer one.
const mostOfBody = 4 << 10

// Curl returns a command line that repeats the request.
func (x Interaction) Curl() string {
	line := "curl -i -X " + x.Method + " " + ShellQuote(x.URL)
	if strings.Contains(x.Path, "/.") {
		line += " --path-as-is"
	}
	for _, name := range slices.Sorted(maps.Keys(x.RequestHeader)) {
		for _, value := range x.RequestHeader[name] {
			line += " -H " + curlHeader(name, value, x.variable(name))
		}
	}
	if len(x.RequestBody) > 0 {
		line += " --data-binary " + curlBody(string(x.RequestBody))
	}
	return line
}

// curlBody is a body as an argument of curl. Where a body is long, mostly one character is repeated, which the shell does:
//
//	{"name":"xxxx…"}  @<(printf %s '{"name":"'; printf 'x%.0s' {1..5000}; printf %s '"}')
func curlBody(body string) string {
	if len(body) <= mostOfBody {
		return ShellQuote(body)
	}
	var commands []string
	plain := 0 // where the text begins that no command writes yet
	writePlainTo := func(end int) {
		if plain < end {
			commands = append(commands, "printf %s "+ShellQuote(body[plain:end]))
		}
	}
	for at := 0; at < len(body); {
		first, size := utf8.DecodeRuneInString(body[at:])
		end := len(body) - len(strings.TrimLeft(body[at:], string(first))) // of the run of this character
		number := (end - at) / size
		isSafe := unicode.IsLetter(first) || unicode.IsDigit(first) // in a format of printf
		if number >= fewRepeated && isSafe {
			writePlainTo(at)
			commands = append(commands, fmt.Sprintf("printf '%c%%.0s' {1..%d}", first, number))
			plain = end
		}
		at = end
	}
	writePlainTo(len(body))
	written := strings.Join(commands, "; ")
	if len(written) > mostOfBody {
		return fmt.Sprintf("%s # and %d bytes more", ShellQuote(body[:mostOfBody]), len(body)-mostOfBody)
	}
	return "@<(" + written + ")"
}

// fewRepeated is the shortest run of one character that the shell repeats. A shorter one is written out.
const fewRepeated = 64

// curlHeader quotes a header so that the shell fills in a variable that stands for a secret (see Hidden), and nothing else.
func curlHeader(name, value, variable string) string {
	if value == "$"+variable || strings.Contains(value, "${"+variable) {
		return `"` + name + ": " + value + `"`
	}
	return ShellQuote(name + ": " + value)
}

// ShellQuote quotes a text for a shell, in one line: 'a b', or $'a\nb' if it has control characters or is not UTF-8.
func ShellQuote(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl) {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	escaped := strings.ReplaceAll(strconv.QuoteToGraphic(text), "'", `\'`)
	return "$'" + escaped[1:len(escaped)-1] + "'" // in place of its double quotes
}
