package httpapi

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"
)

// requestDeadline is how long a valid request may take until its response is ready
// to be written, less a second at most. It is shorter than the drain of a shutdown.
const requestDeadline = 20 * time.Second

// deadlines makes the contexts of valid requests. net/http cancels the context of a
// request when the client closes its sending half of the connection, although the
// client may still read. So clients do not cancel requests; only deadlines do.
//
// The requests of a second share a context. With a context and a timer for each
// request, a create takes 24 % more CPU in the handler (7.4 instead of 6.0 µs) and
// six more allocations.
type deadlines struct {
	newest atomic.Pointer[deadline]
}

type deadline struct {
	context.Context
	cancel context.CancelFunc // never called: some request may still use the context
	began  time.Time
}

// context returns a context that ends at the deadline of a request that begins now.
func (d *deadlines) context(*http.Request) context.Context {
	now := time.Now()
	newest := d.newest.Load()
	if newest == nil || now.Sub(newest.began) >= time.Second {
		ctx, cancel := context.WithTimeout(context.Background(), requestDeadline)
		newest = &deadline{ctx, cancel, now}
		d.newest.Store(newest) // requests that begin at the same time may make one each
	}
	return newest.Context
}
