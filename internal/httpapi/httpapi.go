// Package httpapi answers the requests of the Plant Store: it implements the
// strict interface that is generated from api/openapi.yaml.
//
// A request passes, in this order:
//
//   - observe, which gives it an id, counts it, and logs it if it fails;
//   - recoverPanics, so that even a bug answers as the document says;
//   - cors, which lets pages of other origins in, if it is told to;
//   - options, which answers OPTIONS for every path;
//   - chi, which finds the operation, or whose refusal becomes 404 or 405;
//   - validate, which asks who is calling, whether they may, whether they may
//     now (ratelimit.go, inflight.go), and whether the request is what the
//     document describes; it decodes the body, once;
//   - the generated code, which makes a typed request of what was validated,
//     its body with bindBody;
//   - a method of server, which calls the store.
//
// Whoever refuses on the way returns an error, and [failures.write] is the only
// place that turns one into an answer.
package httpapi

import (
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/plantstore/plantstore/api"
	"github.com/plantstore/plantstore/gen/plantserver"
	"github.com/plantstore/plantstore/internal/docs"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/token"
)

// Options is what a handler is made of. Every field is needed but LogAll, LogSlow,
// the limits, whose zero values are none, and BaseURL.
type Options struct {
	Plants  plant.Store
	Tokens  *token.Verifier
	MaxBody int64 // bytes of a request body

	Metrics prometheus.Registerer
	Log     *slog.Logger
	LogAll  bool          // log every request, not only failed and slow ones
	LogSlow time.Duration // from here on a request is slow; 0: none is

	MaxInFlight int      // requests that are answered at one time
	RateLimit   Rate     // of each token
	FailedAuth  Rate     // of bad credentials from each address
	CORSOrigins []string // whose pages may read answers: exact, or *

	// BaseURL is the address of the service as its callers write it, of the form
	// that [docs.ParseBaseURL] returns. Nil: the host that a request names, and no
	// path.
	BaseURL *url.URL
}

// New returns the handler of the public listener. It fails if the document asks
// for something that is not implemented here.
func New(opts Options) (http.Handler, error) {
	operations, err := loadOperations(api.Document)
	if err != nil {
		return nil, err
	}
	explanations, err := docs.Handlers(api.Document, opts.BaseURL)
	if err != nil {
		return nil, err
	}
	counts := newCounts(operations, opts.Metrics)
	failures := failures{counts: counts}
	strict := plantserver.NewStrictHandlerWithOptions(
		&server{plants: opts.Plants, basePath: basePath(opts.BaseURL)},
		plantserver.StrictHTTPServerOptions{
			BindBody:                 bindBody,
			RequestErrorHandlerFunc:  failures.write,
			ResponseErrorHandlerFunc: failures.write,
		})

	mux := chi.NewRouter()
	mux.Use(middleware.GetHead)
	fallback := fallback{mux: mux, methods: operations.methods(), failures: failures}
	mux.NotFound(fallback.reject)
	mux.MethodNotAllowed(fallback.reject)
	for path, explanation := range explanations {
		mux.Method(http.MethodGet, path, explanation) // for anybody
	}
	mux.Group(func(r chi.Router) {
		// Inside the group chi has matched already: one router decides which
		// operation this is, and parameters are not bound before validate ran.
		r.Use(validator{
			operations: operations,
			tokens:     opts.Tokens,
			failures:   failures,
			maxBody:    opts.MaxBody,
			failedAuth: newFailedAuthLimiters(opts.FailedAuth),
			rateLimit:  newLimiters[string](opts.RateLimit, 0),
			inFlight:   newInFlight(opts.MaxInFlight),
		}.validate)
		plantserver.HandlerWithOptions(strict, plantserver.ChiServerOptions{
			BaseRouter:       r,
			ErrorHandlerFunc: failures.write,
		})
	})
	cors := cors{origins: opts.CORSOrigins, fallback: fallback}
	observer := observer{counts: counts, log: newRequestLog(opts.Log, opts.LogAll, opts.LogSlow, opts.Tokens.Redact)}
	return observer.observe(failures.recoverPanics(secureHeaders(cors.allow(fallback.options(mux))))), nil
}

// server implements the operations of the document. A request that arrives
// here is authenticated and valid; an error that leaves it is looked up in
// answers.
type server struct {
	plants   plant.Store
	basePath string // that a proxy takes off a request: Location and Link begin with it
}

// basePath is the path of an address, escaped; empty if there is none.
func basePath(u *url.URL) string {
	if u == nil {
		return ""
	}
	return u.EscapedPath()
}

var _ plantserver.StrictServerInterface = (*server)(nil)

// secureHeaders forbids browsers to guess the type of an answer.
func secureHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}
