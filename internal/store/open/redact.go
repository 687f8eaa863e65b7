package open

import (
	"errors"
	"regexp"
	"strings"
)

// libpq matches what only a connection string of libpq has, or a URL of
// PostgreSQL that is not one.
var libpq = regexp.MustCompile(`(?i)(host|dbname|user|password)\s*=|^postgres(ql)?:`)

// check refuses a connection string of libpq, which would become the name of a
// file. It may hold a password, so the message does not show it.
func check(name string) error {
	if IsURL(name) || strings.HasPrefix(name, "sqlite:") || !libpq.MatchString(name) {
		return nil
	}
	return errors.New("--store looks like a libpq connection string: " +
		"write it as postgres://" + urlForm + ":5432/DATABASE, or sqlite:PATH if it is a file")
}

// passwords matches a password in a URL, up to the last @ before a space, and in
// a libpq connection string. A wrong message is better than a password in a log,
// so it also matches other text of that shape.
var passwords = regexp.MustCompile(`(?i)([^\s/:@"]*:)\S*@|(password\s*=\s*)('(?:\\.|[^'\\])*'|[^\s;"]+)`)

// urlForm is how messages say what a URL looks like. It holds no password.
const urlForm = "USER:PASSWORD@HOST"

// RedactPasswords returns s without the passwords in it, for messages that quote
// what was typed: a store, or another word in its place.
func RedactPasswords(s string) string {
	parts := strings.Split(s, urlForm)
	for i, part := range parts {
		parts[i] = passwords.ReplaceAllString(part, "$1$2…")
	}
	return strings.Join(parts, urlForm)
}

// Redacted returns name as a message may show it, without a password.
func Redacted(name string) string {
	if scheme, _, _ := strings.Cut(name, "://"); IsURL(name) {
		return scheme + "://…"
	}
	return RedactPasswords(name)
}
