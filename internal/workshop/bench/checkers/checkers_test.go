// Package checkers compares package contract with other packages that check requests.
package checkers

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers/legacy"
	"github.com/go-chi/chi/v5"
	middleware "github.com/oapi-codegen/nethttp-middleware"
	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"

	"github.com/plantstore/plantstore/api"
	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// requests are those that the middlewares are compared with.
var requests = []struct{ name, method, target, mediaType, body string }{
	{"create", "POST", "/plants", "application/json", `{"id":123456,"name":"Ficus lyrata","tag":"Moraceae"}`},
	{"list", "GET", "/plants?limit=100&tag=Moraceae", "", ""},
	{"patch", "PATCH", "/plants/123", "application/merge-patch+json", `{"name":"Ficus elastica","tag":null}`},
}

// TestCredentials tests the row of the table in the README about what happens before the credentials are accepted: each
// package refuses a request without them, and only package contract reads nothing of its body before.
func TestCredentials(t *testing.T) {
	refuse := errors.New("send a token")
	filter := openapi3filter.Options{AuthenticationFunc: func(context.Context, *openapi3filter.AuthenticationInput) error { return refuse }}
	authorize := func(http.ResponseWriter, *http.Request, *contract.Operation) (context.Context, error) {
		return nil, refuse
	}
	for name, test := range map[string]struct {
		make  func(testing.TB, http.Handler) http.Handler
		reads bool
	}{
		"contract":             {func(t testing.TB, next http.Handler) http.Handler { return withContract(t, next, authorize) }, false},
		"openapi3filter":       {func(t testing.TB, next http.Handler) http.Handler { return withFilter(t, next, filter) }, true},
		"nethttp-middleware":   {func(t testing.TB, next http.Handler) http.Handler { return withMiddleware(t, next, filter) }, true},
		"libopenapi-validator": {withLibopenapi, true},
	} {
		t.Run(name, func(t *testing.T) {
			create := requests[0]
			body := strings.NewReader(create.body)
			r := httptest.NewRequest(create.method, create.target, io.NopCloser(body))
			r.Header.Set("Content-Type", create.mediaType)
			w := httptest.NewRecorder()
			test.make(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the request is accepted") })).ServeHTTP(w, r)
			if reads := body.Len() < len(create.body); w.Code < 400 || reads != test.reads {
				t.Errorf("the status is %d, and the body is read: %v, want %v", w.Code, reads, test.reads)
			}
		})
	}
}

// BenchmarkMiddlewares compares package contract with others: each checks the same requests against the
// document of the Plant Store, before a handler that reads the body.
func BenchmarkMiddlewares(b *testing.B) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	accept := func(http.ResponseWriter, *http.Request, *contract.Operation) (context.Context, error) {
		return nil, nil
	}
	filter := openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}
	all := []struct {
		name string
		make func(b testing.TB, next http.Handler) http.Handler
	}{
		{"none", func(_ testing.TB, next http.Handler) http.Handler { return routed(next) }},
		{"contract", func(b testing.TB, next http.Handler) http.Handler { return withContract(b, next, accept) }},
		{"openapi3filter", func(b testing.TB, next http.Handler) http.Handler { return withFilter(b, next, filter) }},
		{"nethttp-middleware", func(b testing.TB, next http.Handler) http.Handler { return withMiddleware(b, next, filter) }},
		{"libopenapi-validator", withLibopenapi},
	}
	for _, request := range requests {
		for _, each := range all {
			b.Run("request="+request.name+"/by="+each.name, func(b *testing.B) {
				checked := each.make(b, handler)
				b.ReportAllocs()
				for b.Loop() {
					r := httptest.NewRequest(request.method, request.target, bytes.NewReader([]byte(request.body)))
					r.Header.Set("Authorization", "Bearer token")
					if request.mediaType != "" {
						r.Header.Set("Content-Type", request.mediaType)
					}
					w := httptest.NewRecorder()
					if checked.ServeHTTP(w, r); w.Code != http.StatusOK {
						b.Fatalf("%d %s", w.Code, w.Body)
					}
				}
			})
		}
	}
}

// routed returns a router with the paths of the requests.
func routed(next http.Handler, middlewares ...func(http.Handler) http.Handler) http.Handler {
	router := chi.NewRouter()
	router.Group(func(r chi.Router) {
		r.Use(middlewares...)
		r.Method("POST", "/plants", next)
		r.Method("GET", "/plants", next)
		r.Method("PATCH", "/plants/{id}", next)
	})
	return router
}

func withContract(b testing.TB, next http.Handler, authorize func(http.ResponseWriter, *http.Request, *contract.Operation) (context.Context, error)) http.Handler {
	checker, err := contract.New(api.Document, contract.Options{Authorize: authorize})
	must.NoError(b, err)
	return routed(next, checker.Middleware)
}

func load(b testing.TB) *openapi3.T {
	document, err := openapi3.NewLoader().LoadFromData(api.Document)
	must.NoError(b, err)
	document.Servers = nil // otherwise only the host of the document is accepted
	openapi3filter.RegisterBodyDecoder("application/merge-patch+json", openapi3filter.JSONBodyDecoder)
	return document
}

func withFilter(b testing.TB, next http.Handler, options openapi3filter.Options) http.Handler {
	router, err := legacy.NewRouter(load(b))
	must.NoError(b, err)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		route, path, err := router.FindRoute(r)
		if err == nil {
			err = openapi3filter.ValidateRequest(r.Context(), &openapi3filter.RequestValidationInput{
				Request: r, PathParams: path, Route: route,
				Options: &options,
			})
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func withMiddleware(b testing.TB, next http.Handler, options openapi3filter.Options) http.Handler {
	return routed(next, middleware.OapiRequestValidatorWithOptions(load(b), &middleware.Options{Options: options}))
}

func withLibopenapi(b testing.TB, next http.Handler) http.Handler {
	document, err := libopenapi.NewDocument(api.Document)
	must.NoError(b, err)
	checker, errs := validator.NewValidator(document)
	if len(errs) > 0 {
		b.Fatal(errs)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isValid, errs := checker.ValidateHttpRequestSync(r); !isValid {
			http.Error(w, errs[0].Message, http.StatusBadRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}
