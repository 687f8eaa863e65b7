package server

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store/open"
	"github.com/plantstore/plantstore/internal/testing/wait"
	"github.com/plantstore/plantstore/internal/token"
	"github.com/prometheus/client_golang/prometheus"
)

// serveHastily runs the service with one timeout of serve divided by a hundred.
// If serve does not set it, it stays unlimited. The other timeouts never end a
// connection, however slow the machine is. TestServerLimits has all of them.
func serveHastily(t *testing.T, timeout func(*http.Server) *time.Duration) (addr string, plants plant.Store, closed <-chan struct{}) {
	t.Helper()
	store, err := open.Open(t.Context(), "sqlite::memory:")
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := token.NewVerifier(store, "a-static-token-of-ours")
	if err != nil {
		t.Fatal(err)
	}
	handler, err := httpapi.New(httpapi.Options{
		Plants: store, Tokens: tokens, MaxBody: 1 << 20,
		Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	server := newServer(handler, slog.New(slog.DiscardHandler))
	short := *timeout(server) / 100
	// Without a ReadHeaderTimeout the ReadTimeout would limit the headers.
	server.ReadHeaderTimeout, server.ReadTimeout, server.WriteTimeout, server.IdleTimeout = wait.Limit, 0, 0, 0
	*timeout(server) = short
	ended := make(chan struct{}, 10)
	server.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			ended <- struct{}{}
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() {
		for _, close := range []func() error{server.Close, tokens.Close, store.Close} {
			if err := close(); err != nil {
				t.Error(err)
			}
		}
	})
	return listener.Addr().String(), store, ended
}

// A client that takes too long loses its connection, and the service keeps nothing
// for it.
func TestSlowClientsAreCutOff(t *testing.T) {
	t.Parallel()
	const head = "POST /plants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a-static-token-of-ours\r\n"
	readHeader := func(s *http.Server) *time.Duration { return &s.ReadHeaderTimeout }
	for name, c := range map[string]struct {
		sent    string
		want    string // in the response; empty: no response
		timeout func(*http.Server) *time.Duration
	}{
		"nothing is sent":          {"", "", readHeader},
		"a header that never ends": {head + "X-Slow: x", "", readHeader},
		"a body that never ends": {
			head + "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{", `"error":40007`,
			func(s *http.Server) *time.Duration { return &s.ReadTimeout },
		},
		"no second request": {
			"OPTIONS /plants HTTP/1.1\r\nHost: x\r\n\r\n", "204 No Content",
			func(s *http.Server) *time.Duration { return &s.IdleTimeout },
		},
	} {
		t.Run(name, func(t *testing.T) {
			addr, _, closed := serveHastily(t, c.timeout)
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(wait.Limit))
			if _, err := io.WriteString(conn, c.sent); err != nil {
				t.Fatal(err)
			}
			response, err := io.ReadAll(conn)
			if err != nil {
				t.Fatalf("the connection was not closed: %v", err)
			}
			if c.want == "" && len(response) > 0 || !strings.Contains(string(response), c.want) {
				t.Errorf("the response is %q, want %q", response, c.want)
			}
			wait.For(t, "the service to close the connection", closed)
		})
	}
}

// A client that requests much and reads nothing is cut off. Each response is
// too short to be paced.
func TestClientsThatNeverReadAreCutOff(t *testing.T) {
	t.Parallel()
	addr, store, closed := serveHastily(t, func(s *http.Server) *time.Duration { return &s.WriteTimeout })
	for id := range int64(100) {
		if err := store.Create(t.Context(), plant.Plant{ID: id, Name: strings.Repeat("x", 2<<10)}); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(wait.Limit))
	_ = conn.(*net.TCPConn).SetReadBuffer(4096)
	const request = "GET /plants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a-static-token-of-ours\r\n\r\n"
	if _, err := io.WriteString(conn, strings.Repeat(request, 100)); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "the service to close the connection", closed)
}
