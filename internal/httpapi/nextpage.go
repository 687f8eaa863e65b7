package httpapi

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// MaxHeaderBytes is the largest size of the request line and the headers of a request
// together.
const MaxHeaderBytes = 32 << 10

// escapeQuery escapes only what must be escaped in the value of a parameter. With
// [url.QueryEscape] a Link could be three times as long as the request.
func escapeQuery(value string) string { return unescape.Replace(url.QueryEscape(value)) }

// unescape undoes what [url.QueryEscape] escapes without need (RFC 3986, section
// 3.4). The characters & + ; and % have a meaning in a query, and < > in a Link.
var unescape = strings.NewReplacer("%21", "!", "%24", "$", "%27", "'", "%28", "(", "%29", ")", "%2A", "*",
	"%2C", ",", "%2F", "/", "%3A", ":", "%3D", "=", "%3F", "?", "%40", "@")

// errLongTag refuses a request whose next page could not be requested.
var errLongTag = func() *failure {
	details := []plantapi.ErrorDetail{{
		In: plantapi.InQuery, Pointer: "/tag", Message: "is too long: the request for the next page could have more than 32 KiB",
	}}
	return &failure{code: plantapi.CodeInvalidParameter, message: describe("a parameter is not valid", details), details: details}
}()

// shortQuery is a length of a query up to which the next page always fits. Escapes
// and the parameter after make the query longer, but by less than the 320 bytes that
// net/http accepts beyond MaxHeaderBytes.
const shortQuery = 128

// nextPageFits reports whether the service accepts the request for the next page, if
// it has the same headers. It may be longer than this request: a client may send
// unescaped what a Link must escape, é for example.
func nextPageFits(r *http.Request) bool {
	if len(r.URL.RawQuery) <= shortQuery {
		return true
	}
	const line = "GET ?after=-9223372036854775808&limit=2147483647&tag= HTTP/1.1"
	size := len(line) + len(r.URL.EscapedPath()) + len(escapeQuery(r.Form.Get("tag")))
	size += fieldSize("Host", r.Host)
	for name, values := range r.Header {
		for _, value := range values {
			size += fieldSize(name, value)
		}
	}
	return size <= MaxHeaderBytes
}

// fieldSize returns the size of a header as HTTP/2 counts it (RFC 9113, section
// 6.5.2), which is more than in HTTP/1.1.
func fieldSize(name, value string) int { return len(name) + len(value) + 32 }
