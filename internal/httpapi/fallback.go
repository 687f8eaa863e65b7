package httpapi

import (
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// routes answers what no operation answers: unknown paths, methods that a path
// does not offer, and OPTIONS.
type fallback struct {
	mux      *chi.Mux
	methods  []string // that some operation has, sorted
	failures failures
}

// allowed lists the methods of a path in the form of an Allow header, or is
// empty if there is no such path.
func (f fallback) allowed(path string) string {
	var methods []string
	for _, method := range f.methods {
		if path == "*" || f.mux.Match(chi.NewRouteContext(), documented(method), path) {
			methods = append(methods, method)
		}
	}
	if len(methods) == 0 {
		return ""
	}
	return strings.Join(append(methods, http.MethodOptions), ", ")
}

// reject answers a request that chi found no operation for. Chi asks for the
// method first, so it takes an unknown method on an unknown path for a wrong
// method; the path counts first here.
func (f fallback) reject(w http.ResponseWriter, r *http.Request) {
	allow := f.allowed(routePath(r))
	if allow == "" {
		f.failures.write(w, r, fail(plantapi.CodeNoSuchPath, "no such path"))
		return
	}
	w.Header().Set("Allow", allow)
	f.failures.write(w, r, fail(plantapi.CodeMethodNotAllowed, "method not allowed"))
}

// options answers OPTIONS, which tells nothing that the document does
// not, and so needs no credentials.
func (f fallback) options(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodOptions {
			next.ServeHTTP(w, r)
			return
		}
		allow := f.allowed(routePath(r))
		if allow == "" {
			f.reject(w, r)
			return
		}
		w.Header().Set("Allow", allow)
		w.WriteHeader(http.StatusNoContent)
	})
}

// documented is the method in the document that answers a method.
func documented(method string) string {
	if method == http.MethodHead {
		return http.MethodGet
	}
	return method
}

// routePath is the path that chi matches: as it was sent, so that %2F is not
// taken for a slash.
func routePath(r *http.Request) string {
	if r.URL.RawPath != "" {
		return r.URL.RawPath
	}
	return r.URL.Path
}
