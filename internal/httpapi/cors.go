package httpapi

import (
	"net/http"
	"slices"
	"strings"
)

// The headers that a page of another origin may send, and those that it may read
// of a response in addition to the ones that every page may read.
const (
	corsRequestHeaders = "Authorization, Content-Type, If-Match, If-None-Match, Last-Event-ID, " +
		"Traceparent, Tracestate, X-Request-Id"
	corsResponseHeaders = "ETag, Link, Location, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, " +
		"Retry-After, WWW-Authenticate, X-Request-Id"
	corsMaxAge = "7200" // seconds; Chromium keeps no longer
)

// cors lets pages of some origins read responses (the CORS protocol of the Fetch
// standard, section 3.2). Libraries for CORS respond to OPTIONS themselves, with a
// fixed list of methods. Here fallback does, with the methods of each path.
//
// Every response has the headers, also 401: without them a page learns only that
// something failed. Cookies and other ambient credentials are never allowed; the
// token is in a header that the page sets.
type cors struct {
	origins  []string // exact, or *
	fallback fallback
}

// allow adds the headers. Without origins it returns next.
func (c cors) allow(next http.Handler) http.Handler {
	if len(c.origins) == 0 {
		return next
	}
	anyOrigin := slices.Contains(c.origins, "*")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, origin := w.Header(), r.Header.Get("Origin")
		if anyOrigin {
			origin = "*"
		} else {
			h.Add("Vary", "Origin") // for caches, also if the request has no Origin
			if !slices.Contains(c.origins, origin) {
				next.ServeHTTP(w, r)
				return
			}
		}
		h.Set("Access-Control-Allow-Origin", origin)
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			if methods := c.fallback.allowed(routePath(r)); methods != "" {
				h.Set("Access-Control-Allow-Methods", strings.TrimSuffix(methods, ", "+http.MethodOptions))
				h.Set("Access-Control-Allow-Headers", corsRequestHeaders)
				h.Set("Access-Control-Max-Age", corsMaxAge)
			}
		} else {
			h.Set("Access-Control-Expose-Headers", corsResponseHeaders)
		}
		next.ServeHTTP(w, r)
	})
}
