// Package shell writes commands that people copy from a message.
package shell

import (
	"regexp"
	"strings"
)

// unquoted matches a word that needs no quotes in a shell.
var unquoted = regexp.MustCompile(`^[\w./:-]+$`)

// Quote quotes a word for a shell if it needs quotes.
func Quote(word string) string {
	if unquoted.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
