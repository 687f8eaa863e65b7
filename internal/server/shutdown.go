package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
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
)

// gracefulShutdown stops a server without losing a request: each one gets a
// complete response, or its connection is refused.
//
// [http.Server.Shutdown] alone is not enough. It closes idle connections at once,
// and drops a request that it has just read, so a client that sends a request on
// a kept connection at that moment gets no response. HTTP/1.1 can announce the
// end of a connection only in a response (RFC 9112, section 9.6). So every
// response during the drain has Connection: close, and Shutdown closes only what
// is left: idle connections, and those of HTTP/2, which says itself which requests
// were not handled.
type gracefulShutdown struct {
	server   *http.Server
	open     atomic.Int64 // connections
	busy     atomic.Int64 // requests
	begun    atomic.Bool
	lastDone atomic.Int64 // when the last request ended or the shutdown began; Unix nanoseconds
}

// newGracefulShutdown prepares a server for a graceful shutdown. The server must
// have its handler and no ConnState.
func newGracefulShutdown(server *http.Server) *gracefulShutdown {
	s := &gracefulShutdown{server: server}
	next := server.Handler
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.busy.Add(1)
		defer s.done()
		if s.begun.Load() {
			w.Header().Set("Connection", "close") // in HTTP/2 net/http sends GOAWAY instead
		}
		next.ServeHTTP(w, r)
	})
	server.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			s.open.Add(1)
		case http.StateClosed, http.StateHijacked:
			s.open.Add(-1)
		}
	}
	return s
}

func (s *gracefulShutdown) done() {
	if s.begun.Load() {
		s.lastDone.Store(time.Now().UnixNano())
	}
	s.busy.Add(-1)
}

// begin adds Connection: close to every response from now on.
func (s *gracefulShutdown) begin() {
	s.lastDone.Store(time.Now().UnixNano())
	s.begun.Store(true)
}

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
	s.awaitClients(ctx)
	if err := s.server.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("requests in flight after %v were cut off: %w", drainTime, err), s.server.Close())
	}
	return nil
}

// awaitClients waits until all connections are closed, or idle for idleGrace.
func (s *gracefulShutdown) awaitClients(ctx context.Context) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for s.open.Load() > 0 {
		if s.busy.Load() == 0 && time.Since(time.Unix(0, s.lastDone.Load())) > idleGrace {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
