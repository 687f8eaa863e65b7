// Package httpapi is the service on HTTP: it holds each request to the document, asks for credentials
// (auth.go), calls the operation, and writes what went wrong (errors.go).
package httpapi

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/api/docs"

	"github.com/plantstore/plantstore/cmd/specfirst/bookshelf/api"
	"github.com/plantstore/plantstore/cmd/specfirst/bookshelf/gen/server"
)

// BasePath is the path of the server in the document.
const BasePath = ""

// formats has a check for each format of texts in the document that package contract does not know.
var formats = map[string]func(text string) error{}

// unchecked has the media types of bodies that package contract passes on as they are.
var unchecked []string

// Options are the settings of [New]. All are required.
type Options struct {
	Tokens   *Tokens
	Statuses map[error]int                   // of the errors that operations return
	Healthy  func(ctx context.Context) error // an error if the operations cannot work
	Log      *slog.Logger
}

type handler struct {
	Options
	router  *chi.Mux
	checker *contract.Checker
}

// New returns the handler of the service.
func New(service server.StrictServerInterface, options Options) (http.Handler, error) {
	h := &handler{Options: options, router: chi.NewRouter()}
	checker, err := contract.New(api.Document, contract.Options{
		Authorize: h.authorize, Refuse: h.refuse, BasePath: BasePath, Formats: formats, Unchecked: unchecked,
	})
	if err != nil {
		return nil, fmt.Errorf("read api/openapi.yaml: %w", err)
	}
	h.checker = checker
	acceptsNone := options.Tokens.Secret == "" && options.Tokens.KeysURL == ""
	if acceptsNone && slices.ContainsFunc(checker.Operations(), needsCredentials) {
		return nil, errNoTokens
	}
	h.router.Use(h.observe)
	h.router.NotFound(h.notFound)
	h.router.MethodNotAllowed(h.methodNotAllowed)
	h.router.Get("/healthz", h.health)
	for _, path := range []string{"/openapi.yaml", "/docs", "/docs/*"} {
		h.router.Get(path, docs.Handler(api.Document).ServeHTTP)
	}
	h.router.Group(func(r chi.Router) {
		r.Use(checker.Middleware) // in a group, the router has found the operation already
		strict := server.NewStrictHandlerWithOptions(service, nil, server.StrictHTTPServerOptions{
			RequestErrorHandlerFunc:  h.invalid,
			ResponseErrorHandlerFunc: h.fail,
		})
		server.HandlerWithOptions(strict, server.ChiServerOptions{BaseURL: BasePath, BaseRouter: r, ErrorHandlerFunc: h.invalid})
	})
	return h.router, nil
}

// health is outside the document: it is for the machine that runs the service.
func (h *handler) health(w http.ResponseWriter, r *http.Request) {
	if err := h.Healthy(r.Context()); err != nil {
		h.Log.Error("not healthy", "err", err)
		h.writeError(w, r, http.StatusServiceUnavailable, "the store cannot be read")
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// observe writes a line of the log for each request, and responds when a handler panics.
func (h *handler) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, recorder := time.Now(), middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		defer func() {
			if cause := recover(); cause != nil {
				h.fail(recorder, r, fmt.Errorf("panic: %v", cause))
			}
			h.Log.Info("request", "method", r.Method, "path", r.URL.Path, "status", recorder.Status(), "took", time.Since(began).String())
		}()
		next.ServeHTTP(recorder, r)
	})
}
