package httpapi

import (
	"net/http"
	"strings"

	"github.com/google/uuid"
)

// requestIDHeader has the id of a request, in the request and in the response.
const requestIDHeader = "X-Request-Id"

// maxRequestID is the length of the longest id that is taken from a request.
const maxRequestID = 128

// requestID returns the id that the request has, or a new one. An id that contains
// a token is replaced, because ids are logged and sent back.
func requestID(h http.Header, redact func(string) string) string {
	if given := h[requestIDHeader]; len(given) == 1 && safeRequestID(given[0]) && redact(given[0]) == given[0] {
		return given[0]
	}
	return uuid.Must(uuid.NewV7()).String()
}

// safeRequestID reports whether an id needs no quotes in a log, a header or a command
// line, as the document says. It allows UUIDs, hexadecimal and Base64 numbers, and
// the ids of proxies ("Root=1-67a…").
func safeRequestID(id string) bool {
	if id == "" || len(id) > maxRequestID {
		return false
	}
	for _, c := range []byte(id) {
		letter, digit := 'a' <= c|0x20 && c|0x20 <= 'z', '0' <= c && c <= '9'
		if !letter && !digit && !strings.ContainsRune("._~:+/=-", rune(c)) {
			return false
		}
	}
	return true
}
