package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"
)

// adminStopTime is how long a scrape may still take during a shutdown. A
// profile that takes longer is cut off.
const adminStopTime = time.Second

// readyTime is how long the store may take before it counts as down. Load
// balancers wait for a few seconds at most.
const readyTime = time.Second

// newAdmin returns the handler of the admin listener: liveness, readiness, whether
// writes work, metrics and profiles. It does not authenticate requests.
func newAdmin(health *Health, metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", livez)
	mux.HandleFunc("GET /readyz", health.respond("ready", health.Ready))
	mux.HandleFunc("GET /writez", health.respond("writable", health.Writable))
	mux.Handle("GET /metrics", metrics)
	// net/http/pprof also registers itself in the default mux, which no
	// listener of ours serves.
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

// livez responds as long as the program responds at all. It does not depend on
// the store: a restart does not repair a database.
func livez(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "alive") }

// respond returns a handler that says good if check returns nil, and otherwise the
// error.
func (h *Health) respond(good string, check func(context.Context) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), readyTime)
		defer cancel()
		if err := check(ctx); err != nil {
			say(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		say(w, http.StatusOK, good)
	}
}

func say(w http.ResponseWriter, status int, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	fmt.Fprintln(w, text)
}

// startAdmin serves the admin listener until stop is called. It does nothing if
// addr is empty.
func startAdmin(stdout io.Writer, log *slog.Logger, addr string, handler http.Handler) (stop func(), err error) {
	if addr == "" {
		return func() {}, nil
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, explainListen("--admin-addr", addr, err)
	}
	server := &http.Server{
		Handler:           guardHost(listener.Addr(), handler),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute, // no WriteTimeout: a profile takes as long as requested
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	go func() {
		if err := server.Serve(listener); err != http.ErrServerClosed {
			log.Error("admin listener failed", "err", err)
		}
	}()
	fmt.Fprintf(stdout, "plantstore admin listens on http://%s\n", listener.Addr())
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), adminStopTime)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			_ = server.Close()
		}
	}, nil
}
