package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// tokenCheck is how often the token of a request that waits is verified again. A
// verified token is cached for half a second, so a request ends within a second of
// its token.
const tokenCheck = 400 * time.Millisecond

// errStopping ends the streams of a service that stops.
var errStopping = fail(plantapi.CodeUnavailable, "the service is stopping, connect again")

// waiting returns the context of a request that waits for changes. It has no
// deadline, and ends when there is no reason to wait any longer: the client has
// disconnected, the token is not accepted any more, the service stops, or the
// method is HEAD. [context.Cause] is a failure if the client should know why.
func (v validator) waiting(w http.ResponseWriter, r *http.Request) (context.Context, context.CancelFunc) {
	rec, counts := recorderOf(w), v.failures.counts
	counts.inFlight.Dec()
	counts.streams.Inc()
	rec.stream = true
	ctx, end := context.WithCancelCause(r.Context())
	if r.Method == http.MethodHead {
		end(nil)
	}
	go func() {
		tick := time.NewTicker(tokenCheck)
		defer tick.Stop()
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-v.stopping:
				end(errStopping)
			case <-tick.C:
				if err := v.stillAllowed(ctx, r, rec.operation); err != nil {
					end(err)
				}
			}
		}
	}()
	return ctx, func() { end(nil) }
}

// stillAllowed returns a failure if the token of a request is not accepted any
// more. If the store does not tell, the request goes on.
func (v validator) stillAllowed(ctx context.Context, r *http.Request, op *operation) error {
	t, err := v.verify(ctx, r)
	switch {
	case err != nil && failureOf(err).code == plantapi.CodeBadCredentials:
		return errBadCredentials
	case err == nil && !t.Allows(op.scope):
		return lacksScope(op.scope)
	}
	return nil
}
