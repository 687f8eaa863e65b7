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
	// drainTime is how long requests in flight may take once the service has
	// been told to stop. It is longer than any write may take.
	drainTime = 25 * time.Second

	// idleGrace is how long a connection stays open then that has no request.
	// Its client has not used it for that long, and so is unlikely to do so in
	// the very moment in which it is closed.
	idleGrace = 2 * time.Second
)

// farewell stops a server so that every request is answered whole or refused at
// connect.
//
// [http.Server.Shutdown] alone closes idle connections at once, and drops a
// request that it has just read: a client that keeps its connections and sent
// one in that moment gets nothing. Until a connection is closed HTTP/1.1 can
// only say so with an answer (RFC 9112, 9.6). So it is said with the next
// answer, and Shutdown is for what is left: HTTP/2, which says which requests it
// has not begun, and connections that nobody uses.
type farewell struct {
	server   *http.Server
	open     atomic.Int64 // connections
	busy     atomic.Int64 // requests
	begun    atomic.Bool
	lastDone atomic.Int64 // when a request was done since then, or it began; Unix nanoseconds
}

// prepareFarewell makes a server ready to be stopped. Its handler must have been
// set, and it must have no ConnState.
func prepareFarewell(server *http.Server) *farewell {
	f := &farewell{server: server}
	next := server.Handler
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.busy.Add(1)
		defer f.done()
		if f.begun.Load() {
			w.Header().Set("Connection", "close") // for HTTP/2 net/http makes GOAWAY of it
		}
		next.ServeHTTP(w, r)
	})
	server.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			f.open.Add(1)
		case http.StateClosed, http.StateHijacked:
			f.open.Add(-1)
		}
	}
	return f
}

func (f *farewell) done() {
	if f.begun.Load() {
		f.lastDone.Store(time.Now().UnixNano())
	}
	f.busy.Add(-1)
}

// begin has every answer from now on say that its connection is closed.
func (f *farewell) begin() {
	f.lastDone.Store(time.Now().UnixNano())
	f.begun.Store(true)
}

// stop stops the server that serves l, after begin; served is where its Serve
// returns.
func (f *farewell) stop(ctx context.Context, log *slog.Logger, l listener, served <-chan error) error {
	ctx, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	if err := l.retire(); err != nil {
		log.Warn("who connects in this moment may be reset", "err", err)
	}
	select {
	case <-served: // nothing is accepted any more
	case <-ctx.Done():
	}
	f.awaitClients(ctx)
	if err := f.server.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("requests in flight after %v were cut off: %w", drainTime, err), f.server.Close())
	}
	return nil
}

// awaitClients waits until every client has gone, or those who are left do
// nothing.
func (f *farewell) awaitClients(ctx context.Context) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for f.open.Load() > 0 {
		if f.busy.Load() == 0 && time.Since(time.Unix(0, f.lastDone.Load())) > idleGrace {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
