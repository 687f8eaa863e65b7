package httpapi

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"
)

// requestContext is the context of one request. It is the caller's own, knows
// what chi finds out about the route, and can be made to outlive the caller: a
// context for each of them would want a copy of the request for each, too.
type requestContext struct {
	context.Context              // of the caller
	request         http.Request // with this context
	route           *chi.Context

	mu       sync.Mutex
	deadline time.Time          // set by outliveCaller
	detached context.Context    // made once somebody wants to wait for the deadline
	cancel   context.CancelFunc // of detached
	ended    bool
}

// routeContexts has empty ones, as the pool of a [chi.Mux] would.
var routeContexts = sync.Pool{New: func() any { return chi.NewRouteContext() }}

// inContext serves each request in a requestContext.
type inContext struct{ mux *chi.Mux }

func (in inContext) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx := &requestContext{Context: r.Context(), route: routeContexts.Get().(*chi.Context)}
	defer ctx.end()
	ctx.request = *r.WithContext(ctx)
	ctx.route.Reset()
	ctx.route.Routes = in.mux
	in.mux.ServeHTTP(w, &ctx.request) // takes the route that is there for its own
	routeContexts.Put(ctx.route)
}

// outliveCaller gives the request that ctx belongs to until the deadline,
// whatever becomes of its caller from now on.
func outliveCaller(ctx context.Context, deadline time.Time) {
	c := ctx.Value(requestContextKey{}).(*requestContext)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = deadline
}

// requestContextKey finds the requestContext among the values of a context.
type requestContextKey struct{}

func (c *requestContext) Value(key any) any {
	switch key {
	case chi.RouteCtxKey:
		return c.route
	case requestContextKey{}:
		return c
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.deadline.IsZero():
		return c.Context.Value(key)
	case c.detached != nil:
		return c.detached.Value(key) // which the context package looks into for its own
	}
	return context.WithoutCancel(c.Context).Value(key)
}

func (c *requestContext) Deadline() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.deadline.IsZero() {
		return c.Context.Deadline()
	}
	return c.deadline, true
}

func (c *requestContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.deadline.IsZero() {
		return c.Context.Done()
	}
	return c.wait().Done()
}

func (c *requestContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.deadline.IsZero():
		return c.Context.Err()
	case c.detached != nil:
		return c.detached.Err()
	case c.ended:
		return context.Canceled
	case !time.Now().Before(c.deadline):
		return context.DeadlineExceeded
	}
	return nil
}

// wait returns the context that ends at the deadline. Most writes are done
// before anybody has to wait for them, and need no timer. The caller holds mu.
func (c *requestContext) wait() context.Context {
	if c.detached == nil {
		c.detached, c.cancel = context.WithDeadline(context.WithoutCancel(c.Context), c.deadline)
		if c.ended {
			c.cancel()
		}
	}
	return c.detached
}

// end tells whoever still works on the request that it is over.
func (c *requestContext) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	if c.cancel != nil {
		c.cancel()
	}
}
