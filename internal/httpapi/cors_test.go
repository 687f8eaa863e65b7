package httpapi_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/httpapi"
)

// corsHeaders returns the headers of a response that concern other origins.
func corsHeaders(h http.Header) string {
	var lines []string
	for name, values := range h {
		if strings.HasPrefix(name, "Access-Control-") || name == "Vary" {
			lines = append(lines, fmt.Sprint(name, " ", values))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestCORS(t *testing.T) {
	t.Parallel()
	const (
		page    = "https://plants.example"
		exposed = "Access-Control-Expose-Headers [ETag, Link, Location, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, WWW-Authenticate, X-Request-Id]"
		allowed = "Access-Control-Allow-Headers [Authorization, Content-Type, If-Match, If-None-Match, Last-Event-ID, Traceparent, Tracestate, X-Request-Id]"
		vary    = "Vary [Origin]"
		hers    = "Access-Control-Allow-Origin [" + page + "]"
		anys    = "Access-Control-Allow-Origin [*]"
		maxAge  = "Access-Control-Max-Age [7200]"
	)
	methods := func(list string) string { return "Access-Control-Allow-Methods [" + list + "]" }
	store := openStore(t)
	broken := faultyPlants{store, func() error { panic("a bug of ours") }}
	for _, c := range []struct {
		origins              []string
		method, path, origin string
		preflight            bool
		status               int
		want                 []string
	}{
		{nil, "GET", "/plants", page, false, 200, nil},
		{nil, "OPTIONS", "/plants", page, true, 204, nil},
		{[]string{page}, "GET", "/plants", "", false, 200, []string{vary}},
		{[]string{page}, "GET", "/plants", page, false, 200, []string{hers, exposed, vary}},
		{[]string{page}, "GET", "/plants", page + ".evil", false, 200, []string{vary}},
		{[]string{page}, "GET", "/plants", "http://plants.example", false, 200, []string{vary}},
		{[]string{"https://a.example", page}, "GET", "/plants", page, false, 200, []string{hers, exposed, vary}},
		{[]string{"*"}, "GET", "/plants", page, false, 200, []string{anys, exposed}},
		// A page may read every refusal.
		{[]string{page}, "GET", "/nowhere", page, false, 404, []string{hers, exposed, vary}},
		{[]string{page}, "BREW", "/plants", page, false, 405, []string{hers, exposed, vary}},
		{[]string{page}, "POST", "/plants", page, false, 500, []string{hers, exposed, vary}},
		{[]string{"*"}, "GET", "/plants", page, true, 401, []string{anys, exposed}}, // without credentials
		// Preflight requests.
		{[]string{page}, "OPTIONS", "/plants", page, true, 204, []string{allowed, methods("GET, HEAD, POST"), hers, maxAge, vary}},
		{[]string{page}, "OPTIONS", "/plants/1", page, true, 204, []string{allowed, methods("DELETE, GET, HEAD, PATCH, PUT"), hers, maxAge, vary}},
		{[]string{"*"}, "OPTIONS", "/plants:batch", page, true, 204, []string{allowed, methods("POST"), anys, maxAge}},
		{[]string{page}, "OPTIONS", "/plants", "https://other.example", true, 204, []string{vary}},
		{[]string{page}, "OPTIONS", "/plants", page, false, 204, []string{hers, exposed, vary}},
		{[]string{page}, "OPTIONS", "/nowhere", page, true, 404, []string{hers, vary}},
	} {
		t.Run(fmt.Sprint(c.origins, " ", c.method, " ", c.path, " ", c.origin), func(t *testing.T) {
			s := newService(t, offline, withStore(store), withPlants(broken),
				withOptions(func(o *httpapi.Options) { o.CORSOrigins = c.origins }))
			a := s.call(c.method, c.path, `{"id":1,"name":"n"}`, func(r *http.Request) {
				if c.origin != "" {
					r.Header.Set("Origin", c.origin)
				}
				if c.preflight {
					r.Header.Set("Access-Control-Request-Method", "POST")
					r.Header.Set("Access-Control-Request-Headers", "authorization,content-type")
					r.Header.Del("Authorization")
				}
			}).wantStatus(t, c.status)
			slices.Sort(c.want)
			if got, want := corsHeaders(a.Header), strings.Join(c.want, "\n"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}
