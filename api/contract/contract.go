// Package contract holds HTTP requests to an OpenAPI 3.0 or 3.1 document before a handler gets them.
//
// [New] reads the document once and returns a [Checker], whose middleware refuses each request
// that the document does not allow:
//
//	checker, err := contract.New(document, contract.Options{Authorize: authorize})
//	…
//	router.Group(func(r chi.Router) { // in the group, what chi has found is compared with the document
//		r.Use(checker.Middleware)
//		server.HandlerFromMux(handler, r)
//	})
//
// A request passes through these steps, and the first one that it fails refuses it:
//
//   - The path and the method of the request name the operation (route.go). If a router comes before, it must have
//     found the same.
//   - [Options.Authorize] decides about credentials, and whatever else must be decided before
//     the service works for the request.
//   - The parameters in path, query, headers and cookies are found (places.go), read (read.go, styles.go, readers.go) and held to their
//     schemas. All violations are reported at once.
//   - The body is read (content.go, body.go, forms.go, multipart.go), decoded as far as its schema can need it (json.go, wanted.go)
//     and held to the schema.
//
// The document is read by document.go and operation.go. Its schemas become nodes (node.go, nodes.go, scope.go), to which a visit holds a value
// (visit.go, parts.go; scalars.go, arrays.go, objects.go). It remembers what it has found (memory.go), so that its time is bounded.
//
// Nothing of the body is read before the last step, so a client without credentials costs no memory.
// Every refusal is a [Refusal], which [Options.Refuse] writes as a response.
//
// What is checked need not be parsed again: the handler finds it with [RequestOf]. The body of
// the request can still be read, so code that knows nothing of this package, such as what
// oapi-codegen generates, works behind it.
//
// A document with something that this package does not check makes [New] fail: nothing is
// passed over silently. See README.md for what it checks and for a comparison with other
// packages.
package contract

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Options are the settings of a [Checker]. The zero value works for a document that asks for no
// credentials.
type Options struct {
	// Authorize decides whether a request may call an operation, before its parameters are
	// checked and its body is read. It is called for every request that has an operation. It returns the context
	// for the handler, or nil for that of the request; it may set headers of the response. Its
	// error becomes the Err of a [Refusal]. It is required for a document with security.
	Authorize func(w http.ResponseWriter, r *http.Request, operation *Operation) (context.Context, error)

	// Refuse responds to a request that is refused. Nil means the JSON error that the document has for the status, if it has a
	// member such as message, or else plain text.
	Refuse func(w http.ResponseWriter, r *http.Request, refusal *Refusal)

	// Unchecked has the media types of bodies that this package cannot check and passes on as they are, such as
	// application/xml.
	Unchecked []string

	// MaxBodies has the largest numbers of bytes of bodies by media type, such as of multipart/form-data, whose files are
	// not kept in memory. Others have MaxBody.
	MaxBodies map[string]int64

	// ReadBody reads the body of a request, but for multipart/form-data and the media types of Unchecked, which are streamed. The text must not change before the handler has
	// returned. If checked is not nil, it is called when the text was decoded and checked. Errors
	// are those of [BodyTooLarge] and [BodyIncomplete], or others. Nil reads at most MaxBody bytes. A
	// service sets it to account for the memory of many bodies.
	ReadBody func(w http.ResponseWriter, r *http.Request) (text []byte, checked func(), err error)

	// Judge is called with each response of a handler behind the middleware, after it was sent.
	// The body is nil if it was larger than a MiB. Judge is for tests and staging: each response
	// is copied for it.
	Judge func(r *http.Request, status int, header http.Header, body []byte)

	// Formats has a check for each format of texts that this package does not know. Without one, such a format is not checked, and
	// Notes says so. It knows those of OpenAPI and JSON Schema.
	Formats map[string]func(text string) error

	// AcceptReadOnly accepts members of a body that are readOnly, and leaves them out, as of a client that changes what it has
	// read and sends all of it back.
	AcceptReadOnly bool

	// IgnoreUnknown says which operations accept query parameters that the document does not
	// have. Nil means that all of them refuse such parameters. It is not asked for an operation that takes a form: for
	// [http.Request.ParseForm] the query is a part of it.
	IgnoreUnknown func(operation *Operation) bool

	// BasePath is what comes before each path of the document, such as /v1. Without it, that is the path of one of the
	// servers in the document, or nothing.
	BasePath string

	// BeforeRouter says that the middleware is before a router that comes later, such as with Use of the root of
	// chi. Nothing can be compared with what the router finds, so New refuses a document in which two paths meet, such as
	// /things/{id} and /things/{id}:cancel.
	BeforeRouter bool

	// Outside has the paths that are not in the document and are passed on unchecked, such as /healthz.
	Outside []string

	MaxBody   int64 // bytes of a body; 0 means a MiB
	MaxDepth  int   // how deep arrays and objects of JSON may be nested; 0 means 64
	MaxFaults int   // of a refusal; 0 means 32
}

// Checker holds requests to a document. It is safe for concurrent use.
type Checker struct {
	options    Options
	operations []*Operation
	notes      []string
	formats    []string // that are not known
	routes     *routes
}

// New reads an OpenAPI 3.0 or 3.1 document, in YAML or JSON. It returns an error if the document is not
// valid, or has what this package does not check; it names all of that.
func New(document []byte, options Options) (*Checker, error) {
	options.MaxBody = cmp.Or(options.MaxBody, 1<<20)
	options.MaxDepth = cmp.Or(options.MaxDepth, 64)
	options.MaxFaults = cmp.Or(options.MaxFaults, 32)
	loaded, root, err := loadDocument(document)
	if err != nil {
		return nil, err
	}
	operations, load, err := loadOperations(loaded, root, &options)
	if err != nil {
		return nil, err
	}
	checker := &Checker{
		options:    options,
		operations: operations,
		notes:      slices.Compact(slices.Sorted(slices.Values(load.notes))),
		formats:    slices.Compact(slices.Sorted(slices.Values(load.unknown))),
		routes:     newRoutes(operations, loaded.Servers, &options),
	}
	if options.BeforeRouter {
		if err := checker.routes.ambiguous(); err != nil {
			return nil, err
		}
	}
	if options.Authorize == nil {
		checker.options.Authorize = acceptAll
	}
	if options.Refuse == nil {
		checker.options.Refuse = refuseAsDocumented
	}
	return checker, nil
}

// acceptAll implements [Options.Authorize] for a document without security.
func acceptAll(http.ResponseWriter, *http.Request, *Operation) (context.Context, error) {
	return nil, nil
}

// Operations returns the operations of the document, in no order.
func (c *Checker) Operations() []*Operation {
	return slices.Clone(c.operations)
}

// Notes says what cannot be checked: formats that are not known, and media types that are refused beside others, such as XML. A
// service logs it.
func (c *Checker) Notes() []string { return slices.Clone(c.notes) }

// UnknownFormats returns the formats of texts that are not checked, because neither this package nor Options.Formats has a check.
func (c *Checker) UnknownFormats() []string { return slices.Clone(c.formats) }

// UncheckedError is in the error of [New] for an operation whose bodies have only media types that this package cannot check.
type UncheckedError struct {
	Operation  string   // as in POST /things
	MediaTypes []string // for Options.Unchecked
}

func (e *UncheckedError) Error() string {
	return fmt.Sprintf("%s: media type %q cannot be checked: name it in Options.Unchecked", e.Operation, strings.Join(e.MediaTypes, ", "))
}

// Wrap returns the middleware around a handler of an [http.ServeMux]:
//
//	mux.Handle("GET /things/{id}", checker.Wrap(handler))
func (c *Checker) Wrap(handler http.Handler) http.Handler { return c.Middleware(handler) }

// Middleware passes on the requests that the document allows, and refuses all others. It may be behind a router, as in a group
// of chi or with [Checker.Wrap], or before one; see [Options.BeforeRouter].
func (c *Checker) Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.routes.isOutside(r) {
			next.ServeHTTP(w, r)
			return
		}
		request, err := c.check(w, r)
		if err != nil {
			c.options.Refuse(w, r, c.refusalOf(request.Operation, err))
		}
		if stream, isStream := request.http.Body.(*formStream); isStream {
			defer stream.Close()
		}
		if err != nil {
			return
		}
		if c.options.Judge == nil {
			next.ServeHTTP(w, &request.http)
			return
		}
		recorder := &responseRecorder{ResponseWriter: w}
		next.ServeHTTP(recorder, &request.http)
		status := cmp.Or(recorder.status, http.StatusOK) // net/http sends it if the handler sends nothing
		c.options.Judge(&request.http, status, w.Header(), recorder.text())
	})
}

// check returns a request with what was found in it. Its operation is nil if there is none.
func (c *Checker) check(w http.ResponseWriter, r *http.Request) (*Request, error) {
	request := &Request{}
	if err := c.routes.find(request, w, r); err != nil {
		return request, asRefusal(err, NoOperation)
	}
	authorized, err := c.options.Authorize(w, r, request.Operation)
	if err != nil {
		return request, err
	}
	request.ctx = requestContext{cmp.Or(authorized, r.Context()), request}
	request.http = *r.WithContext(&request.ctx)
	if err := request.checkParameters(); err != nil {
		return request, err
	}
	if len(request.Operation.contents) == 0 {
		return request, nil
	}
	return request, c.checkBody(w, request)
}
