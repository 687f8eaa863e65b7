package plantcontract

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"

	"github.com/plantstore/plantstore/internal/plant"
)

// wrongCreate stores a plant in another way than the method of the store.
type wrongCreate func(context.Context, plant.Store, plant.Plant) error

// wrongWrites is a store with wrong creates. It stores a batch plant by plant.
type wrongWrites struct {
	plant.Store
	create wrongCreate
}

func (s wrongWrites) Create(ctx context.Context, p plant.Plant) error {
	return s.create(ctx, s.Store, p)
}

func (s wrongWrites) CreateAll(ctx context.Context, plants []plant.Plant) (int, error) {
	for i, p := range plants {
		if err := s.Create(ctx, p); err != nil {
			return 0, plant.ExistsError{Indexes: []int{i}}
		}
	}
	return len(plants), nil
}

// wrongResponse is a server that changes its responses.
func wrongResponse(change func(*http.Request, *httptest.ResponseRecorder)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			a := record(next, r)
			a.Header().Del("Content-Length")
			change(r, a)
			maps.Copy(w.Header(), a.Header())
			w.WriteHeader(a.Code)
			_, _ = a.Body.WriteTo(w)
		})
	}
}

// wrongBody is a server that replaces what a pattern matches in the bodies of responses to some URIs.
func wrongBody(uris, pattern, replacement string) func(http.Handler) http.Handler {
	wrong, replaced := regexp.MustCompile(uris), regexp.MustCompile(pattern)
	return wrongResponse(func(r *http.Request, a *httptest.ResponseRecorder) {
		if wrong.MatchString(r.URL.RequestURI()) {
			a.Body = bytes.NewBuffer(replaced.ReplaceAll(a.Body.Bytes(), []byte(replacement)))
		}
	})
}

// wrongRequest is a server that takes a request for another one.
func wrongRequest(change func(r *http.Request)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			change(r)
			next.ServeHTTP(w, r)
		})
	}
}

// wrongURI is a server that replaces what a pattern matches in the URIs of requests.
func wrongURI(pattern, replacement string) func(http.Handler) http.Handler {
	replaced := regexp.MustCompile(pattern)
	return wrongRequest(func(r *http.Request) {
		uri, err := url.ParseRequestURI(replaced.ReplaceAllString(r.URL.RequestURI(), replacement))
		if err == nil {
			r.URL = uri
		}
	})
}

// withLimit is a server with another default of the parameter limit.
func withLimit(path, value string) func(http.Handler) http.Handler {
	return wrongRequest(func(r *http.Request) {
		if r.URL.Path == path && !r.URL.Query().Has("limit") {
			r.URL.RawQuery += "&limit=" + value
		}
	})
}

// record records the response of a handler. An event stream ends after one event.
func record(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	w := httptest.NewRecorder()
	h.ServeHTTP(firstEvent{w, cancel}, r.WithContext(ctx))
	return w
}

type firstEvent struct {
	*httptest.ResponseRecorder
	hangUp func()
}

func (w firstEvent) Flush() {
	if bytes.Contains(w.Body.Bytes(), []byte("data: ")) {
		w.hangUp()
	}
}
