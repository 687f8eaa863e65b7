package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// drainTime is how long a shutdown waits for requests in flight. It is longer
	// than any write may take.
	drainTime = 25 * time.Second

	// idleGrace is how long idle connections stay open during a shutdown. A client
	// that sends nothing for so long is unlikely to send a request at the moment
	// when its connection is closed.
	idleGrace = 2 * time.Second

	// idleTick is how often the connections are checked. The checks are counted, so
	// that a pause of the whole program or machine does not use up idleGrace.
	idleTick = 5 * time.Millisecond
)

// gracefulShutdown stops a server without losing a request: each one gets a
// complete response, or its connection is refused.
//
// [http.Server.Shutdown] alone is not enough. It closes idle connections of HTTP/1.1 at
// once, and drops a request that it has just read, so a client that sends a request on
// a kept connection at that moment gets no response. HTTP/1.1 can announce the
// end of a connection only in a response (RFC 9112, section 9.6). So every
// response during the drain has Connection: close, and Shutdown closes only what
// is left: idle connections. HTTP/2 says itself which requests were not handled
// (GOAWAY), so Shutdown loses none of them, and nothing waits for its connections.
type gracefulShutdown struct {
	server *http.Server
	open   sync.Map     // the connections of HTTP/1.1, and those whose protocol is not known yet
	busy   atomic.Int64 // requests
	done   atomic.Int64 // requests that have ended since begin
	begun  atomic.Bool
}

// newGracefulShutdown prepares a server for a graceful shutdown. The server must
// have its handler and no ConnState.
func newGracefulShutdown(server *http.Server) *gracefulShutdown {
	s := &gracefulShutdown{server: server}
	next := server.Handler
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.busy.Add(1)
		defer s.end()
		if s.begun.Load() {
			w.Header().Set("Connection", "close") // for HTTP/2 net/http sends GOAWAY instead
		}
		next.ServeHTTP(w, r)
	})
	server.ConnState = func(conn net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			s.open.Store(conn, nil)
		case http.StateActive:
			if hasHTTP2(conn) {
				s.open.Delete(conn)
			}
		case http.StateClosed, http.StateHijacked:
			s.open.Delete(conn)
		}
	}
	return s
}

func hasHTTP2(conn net.Conn) bool {
	secure, ok := conn.(*tls.Conn)
	return ok && secure.ConnectionState().NegotiatedProtocol == "h2"
}

func (s *gracefulShutdown) end() {
	if s.begun.Load() {
		s.done.Add(1)
	}
	s.busy.Add(-1)
}

// begin adds Connection: close to every response from now on.
func (s *gracefulShutdown) begin() { s.begun.Store(true) }

// stop drains and closes the server of l. begin must be called before; served
// receives the result of Serve.
func (s *gracefulShutdown) stop(ctx context.Context, log *slog.Logger, l listener, served <-chan error) error {
	ctx, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	if err := l.retire(); err != nil {
		log.Warn("new connections may be reset while the listener closes", "err", err)
	}
	select {
	case <-served: // no connection is accepted any more
	case <-ctx.Done():
	}
	s.awaitClients(ctx, time.Tick(idleTick))
	if err := s.server.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("requests in flight after %v were cut off: %w", drainTime, err), s.server.Close())
	}
	return nil
}

// awaitClients waits until all connections of HTTP/1.1 are closed, or idle for idleGrace.
// tick receives a value every idleTick.
func (s *gracefulShutdown) awaitClients(ctx context.Context, tick <-chan time.Time) {
	var done int64
	for idle := 0; s.hasOpen() && idle <= int(idleGrace/idleTick); idle++ {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
		if now := s.done.Load(); now != done || s.busy.Load() > 0 {
			done, idle = now, 0
		}
	}
}

func (s *gracefulShutdown) hasOpen() (has bool) {
	s.open.Range(func(any, any) bool { has = true; return false })
	return has
}
