package httpapi

import (
	"net/http"
	"slices"
	"strings"
)

// What a page of another origin may send, and what it may read of an answer
// beyond what every page may.
const (
	corsRequestHeaders  = "Authorization, Content-Type, If-Match, If-None-Match, X-Request-Id"
	corsResponseHeaders = "ETag, Link, Location, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, WWW-Authenticate, X-Request-Id"
	corsMaxAge          = "7200" // seconds; Chromium keeps no longer
)

// cors lets the pages of some origins read the answers (the CORS protocol of
// the Fetch standard, section 3.2). Libraries for it are given their methods;
// here the document has them, and routes answers OPTIONS anyway.
//
// Every answer has the headers, also one that refuses: else a page would learn
// nothing of a 401 but that something failed. Cookies and other ambient
// credentials are never allowed; the token is a header that the page sets.
type cors struct {
	origins  []string // exact, or *
	fallback fallback
}

// allow adds the headers; without origins it is next itself.
func (c cors) allow(next http.Handler) http.Handler {
	if len(c.origins) == 0 {
		return next
	}
	anyone := slices.Contains(c.origins, "*")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, origin := w.Header(), r.Header.Get("Origin")
		switch {
		case anyone:
			h.Set("Access-Control-Allow-Origin", "*")
		default:
			h.Add("Vary", "Origin") // also without one, for caches
			if !slices.Contains(c.origins, origin) {
				next.ServeHTTP(w, r)
				return
			}
			h.Set("Access-Control-Allow-Origin", origin)
		}
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
