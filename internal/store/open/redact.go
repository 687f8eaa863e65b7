package open

import (
	"errors"
	"regexp"
	"strings"
)

// libpq matches what only a connection string of libpq has, or a URL of
// PostgreSQL that is not one.
var libpq = regexp.MustCompile(`(?i)(host|dbname|user|password)\s*=|^postgres(ql)?:`)

// check refuses a connection string of libpq, which would otherwise become the
// name of a file. It may contain a password, so the message does not show it.
func check(name string) error {
	if IsURL(name) || strings.HasPrefix(name, "sqlite:") || !libpq.MatchString(name) {
		return nil
	}
	return errors.New("--store looks like a libpq connection string: " +
		"write it as postgres://" + urlForm + ":5432/DATABASE, or sqlite:PATH if it is a file")
}

// passwords matches a password in a URL, up to the last @ before a space, and
// in a libpq connection string. It also matches other text of that form: a
// wrong message is better than a password in a log.
var passwords = regexp.MustCompile(`(?i)([^\s/:@"]*:)\S*@|(password\s*=\s*)('(?:\\.|[^'\\])*'|[^\s;"]+)`)

// urlForm is the example of a URL in messages. It is not redacted.
const urlForm = "USER:PASSWORD@HOST"

// RedactPasswords returns a message without the passwords in it, for those that
// quote the command line: a store, or another argument in its place.
func RedactPasswords(message string) string {
	parts := strings.Split(message, urlForm)
	for i, part := range parts {
		parts[i] = passwords.ReplaceAllString(part, "$1$2…")
	}
	return strings.Join(parts, urlForm)
}

// databaseURL matches the URL of a database if no part of a password can be taken for
// something else: a password with @, /, ? or # does not match. Its groups are the
// scheme, the hosts with the database, and the parameters.
var databaseURL = regexp.MustCompile(`^(postgres(?:ql)?://)(?:[^/?#@]*@)?` +
	`((?:(?:[\w.-]+|\[[0-9A-Fa-f:]+\])?(?::\d{1,5})?,?)*(?:/[\w.-]*)?)(?:\?([^#@]*))?$`)

// socketParameter matches the parameter of a URL that names a host or the directory of a socket.
var socketParameter = regexp.MustCompile(`^host=[\w./,%-]+$`)

// Redacted returns the name of a store for messages. Of a URL it has the hosts and the
// database only, and not even these if they may be a part of a password.
func Redacted(name string) string {
	if !IsURL(name) {
		return RedactPasswords(name)
	}
	match := databaseURL.FindStringSubmatch(name)
	if match == nil {
		scheme, _, _ := strings.Cut(name, "://")
		return scheme + "://…"
	}
	shown := match[1] + match[2]
	for parameter := range strings.SplitSeq(match[3], "&") {
		if socketParameter.MatchString(parameter) {
			shown += "?" + parameter
		}
	}
	return shown
}
