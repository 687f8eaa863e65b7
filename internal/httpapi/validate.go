package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/plantstore/plantstore/internal/token"
)

// validator checks every request against the document before the generated code
// gets it.
type validator struct {
	operations operations
	tokens     *token.Verifier
	failures   failures
	maxBody    int64
	failedAuth *limiters[netip.Prefix]
	rateLimit  *limiters[string] // by the id of a token
	readOnly   bool
	inFlight   *inFlight
	stopping   <-chan struct{}
}

// validate passes on only requests that the document allows. It runs after chi has
// found the operation, so r.Pattern is the path in the document.
func (v validator) validate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		op := v.operations[operationKey{documented(r.Method), r.Pattern}]
		recorderOf(w).operation = op
		ctx, cancel := withDeadline(r, op)
		defer cancel()
		given := r.Context()
		r = r.WithContext(ctx)
		if err := v.admit(ctx, w, r, op); err != nil {
			v.failures.write(w, r, err)
			return
		}
		defer v.inFlight.leave(recorderOf(w))
		if len(op.bodies) > 0 {
			if err := v.checkBody(w, r, op); err != nil {
				v.failures.write(w, r, err)
				return
			}
		}
		if recorderOf(w).waits() {
			ctx, end := v.waiting(given, w, r)
			defer end()
			r = r.WithContext(ctx)
		}
		next.ServeHTTP(w, r)
	})
}

// documented returns the method that the document has for a method: GET for HEAD.
func documented(method string) string {
	if method == http.MethodHead {
		return http.MethodGet
	}
	return method
}

// requestDeadline is how long a request may take until its response is ready to be
// written. It is shorter than the drain of a shutdown.
const requestDeadline = 20 * time.Second

// withDeadline returns a context that ends at the deadline of a request. A client ends
// it earlier only if it resets the HTTP/2 stream of a read. With HTTP/1, net/http also
// cancels the context of a client that closes its sending half of the connection and
// still reads.
func withDeadline(r *http.Request, op *operation) (context.Context, context.CancelFunc) {
	ctx := r.Context()
	if r.ProtoMajor < 2 || op.scope != token.Read {
		ctx = context.WithoutCancel(ctx)
	}
	return context.WithTimeout(ctx, requestDeadline)
}

// admit checks the credentials, the limits and the parameters, in the order that the
// document gives. Nothing of the body is read before the request is admitted, so
// clients without a token cost no memory. An admitted request is in flight.
func (v validator) admit(ctx context.Context, w http.ResponseWriter, r *http.Request, op *operation) error {
	t, err := v.authenticate(ctx, w.Header(), r)
	if err != nil {
		return err
	}
	recorderOf(w).token = cmp.Or(t.ID, t.Name)
	if !t.Allows(op.scope) {
		return lacksScope(op.scope)
	}
	if err := v.limitRate(w.Header(), t); err != nil {
		return err
	}
	if v.readOnly && op.scope == token.Write {
		return errReadOnly
	}
	if err := checkParameters(r, op); err != nil {
		return err
	}
	limit := op.pageSize.normal
	if text := r.Form.Get("limit"); text != "" {
		limit, _ = strconv.Atoi(text)
	}
	return v.inFlight.enter(ctx, recorderOf(w), limit > op.pageSize.normal)
}

// limitRate counts a request against the limit of its token, and says in the
// headers of the response what is left. Only authorized requests count, so there
// are never more limiters than tokens, and no client uses up the limit of another.
func (v validator) limitRate(h http.Header, t token.Token) error {
	if v.rateLimit == nil {
		return nil
	}
	left, ok := v.rateLimit.allow(t.ID)
	if !ok {
		left.refuse(h)
		return errTooManyRequests
	}
	left.describe(h)
	return nil
}
