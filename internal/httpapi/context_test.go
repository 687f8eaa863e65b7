package httpapi

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-chi/chi/v5"
)

type (
	callerKey struct{}
	childKey  struct{}
)

// serveOnce sends one request whose context is ctx to a handler in a
// requestContext.
func serveOnce(t *testing.T, ctx context.Context, handler func(ctx context.Context)) {
	t.Helper()
	mux := chi.NewRouter()
	mux.Get("/plants/{id}", func(_ http.ResponseWriter, r *http.Request) {
		if got := chi.URLParam(r, "id"); got != "7" {
			t.Errorf("chi knows the id as %q", got)
		}
		handler(r.Context())
	})
	r, err := http.NewRequestWithContext(context.WithValue(ctx, callerKey{}, "caller"), http.MethodGet, "/plants/7", nil)
	if err != nil {
		t.Fatal(err)
	}
	inContext{mux}.ServeHTTP(nil, r)
}

// done reports whether the context has ended, as Done and Err have it.
func done(t *testing.T, ctx context.Context) bool {
	t.Helper()
	select {
	case <-ctx.Done():
		if ctx.Err() == nil {
			t.Error("Done is closed and Err is nil")
		}
		return true
	default:
		if err := ctx.Err(); err != nil {
			t.Errorf("Done is open and Err is %v", err)
		}
		return false
	}
}

func TestContextEndsWithCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		caller, hangUp := context.WithTimeout(t.Context(), time.Hour)
		serveOnce(t, caller, func(ctx context.Context) {
			if done(t, ctx) {
				t.Error("ended before its caller has gone")
			}
			if at, ok := ctx.Deadline(); !ok || time.Until(at) != time.Hour {
				t.Errorf("Deadline = %v, %v, want that of the caller", at, ok)
			}
			hangUp()
			if !done(t, ctx) {
				t.Error("goes on though its caller has gone")
			}
		})
	})
}

// Whoever waits for a write, in whichever way, waits until its deadline.
func TestContextOutlivesCaller(t *testing.T) {
	for name, wait := range map[string]func(context.Context) context.Context{
		"itself": func(ctx context.Context) context.Context { return ctx },
		"a child": func(ctx context.Context) context.Context {
			child, cancel := context.WithTimeout(ctx, time.Hour)
			t.Cleanup(cancel)
			return child
		},
		"a value": func(ctx context.Context) context.Context {
			return context.WithValue(ctx, childKey{}, "child")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				caller, hangUp := context.WithCancelCause(t.Context())
				var left context.Context
				serveOnce(t, caller, func(ctx context.Context) {
					outliveCaller(ctx, time.Now().Add(time.Minute))
					hangUp(errors.New("hung up"))
					ctx = wait(ctx)
					if done(t, ctx) {
						t.Error("ended with the caller")
					}
					if at, ok := ctx.Deadline(); !ok || time.Until(at) != time.Minute {
						t.Errorf("Deadline = %v, %v, want its own", at, ok)
					}
					if ctx.Value(callerKey{}) != "caller" {
						t.Error("the values of the caller's context are lost")
					}
					time.Sleep(time.Minute - time.Nanosecond)
					if done(t, ctx) {
						t.Error("ended before the deadline")
					}
					time.Sleep(time.Nanosecond)
					synctest.Wait()
					if !done(t, ctx) || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
						t.Errorf("after the deadline Err = %v", ctx.Err())
					}
					left = ctx
				})
				if !done(t, left) {
					t.Error("goes on after the request is over")
				}
			})
		})
	}
}

// The clock alone ends a write that nobody waits for.
func TestContextOfUnawaitedWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var left context.Context
		caller, hangUp := context.WithCancelCause(t.Context())
		serveOnce(t, caller, func(ctx context.Context) {
			outliveCaller(ctx, time.Now().Add(time.Minute))
			hangUp(errors.New("hung up"))
			time.Sleep(time.Minute - time.Nanosecond)
			if err := ctx.Err(); err != nil {
				t.Errorf("before the deadline Err = %v", err)
			}
			time.Sleep(time.Nanosecond)
			if err := context.Cause(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("after the deadline Cause = %v", err)
			}
		})
		serveOnce(t, t.Context(), func(ctx context.Context) {
			outliveCaller(ctx, time.Now().Add(time.Minute))
			left = ctx
		})
		if err := left.Err(); !errors.Is(err, context.Canceled) {
			t.Errorf("after the request Err = %v", err)
		}
		if !done(t, left) {
			t.Error("can be waited for after the request")
		}
	})
}
