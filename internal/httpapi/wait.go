package httpapi

import (
	"context"
	"math"
	"net/http"
	"time"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/feed"
	"github.com/plantstore/plantstore/internal/limit"
	"github.com/plantstore/plantstore/internal/token"
)

// waitingRoom holds the requests that wait for changes. They hold little, for a long time, so they have slots
// of their own.
type waitingRoom struct {
	authenticator
	changes *feed.Feed
	slots   *limit.Slots
}

// tokenCheck is how often the token of a request that waits is verified again. A
// request ends within a second of its token: a verified token is cached for half a
// second, then it is verified, and endGrace follows.
const tokenCheck = 200 * time.Millisecond

// never is longer than the service runs.
const never = time.Duration(math.MaxInt64)

// errStopping ends the streams of a service that stops.
var errStopping = fail(plantapi.CodeUnavailable, "the service is stopping, connect again")

// admit gives a request that waits a slot until it has ended, and a context without a deadline, which ends with
// the connection of the client. With the method HEAD there is nothing to wait for. Other requests pass as
// they are.
func (room waitingRoom) admit(failures failures) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			scope := &recorderOf(w).scope
			if !scope.waits() {
				next.ServeHTTP(w, r)
				return
			}
			slot, err := room.slots.TakeShare(scope.token)
			if err != nil {
				failures.write(w, r, err)
				return
			}
			defer slot.Release()
			ctx, end := context.WithCancelCause(r.Context())
			defer end(nil)
			if r.Method == http.MethodHead {
				end(nil)
			}
			go room.watch(ctx, r, scope.operation.requiredScope, end)
			next.ServeHTTP(w, r.WithContext(ctx))
		})
	}
}

// watch ends the context of a request that waits when there is no reason to wait any longer: the token is not
// accepted any more, or the service stops. [context.Cause] is a failure if the client should know why.
func (room waitingRoom) watch(ctx context.Context, r *http.Request, needed token.Scope, end context.CancelCauseFunc) {
	tick := time.NewTicker(tokenCheck)
	defer tick.Stop()
	// The end of the token is noticed although the store may not respond then.
	expiry := time.AfterFunc(never, func() { end(errBadCredentials) })
	defer expiry.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-room.changes.Stopped():
			end(errStopping)
		case <-tick.C:
			found, err := room.verify(ctx, r)
			switch {
			case err != nil && failureOf(err).code == plantapi.CodeBadCredentials:
				end(errBadCredentials)
			case err != nil: // the store does not tell, so the request goes on
			case !found.Allows(needed):
				end(lacksScope(needed))
			case found.ExpiresAt.IsZero():
				expiry.Reset(never)
			default:
				expiry.Reset(time.Until(found.ExpiresAt))
			}
		}
	}
}
