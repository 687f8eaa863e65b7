package server

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/store/open"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pipes"
	"github.com/plantstore/plantstore/internal/token"
)

// newHandler returns the handler of an empty store in memory.
func newHandler(t *testing.T) http.Handler {
	t.Helper()
	store, err := open.Open(t.Context(), "sqlite::memory:")
	must.NoError(t, err)
	tokens := token.NewVerifier(store, "a-static-token-of-ours")
	t.Cleanup(func() { expect.NoError(t, errors.Join(tokens.Close(), store.Close())) })
	handler, err := httpapi.New(httpapi.Options{
		Plants: store, Tokens: tokens, MaxBody: 1 << 20,
		Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
	})
	must.NoError(t, err)
	return handler
}

// The timeouts and sizes of the server are exactly those of the manual. A client that
// takes too long loses its connection.
func TestServerLimits(t *testing.T) {
	const (
		options = "OPTIONS /plants HTTP/1.1\r\nHost: x\r\n"
		create  = "POST /plants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a-static-token-of-ours\r\n" +
			"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
	)
	large := func(n int) string { return options + "X-Large: " + strings.Repeat("x", n) + "\r\n\r\n" }
	for name, c := range map[string]struct {
		sent  string
		reads bool
		after time.Duration // the connection is closed
		want  string        // in the response; empty: no response
		late  time.Duration // it may be closed so much later
	}{
		"nothing is sent":          {sent: "", reads: true, after: 10 * time.Second},
		"a header that never ends": {sent: options + "X-Slow: x", reads: true, after: 10 * time.Second},
		// From Go 1.27 on, net/http waits for half a second before it closes.
		"a body that never ends": {sent: create, reads: true, after: 30 * time.Second, late: 500 * time.Millisecond, want: `"error":40007`},
		"no second request":      {sent: options + "\r\n", reads: true, after: 2 * time.Minute, want: "204 No Content"},
		"nothing is read":        {sent: options + "\r\n", after: time.Minute},
		"30 KiB of headers":      {sent: large(30 << 10), reads: true, after: 2 * time.Minute, want: "204 No Content"},
		// net/http waits for half a second before it closes.
		"40 KiB of headers": {sent: large(40 << 10), reads: true, after: 500 * time.Millisecond, want: " 431 "},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer(newHandler(t), slog.New(slog.DiscardHandler))
				closed := make(chan time.Duration, 1)
				began := time.Now()
				server.ConnState = func(_ net.Conn, state http.ConnState) {
					if state == http.StateClosed {
						closed <- time.Since(began)
					}
				}
				listener := make(pipes.Listener, 1)
				go func() { _ = server.Serve(listener) }()
				defer server.Close()
				client, err := listener.DialContext(t.Context(), "", "")
				must.NoError(t, err)
				defer client.Close()
				go func() { _, _ = io.WriteString(client, c.sent) }()
				response := make(chan string, 1)
				if c.reads {
					go func() {
						text, _ := io.ReadAll(client)
						response <- string(text)
					}()
				}
				select {
				case after := <-closed:
					if after != c.after && after != c.after+c.late {
						t.Errorf("the connection is closed after %v, want %v", after, c.after)
					}
				case <-time.After(time.Hour):
					t.Fatal("the connection is open after an hour")
				}
				if !c.reads {
					return
				}
				if got := <-response; (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
					t.Errorf("the response is %.600q, want %q", got, c.want)
				}
			})
		})
	}
}

// A connection of HTTP/2 has few requests at the same time, which net/http tells the client.
func TestServerLimitsStreams(t *testing.T) {
	server := newServer(http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	if got := server.HTTP2.MaxConcurrentStreams; got != 16 {
		t.Errorf("the server allows %d requests at the same time, want 16", got)
	}
}
