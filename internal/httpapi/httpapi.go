// Package httpapi handles the HTTP requests of the Plant Store. It implements the
// strict interface that is generated from api/openapi.yaml.
//
// [New] builds the handler. A request passes through it in this order:
//
//   - observe gives the request an id, counts it, and logs it if it fails or is slow. It
//     turns a panic into a response with 500.
//   - cors adds the CORS headers, if there are origins to allow.
//   - The chi router finds the operation. If there is none, the fallback responds
//     to OPTIONS, or with 404 or 405.
//   - Package contract checks the request against the document. It asks admission for the credentials,
//     the scope and the rate of the token, and whether a slot is free. Then it checks the parameters and
//     the body.
//   - waitingRoom holds requests that wait for changes.
//   - The generated code, which is the stock code of oapi-codegen, makes a typed request. A middleware of it takes a slot
//     of admission.
//   - A method of server calls the store and returns a typed response.
//
// A failure on the way is returned as an error. Only [failures.write] makes a
// response of an error.
package httpapi

import (
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/plantstore/plantstore/api"
	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/gen/plantserver"
	"github.com/plantstore/plantstore/internal/docs"
	"github.com/plantstore/plantstore/internal/feed"
	"github.com/plantstore/plantstore/internal/limit"
	"github.com/plantstore/plantstore/internal/page"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/token"
)

// MaxHeaderBytes is the largest size of the request line and the headers of a request
// together. The document promises 32 KiB. The rest is for the URL of a Link, which
// escapes more characters of a tag than the URL of a client must.
const MaxHeaderBytes = 36 << 10

// Rate is a [limit.Rate].
type Rate = limit.Rate

// SignIn is a [page.SignIn].
type SignIn = page.SignIn

// Options are the parts and settings of a handler. Plants, Tokens, MaxBody, Metrics
// and Log are required. A limit that is zero is off.
type Options struct {
	Plants  plant.Store
	Tokens  *token.Verifier
	MaxBody int64 // bytes of a request body

	// Changes are those of Plants. Stop it before the server: then no request waits
	// any longer. Nil means a feed that is never stopped.
	Changes *feed.Feed

	Metrics prometheus.Registerer
	Log     *slog.Logger
	LogAll  bool          // log every request, not only failed and slow ones
	LogSlow time.Duration // a request is slow if it takes at least this long; 0: none is

	// NoNames leaves out of responses who has changed a plant.
	NoNames bool

	// ReadOnly refuses all operations with the scope write.
	ReadOnly bool

	MaxInFlight int      // requests that are handled at the same time
	MaxStreams  int      // requests that wait for changes at the same time, beside them
	RateLimit   Rate     // of each token
	FailedAuth  Rate     // of failed authentications from each address
	CORSOrigins []string // origins whose pages may read responses: exact, or *

	// Page serves the page for people at /; see package page. Without it, / leads to /docs.
	Page bool

	// SignIn returns how people sign in at an identity provider, or nil while they cannot. A nil
	// SignIn means that there is no provider.
	SignIn func() *SignIn

	// BaseURL is the public address of the service, as [docs.ParseBaseURL] returns
	// it. Nil means the host of each request and no path.
	BaseURL *url.URL
}

// New returns the handler of the public listener. It fails if the document
// contains something that this service does not implement.
func New(opts Options) (http.Handler, error) {
	documentation, err := docs.Handlers(api.Document, opts.BaseURL)
	if err != nil {
		return nil, err
	}
	if opts.Page {
		maps.Copy(documentation, page.Handlers(opts.SignIn))
	}
	if opts.Changes == nil {
		opts.Changes = feed.New(opts.Plants)
	}
	counts := newCounts(opts.Metrics)
	failures := failures{counts: counts}
	admission, bodies := newAdmission(&opts), newBodies(opts.MaxBody)
	checker, err := contract.New(api.Document, contract.Options{
		Authorize:     admission.authorize,
		Refuse:        failures.refuse,
		ReadBody:      bodies.read,
		IgnoreUnknown: ignoresUnknown,
		MaxBody:       opts.MaxBody,
		MaxFaults:     maxDetails,
	})
	if err != nil {
		return nil, err
	}
	if admission.operations, err = operationsOf(checker); err != nil {
		return nil, err
	}
	room := waitingRoom{
		authenticator: admission.authenticator,
		changes:       opts.Changes,
		slots:         limit.NewSlots("requests that wait for changes (--max-streams)", int64(opts.MaxStreams)),
	}
	opts.Metrics.MustRegister(
		slotsTaken("plantstore_http_requests_in_flight", "Requests that the service works for.", admission.slots),
		slotsTaken("plantstore_http_streams", "Requests that wait for changes or stream them.", room.slots))
	basePath := ""
	if opts.BaseURL != nil {
		basePath = opts.BaseURL.EscapedPath()
	}
	server := plantserver.NewStrictHandlerWithOptions(
		&server{Options: &opts, basePath: basePath},
		[]plantserver.StrictMiddlewareFunc{admission.work},
		plantserver.StrictHTTPServerOptions{
			RequestErrorHandlerFunc:  failures.write,
			ResponseErrorHandlerFunc: failures.write,
		})

	mux := chi.NewRouter()
	fallback := fallback{mux: mux, methods: methodsOf(checker), failures: failures}
	unread := limit.NewAccount(bytesFor(opts.MaxBody), (*http.ResponseController).SetWriteDeadline)
	observer := observer{counts: counts, log: newRequestLog(&opts), unread: unread}
	cors := cors{origins: opts.CORSOrigins, fallback: fallback}
	// The middleware, from the outermost to the innermost. It handles every request,
	// also those for which chi finds no operation.
	mux.Use(
		observer.observe,   // first: it measures and logs what the others do
		cors.allow,         // before any refusal: pages may read refusals too
		middleware.GetHead, // last: it makes chi look for GET
	)
	mux.NotFound(fallback.respond)
	mux.MethodNotAllowed(fallback.respond)
	for path, handler := range documentation { // needs no credentials
		mux.Method(http.MethodGet, path, handler)
	}
	mux.Group(func(r chi.Router) {
		// In the group chi has found the operation, and parameters are not bound yet.
		r.Use(checker.Middleware, room.admit(failures))
		plantserver.HandlerWithOptions(server, plantserver.ChiServerOptions{
			BaseRouter:       r,
			ErrorHandlerFunc: failures.write,
		})
	})
	return handler{mux, admission.slots, room.slots, bodies, unread}, nil
}

// handler is the handler of the public listener. Tests use the rest, to see that each request has
// released what it holds.
type handler struct {
	http.Handler
	slots, waitingSlots *limit.Slots
	bodies              *bodies
	unread              *limit.Account
}

// server implements the operations of the document. The requests that it gets are
// authorized and valid. The response to an error that it returns is in the table
// of errors.go.
type server struct {
	*Options
	basePath string // the path that a proxy removes from requests; Location and Link begin with it
}

var _ plantserver.StrictServerInterface = (*server)(nil)
