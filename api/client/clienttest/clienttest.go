// Package clienttest runs a real Plant Store in the tests of a program that uses
// package client:
//
//	func TestGarden(t *testing.T) {
//		server := clienttest.New(t)
//		garden := NewGarden(server.Client())
//		server.Fail(2, clienttest.Unavailable)
//		…
//	}
//
// It is the handler of the service over an empty store in memory, in the process
// of the test, and ends with the test. Tests can run at the same time, each with a
// server of its own. A program that takes a URL and a token gets [Server.URL] and
// [Server.Token].
package clienttest

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/internal/feed"
	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/store/sqlite"
	"github.com/plantstore/plantstore/internal/token"
)

// A Server is a running Plant Store.
type Server struct {
	URL string

	Token      string // with every scope
	ReadToken  string // with the scope read
	WriteToken string // with the scope write

	t       testing.TB
	handler http.Handler
	mu      sync.Mutex
	faults  []aimed // of the next requests
}

// New starts a Plant Store. It stops at the end of the test.
func New(t testing.TB) *Server {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Memory)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &Server{t: t}
	for _, tok := range []struct {
		text   *string
		scopes []token.Scope
	}{
		{&s.Token, []token.Scope{token.Read, token.Write}},
		{&s.ReadToken, []token.Scope{token.Read}},
		{&s.WriteToken, []token.Scope{token.Write}},
	} {
		var stored token.Token
		stored, *tok.text = token.New("test", tok.scopes, 24*time.Hour)
		if err := store.CreateToken(t.Context(), stored); err != nil {
			t.Fatal(err)
		}
	}
	verifier := token.NewVerifier(store, "")
	t.Cleanup(func() {
		if err := verifier.Close(); err != nil {
			t.Error(err)
		}
	})
	changes := feed.New(store)
	s.handler, err = httpapi.New(httpapi.Options{
		Plants:  store,
		Changes: changes,
		Tokens:  verifier,
		MaxBody: 1 << 20, // as serve has it
		Metrics: prometheus.NewRegistry(),
		Log:     slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(s)
	server.Config.DisableGeneralOptionsHandler = true // as serve has it, and
	server.Config.MaxHeaderBytes = httpapi.MaxHeaderBytes
	server.Config.WriteTimeout = time.Minute
	server.Start()
	t.Cleanup(func() {
		changes.Stop() // no request waits any longer
		server.Close()
	})
	s.URL = server.URL
	return s
}

// Client returns a client of the server with [Server.Token]. It pauses for a
// millisecond before each retry, so that tests are quick. The options replace these
// settings, as in server.Client(client.WithToken(server.ReadToken)).
func (s *Server) Client(opts ...client.Option) *client.Client {
	s.t.Helper()
	opts = append([]client.Option{
		client.WithToken(s.Token),
		client.WithHTTPClient(s.HTTPClient()),
		client.WithBackoff(func(context.Context, int, error) time.Duration { return time.Millisecond }),
	}, opts...)
	c, err := client.New(s.URL, opts...)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}
