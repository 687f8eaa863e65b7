package httpapi

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// MaxHeaderBytes is the most that the request line and the headers of a request
// may have together.
const MaxHeaderBytes = 32 << 10

// escapeQuery escapes the value of a parameter no more than it must be. With
// [url.QueryEscape] a Link could be three times as long as the request that it
// answers.
func escapeQuery(value string) string { return unescape.Replace(url.QueryEscape(value)) }

// unescape takes back what [url.QueryEscape] escapes without need (RFC 3986,
// section 3.4). A & + ; or % would be read in another way, and < > end the Link.
var unescape = strings.NewReplacer("%21", "!", "%24", "$", "%27", "'", "%28", "(", "%29", ")", "%2A", "*",
	"%2C", ",", "%2F", "/", "%3A", ":", "%3D", "=", "%3F", "?", "%40", "@")

// errLongTag refuses a walk that could not go on.
var errLongTag = func() *failure {
	details := []plantapi.ErrorDetail{{
		In: plantapi.InQuery, Pointer: "/tag", Message: "is too long: the request for the next page could have more than 32 KiB",
	}}
	return &failure{code: plantapi.CodeInvalidParameter, message: describe("a parameter is not valid", details), details: details}
}()

// shortQuery is the length up to which a query may grow by the escapes of a tag,
// and by a parameter after, and stays within what net/http accepts beyond
// MaxHeaderBytes: at least 320 bytes.
const shortQuery = 128

// nextPageFits reports whether the request for the next page, with the same
// headers, is one that the service accepts. A client may send characters
// unescaped that a Link must escape, é for example.
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

// fieldSize is the size of a header as HTTP/2 counts it (RFC 9113, section
// 6.5.2), which is more than it takes in HTTP/1.1.
func fieldSize(name, value string) int { return len(name) + len(value) + 32 }
