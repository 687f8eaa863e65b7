package httpapi

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"regexp"
	"strings"
)

// traceparentHeader says where a request belongs in a distributed trace (W3C Trace
// Context, levels 1 and 2).
const traceparentHeader = "Traceparent"

// The lengths of the ids in bytes.
const (
	traceIDLen = 16
	spanIDLen  = 8
)

// traceContext is the place of a request in a distributed trace. The service records
// no spans: the ids find the log line of a request.
type traceContext struct {
	traceID      string
	spanID       string // of the request, as the service sees it
	parentSpanID string // of the request, as the client sees it; empty: the trace begins here
}

// newTraceContext takes over the trace of the client. It begins a new one if the
// request has no valid traceparent, or one that contains a token: the ids are logged.
func newTraceContext(h http.Header, redact func(string) string) traceContext {
	t := traceContext{spanID: randomHex(spanIDLen)}
	given, ok := h[traceparentHeader], false
	if len(given) == 1 && redact(given[0]) == given[0] {
		t.traceID, t.parentSpanID, ok = parseTraceparent(given[0])
	}
	if !ok {
		t.traceID = randomHex(traceIDLen)
	}
	return t
}

// traceparents matches the fields of version 00, and what a later version may add.
var traceparents = regexp.MustCompile(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$`)

// parseTraceparent returns the two ids of a traceparent. Of a version that is not
// known it reads the fields of version 00, as the standard requires.
func parseTraceparent(s string) (traceID, parentID string, ok bool) {
	m := traceparents.FindStringSubmatch(s)
	if m == nil {
		return "", "", false
	}
	version, traceID, parentID, more := m[1], m[2], m[3], m[4]
	if version == "ff" || version == "00" && more != "" || zeros(traceID) || zeros(parentID) {
		return "", "", false
	}
	return traceID, parentID, true
}

// zeros reports whether an id has only zeros, which makes it no id.
func zeros(id string) bool { return strings.Trim(id, "0") == "" }

// randomHex returns n random bytes in hexadecimal digits.
func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
