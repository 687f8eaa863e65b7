package client_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/api/client/clienttest"
)

// operations are one call of each operation but Update, by name.
var operations = map[string]func(context.Context, *client.Client) error{
	"create": func(ctx context.Context, c *client.Client) error { return c.Create(ctx, client.Plant{ID: 1}) },
	"createBatch": func(ctx context.Context, c *client.Client) error {
		return second(c.CreateBatch(ctx, []client.Plant{{ID: 1}}))
	},
	"insert": func(ctx context.Context, c *client.Client) error { return second(c.Insert(ctx, client.Plant{ID: 1})) },
	"page":   func(ctx context.Context, c *client.Client) error { return second(c.List(ctx)) },
	"get":    func(ctx context.Context, c *client.Client) error { return second(c.Get(ctx, 1)) },
	"list":   func(ctx context.Context, c *client.Client) error { return second(next(c.All(ctx))) },
	"tags":   func(ctx context.Context, c *client.Client) error { return second(next(c.Tags(ctx, ""))) },
	"count":  func(ctx context.Context, c *client.Client) error { _, _, err := c.Count(ctx); return err },
	"put":    func(ctx context.Context, c *client.Client) error { return second(c.Put(ctx, client.Plant{ID: 1})) },
	"patch":  func(ctx context.Context, c *client.Client) error { return second(c.Patch(ctx, 1, client.Patch{})) },
	"delete": func(ctx context.Context, c *client.Client) error { return c.Delete(ctx, 1) },
}

// What is sent again, and how often, by operation and by what came back.
func TestRetries(t *testing.T) {
	t.Parallel()
	const attempts = 3
	safe := map[string]bool{"create": true, "insert": true, "page": true, "createBatch": true, "get": true, "list": true, "tags": true, "count": true}
	change := map[string]bool{"create": true, "insert": true, "createBatch": true, "put": true, "patch": true, "delete": true}
	respond := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status); _, _ = w.Write([]byte(body)) }
	}
	for _, c := range []struct {
		name    string
		handle  http.HandlerFunc
		any     bool // every operation is repeated
		safe    bool // the safe ones are
		unknown bool // a change may have been stored or not
	}{
		{"429", respond(429, `{"error":42900,"message":"too many"}`), true, true, false},
		{"503", respond(503, `{"error":50300,"message":"not available"}`), false, true, true},
		{"503 without changes", respond(503, `{"error":50301,"message":"no changes"}`), false, false, false},
		{"502 of a proxy", respond(502, "<html>"), false, true, true},
		{"500 of a proxy", respond(500, "<html>"), false, true, true},
		{"501 of another server", respond(501, "<html>"), false, false, false},
		{"429 of a proxy", respond(429, "slow down"), true, true, false},
		{"500", respond(500, `{"error":50000,"message":"internal error"}`), false, false, false},
		{"401", respond(401, `{"error":40101,"message":"wrong"}`), false, false, false},
		{"307", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusTemporaryRedirect)
		}, false, false, false},
		{"a login page", respond(200, "<html>"), false, false, true},
		{"no response", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, false, true, true},
		{"half a success", half(200), false, true, true},
		{"half a failure", half(400), false, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for name, call := range operations {
				if (name == "delete" || name == "insert") && c.name == "half a success" {
					continue // theirs is not 200: see TestInsert
				}
				var sent atomic.Int64
				plants := at(t, handle(t, func(w http.ResponseWriter, r *http.Request) { sent.Add(1); c.handle(w, r) }), client.WithAttempts(attempts))
				err := call(t.Context(), plants)
				want := int64(1)
				if c.any || c.safe && safe[name] {
					want = attempts
				}
				if sent.Load() != want {
					t.Errorf("%s: %d requests, want %d", name, sent.Load(), want)
				}
				if _, ok := errors.AsType[*client.Error](err); !ok && c.name != "no response" {
					t.Errorf("%s: the status is lost in %v", name, err)
				}
				if got, want := errors.Is(err, client.ErrOutcomeUnknown), c.unknown && change[name]; got != want || err == nil {
					t.Errorf("%s: the error is %v, want one, and an unknown outcome: %t", name, err, want)
				}
			}
		})
	}
}

// half is a response that ends in the middle of its body.
func half(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"error":40010,`))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// After a lost response a failure does not mean that nothing has changed, unless it
// says what is stored.
func TestFailureAfterLostResponse(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		`{"error":40101,"message":"credentials not valid"}`:     true,
		`{"error":40010,"message":"another plant has this id"}`: false,
	} {
		for _, name := range []string{"create", "createBatch"} {
			var sent atomic.Int64
			err := operations[name](t.Context(), at(t, handle(t, func(w http.ResponseWriter, _ *http.Request) {
				if sent.Add(1) == 1 {
					panic(http.ErrAbortHandler)
				}
				w.WriteHeader(map[bool]int{true: 401, false: 400}[want])
				_, _ = w.Write([]byte(body))
			})))
			if e, ok := errors.AsType[*client.Error](err); !ok || e.Code == 0 || errors.Is(err, client.ErrOutcomeUnknown) != want {
				t.Errorf("%s: after %s the error is %v, want an unknown outcome: %t", name, body, err, want)
			}
		}
	}
}

// A refused connection changes nothing, so every operation is repeated.
func TestRefusedConnection(t *testing.T) {
	t.Parallel()
	const url = "http://127.0.0.1:1" // where nothing listens
	for name, call := range operations {
		tries := 0
		err := call(t.Context(), at(t, url, client.WithAttempts(3), client.WithTokenFunc(func(context.Context) (string, error) {
			tries++
			return "token", nil
		})))
		if tries != 3 || !errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, client.ErrOutcomeUnknown) {
			t.Errorf("%s: %d attempts, error %v", name, tries, err)
		}
	}
}

// A certificate that the machine does not trust is not tried again: nothing was sent.
func TestUntrusted(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains about the client
	server.StartTLS()
	t.Cleanup(server.Close)
	tries := 0
	c := at(t, server.URL, client.WithTokenFunc(func(context.Context) (string, error) { tries++; return "token", nil }))
	err := c.Delete(t.Context(), 1)
	if err == nil || errors.Is(err, client.ErrOutcomeUnknown) || tries != 1 {
		t.Errorf("%d attempts, error %v", tries, err)
	}
}

// The context ends a request, and a pause, at once.
func TestCancel(t *testing.T) {
	t.Parallel()
	server := clienttest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	server.Fail(1, clienttest.Unavailable)
	c := server.Client(client.WithBackoff(func(context.Context, int, error) time.Duration { cancel(); return time.Hour }))
	err := c.Create(ctx, client.Plant{ID: 1})
	wantError(t, err, context.Canceled)
	wantError(t, err, client.ErrUnavailable)
	wantError(t, err, client.ErrOutcomeUnknown)

	// A request that has not been sent yet has changed nothing.
	if err := c.Delete(ctx, 1); !errors.Is(err, context.Canceled) || errors.Is(err, client.ErrOutcomeUnknown) {
		t.Errorf("the error is %v", err)
	}

	// A request under way. The context ends when the server has the request: with a
	// real deadline it could end before the client has sent it.
	slow := clienttest.New(t)
	slow.Fail(1, clienttest.Delay(time.Hour))
	ctx, end := context.WithCancelCause(t.Context())
	defer end(nil)
	url := handle(t, func(w http.ResponseWriter, r *http.Request) {
		end(context.DeadlineExceeded)
		slow.ServeHTTP(w, r)
	})
	err = at(t, url, client.WithToken(slow.Token)).Create(ctx, client.Plant{ID: 1})
	wantError(t, err, context.DeadlineExceeded)
	wantError(t, err, client.ErrOutcomeUnknown)

	// A pause that would outlast the deadline does not begin.
	server.Fail(2, clienttest.Unavailable)
	ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c = server.Client(client.WithBackoff(func(context.Context, int, error) time.Duration { return time.Hour }))
	wantError(t, second(c.Get(ctx, 1)), client.ErrUnavailable)
	c = server.Client(client.WithBackoff(func(context.Context, int, error) time.Duration { return -1 }))
	wantError(t, second(c.Get(ctx, 1)), client.ErrUnavailable)
}

// The HTTP client of a program is used and not changed.
func TestHTTPClient(t *testing.T) {
	t.Parallel()
	own := &http.Client{Timeout: 20 * time.Millisecond}
	release := make(chan struct{})
	url := handle(t, func(http.ResponseWriter, *http.Request) { <-release })
	t.Cleanup(func() { close(release) })
	c := at(t, url, client.WithHTTPClient(own), client.WithAttempts(2))
	_, err := c.Get(t.Context(), 1)
	if e, ok := errors.AsType[net.Error](err); !ok || !e.Timeout() {
		t.Errorf("the error is %v, want a timeout", err)
	}
	if own.Transport != nil || own.CheckRedirect != nil {
		t.Errorf("the HTTP client has changed: %+v", own)
	}
}
