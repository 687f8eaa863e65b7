// Package docs serves the documentation of the API, without a token: the OpenAPI
// document at /openapi.yaml and /openapi.json, and a page at /docs, which shows
// the document with Swagger UI and can send requests.
//
// The page loads nothing from other hosts. Its Content-Security-Policy allows no
// inline script or style. Every reference in it is relative, so it works below
// any path that a proxy adds.
package docs

import (
	"net/http"
	"net/url"
	"sync"
)

// Handlers returns the handlers of GET requests, by path. The document must
// contain [documented], the default address of the service, exactly once, in
// double quotes. The handlers replace it with baseURL or, if baseURL is nil, with
// the address that the request was sent to.
func Handlers(document []byte, baseURL *url.URL) (map[string]http.Handler, error) {
	asYAML, err := newDocument("application/yaml", document, baseURL)
	if err != nil {
		return nil, err
	}
	handlers := map[string]http.Handler{
		"/":             redirect("docs", http.StatusTemporaryRedirect),
		"/docs":         lazy(newPage),
		"/docs/":        redirect("../docs", http.StatusPermanentRedirect),
		"/openapi.yaml": asYAML,
		"/openapi.json": lazy(func() http.Handler {
			text, err := toJSON(document)
			if err != nil {
				panic(err) // a test reads the document
			}
			asJSON, err := newDocument("application/json", text, baseURL)
			if err != nil {
				panic(err)
			}
			return asJSON
		}),
	}
	for _, a := range assets {
		handlers["/docs/"+a.name] = lazy(a.handler)
	}
	return handlers, nil
}

// lazy returns a handler that newHandler creates at the first request. A service
// whose documentation is not requested starts faster and needs less memory.
func lazy(newHandler func() http.Handler) http.Handler {
	handler := sync.OnceValue(newHandler)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler().ServeHTTP(w, r) })
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
