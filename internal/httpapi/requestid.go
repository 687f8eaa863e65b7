package httpapi

import (
	"encoding/binary"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
)

// requestIDHeader carries the id of a request, both ways.
const requestIDHeader = "X-Request-Id"

// maxRequestID is the longest id that is taken from a caller.
const maxRequestID = 128

// requestID returns the value of the header for the answer: what the request
// brought, as it is, or else an id of our own. An id with a token in it would be
// logged and sent back.
func requestID(h http.Header, now time.Time, redact func(string) string) []string {
	if given := h[requestIDHeader]; len(given) == 1 && safeRequestID(given[0]) && redact(given[0]) == given[0] {
		return given
	}
	return []string{newRequestID(now)}
}

// safeRequestID reports whether an id of a caller may stand in a log, a header
// and a command line without being quoted. The document says the same. It admits
// UUIDs, hexadecimal and Base64 numbers, and what proxies make ("Root=1-67a…").
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

// newRequestID makes a UUID of version 7 (RFC 9562, section 5.7): the time in
// milliseconds, then 74 random bits. They need be no secret, and those of
// math/rand/v2 cost neither a lock nor an allocation.
func newRequestID(now time.Time) string {
	const version7, variant = 7 << 12, 1 << 63
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:8], uint64(now.UnixMilli())<<16|version7|rand.Uint64()>>52)
	binary.BigEndian.PutUint64(id[8:], variant|rand.Uint64()>>2)
	return id.String()
}
