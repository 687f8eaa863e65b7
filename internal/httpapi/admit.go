package httpapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantserver"
	"github.com/plantstore/plantstore/internal/limit"
	"github.com/plantstore/plantstore/internal/token"
)

// admission decides which requests the service works for.
type admission struct {
	authenticator
	operations map[string]*operation
	rates      *limit.Rates[string] // by the id of a token
	readOnly   bool
	deadlines  deadlines

	// A request has a slot while a method of the strict interface works for it: not while its body
	// comes, nor while its response is read. A request without a slot is refused at once, because a
	// queue would only delay its refusal.
	slots *limit.Slots
}

func newAdmission(opts *Options) *admission {
	return &admission{
		authenticator: authenticator{opts.Tokens, limit.NewRates[netip.Prefix](opts.FailedAuth, maxAddresses)},
		rates:         limit.NewRates[string](opts.RateLimit, 0),
		readOnly:      opts.ReadOnly,
		slots:         limit.NewSlots("requests in flight (--max-in-flight)", int64(opts.MaxInFlight)),
	}
}

var errTooManyRequests = fail(plantapi.CodeTooManyRequests, "too many requests with this token, try again later")

// authorize implements [contract.Options.Authorize]: it checks the credentials and the limits of a token, in the
// order of the document. It returns the scope of the request, which is its context.
func (a *admission) authorize(w http.ResponseWriter, r *http.Request, called *contract.Operation) (context.Context, error) {
	scope, operation := &recorderOf(w).scope, a.operations[called.ID]
	scope.operation = operation
	a.setContext(scope, r)
	found, err := a.authenticate(scope, w.Header(), r)
	if err != nil {
		return nil, err
	}
	scope.token = cmp.Or(found.ID, found.Name)
	scope.granted = grant{name: cmp.Or(found.Name, found.ID), scopes: found.Scopes, expires: found.ExpiresAt}
	if !found.Allows(operation.requiredScope) {
		return nil, lacksScope(operation.requiredScope)
	}
	// Only authorized requests count, so there are never more limiters than tokens, and no
	// client uses up the limit of another.
	quota := a.rates.Use(found.ID)
	quota.Describe(w.Header())
	if quota.Refused {
		return nil, errTooManyRequests
	}
	if a.readOnly && operation.requiredScope == token.Write {
		return nil, errReadOnly
	}
	if operation.waits {
		scope.Context = r.Context() // see waitingRoom
		return scope, nil
	}
	return scope, a.slots.Free() // refused now, before the body is read; work takes the slot
}

// work is around each method of the strict interface. The request has a slot until the response is made, and not yet
// written. Requests that wait for changes have slots of their own; see waitingRoom. Generated code would serve a request that
// was not checked, and a method that returns no response would be an empty 200: both are errors here.
func (a *admission) work(method plantserver.StrictHandlerFunc, operationID string) plantserver.StrictHandlerFunc {
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (made any, err error) {
		checked := contract.RequestOf(ctx)
		if checked == nil {
			return nil, contract.ErrUnchecked
		}
		checked.TakeBody() // it was bound: the copy takes no memory while the client reads the response
		scope := scopeOf(ctx)
		if !scope.waits() {
			scope.slot, err = a.slots.Take()
		}
		if err != nil {
			return nil, err
		}
		made, err = method(ctx, w, r, request)
		scope.release()
		if made == nil && err == nil {
			err = errors.New(operationID + " returned no response")
		}
		return made, err
	}
}

// requestDeadline is how long a request may take until its response is ready to be
// written. Some requests get up to a second less; see deadlines. It is shorter than the drain
// of a shutdown.
const requestDeadline = 20 * time.Second

// setContext sets the context for the work on a request, which has a deadline. A write never ends with its
// client. A read ends earlier only if the client resets its HTTP/2 stream: with HTTP/1, net/http also cancels
// the context of a client that closes its sending half of the connection and still reads.
func (a *admission) setContext(scope *scope, r *http.Request) {
	scope.values = r.Context()
	if r.ProtoMajor >= 2 && scope.operation.requiredScope == token.Read {
		scope.Context, scope.cancel = context.WithTimeout(r.Context(), requestDeadline)
		return
	}
	scope.Context = a.deadlines.context()
}

// deadlines makes contexts with a deadline. Those that begin in the same second share one: with a context
// and a timer for each, a POST takes 22 % more CPU in the handler (6.6 instead of 5.4 µs,
// BenchmarkHandler) and six more allocations.
type deadlines struct {
	newest atomic.Pointer[context.Context]
}

// context returns a context that ends at the deadline of a request that begins now.
func (d *deadlines) context() context.Context {
	if newest := d.newest.Load(); newest != nil {
		if end, _ := (*newest).Deadline(); time.Until(end) > requestDeadline-time.Second {
			return *newest
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestDeadline)
	_ = cancel           // never called: some request may still use the context
	d.newest.Store(&ctx) // requests that begin at the same time may make one each
	return ctx
}
