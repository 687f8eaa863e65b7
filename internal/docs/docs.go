// Package docs explains the service to people and programs, without a token:
// the document at /openapi.yaml and /openapi.json, and a page at /docs that
// shows it in a browser, with Swagger UI, and sends requests from there.
//
// The page works without any other host, under a Content-Security-Policy that
// allows no inline script or style, and below any path that a proxy puts before
// it: every reference in it is relative.
package docs

import (
	"net/http"
	"net/url"
	"sync"
)

// Handlers returns what answers GET, by path. The document must name the
// address of the service once, in double quotes; baseURL takes its place, or if
// nil the address that a request was sent to.
func Handlers(document []byte, baseURL *url.URL) (map[string]http.Handler, error) {
	asYAML, err := newDocument("application/yaml", document, baseURL)
	if err != nil {
		return nil, err
	}
	handlers := map[string]http.Handler{
		"/":             redirect("docs", http.StatusTemporaryRedirect),
		"/docs":         onceAsked(newPage),
		"/docs/":        redirect("../docs", http.StatusPermanentRedirect),
		"/openapi.yaml": asYAML,
		"/openapi.json": onceAsked(func() http.Handler {
			asJSON, err := newJSONDocument(document, baseURL)
			if err != nil {
				panic(err) // a test reads the document
			}
			return asJSON
		}),
	}
	for _, a := range assets {
		handlers["/docs/"+a.name] = onceAsked(func() http.Handler { return newAsset(a) })
	}
	return handlers, nil
}

// onceAsked makes a handler when it is first needed: a service that explains
// itself to nobody starts faster and takes less memory.
func onceAsked(newHandler func() http.Handler) http.Handler {
	made := sync.OnceValue(newHandler)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { made().ServeHTTP(w, r) })
}

// redirect sends browsers that open the address of the service, or add a slash
// to that of the page, to the page. The location is a relative reference, so
// that it is right below a path that only a proxy knows; http.Redirect would
// make it absolute.
func redirect(location string, status int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", location)
		w.WriteHeader(status)
	})
}
