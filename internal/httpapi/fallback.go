package httpapi

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// fallback responds to requests that no operation handles: unknown paths, methods
// that a path does not have, and OPTIONS.
type fallback struct {
	mux      *chi.Mux
	methods  []string // of all operations, sorted
	failures failures
}

// allowed returns the methods of a path as the value of an Allow header, or "" if
// the path is unknown.
func (f fallback) allowed(path string) string {
	var methods []string
	for _, method := range f.methods {
		routed := method
		if method == http.MethodHead {
			routed = http.MethodGet // see middleware.GetHead
		}
		if path == "*" || f.mux.Match(chi.NewRouteContext(), routed, path) {
			methods = append(methods, method)
		}
	}
	if len(methods) == 0 {
		return ""
	}
	return strings.Join(append(methods, http.MethodOptions), ", ")
}

// respond responds to a request for which chi found no operation: with 404, with 405,
// or with 204 to OPTIONS. That needs no credentials, because the response says only
// what the document says. respond looks at the path first: chi reports an unknown
// method on an unknown path as a method that is not allowed.
func (f fallback) respond(w http.ResponseWriter, r *http.Request) {
	allow := f.allowed(routePath(r))
	if allow == "" {
		f.failures.write(w, r, fail(plantapi.CodeNoSuchPath, "no such path"))
		return
	}
	w.Header().Set("Allow", allow)
	if r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	f.failures.write(w, r, fail(plantapi.CodeMethodNotAllowed, "method not allowed"))
}

// routePath returns the path that chi matches. It is the path as it was sent, so
// that %2F is not read as a slash. An absolute URL can have no path, which means "/".
func routePath(r *http.Request) string {
	return cmp.Or(r.URL.RawPath, r.URL.Path, "/")
}
