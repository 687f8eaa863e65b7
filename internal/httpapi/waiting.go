package httpapi

import (
	"context"
	"math"
	"net/http"
	"time"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// tokenCheck is how often the token of a request that waits is verified again. A
// request ends within a second of its token: a verified token is cached for half a
// second, then it is verified, and endGrace follows.
const tokenCheck = 200 * time.Millisecond

// never is longer than the service runs.
const never = time.Duration(math.MaxInt64)

// errStopping ends the streams of a service that stops.
var errStopping = fail(plantapi.CodeUnavailable, "the service is stopping, connect again")

// waiting returns the context of a request that waits for changes. It has no
// deadline, and ends when there is no reason to wait any longer: the client has
// disconnected, the token is not accepted any more, the service stops, or the
// method is HEAD. The given context is that of net/http. [context.Cause] is a failure if the client should know why.
func (v validator) waiting(
	ctx context.Context, w http.ResponseWriter, r *http.Request,
) (context.Context, context.CancelFunc) {
	rec, counts := recorderOf(w), v.failures.counts
	counts.inFlight.Dec()
	counts.streams.Inc()
	rec.stream = true
	ctx, end := context.WithCancelCause(ctx)
	if r.Method == http.MethodHead {
		end(nil)
	}
	go func() {
		tick := time.NewTicker(tokenCheck)
		defer tick.Stop()
		// The end of the token is noticed although the store may not respond then.
		expiry := time.AfterFunc(never, func() { end(errBadCredentials) })
		defer expiry.Stop()
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-v.stopping:
				end(errStopping)
			case <-tick.C:
				t, err := v.verify(ctx, r)
				switch {
				case err != nil && failureOf(err).code == plantapi.CodeBadCredentials:
					end(errBadCredentials)
				case err != nil: // the store does not tell, so the request goes on
				case !t.Allows(rec.operation.scope):
					end(lacksScope(rec.operation.scope))
				case t.ExpiresAt.IsZero():
					expiry.Reset(never)
				default:
					expiry.Reset(time.Until(t.ExpiresAt))
				}
			}
		}
	}()
	return ctx, func() { end(nil) }
}
