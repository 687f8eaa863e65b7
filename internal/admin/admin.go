// Package admin is what operators and their machines ask a running service:
// whether it lives, whether it takes requests, its metrics and its profiles. It
// has a listener of its own, which strangers cannot reach, and asks nobody for a
// token.
package admin

import (
	"context"
	"fmt"
	"net/http"
	"net/http/pprof"
	"time"
)

// readyTime is how long the store may take to answer before it counts as down.
// Whoever asks waits no longer than seconds itself.
const readyTime = time.Second

// New returns the handler of the admin listener; metrics answers scrapes.
func New(health *Health, metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", livez)
	mux.HandleFunc("GET /readyz", health.readyz)
	mux.Handle("GET /metrics", metrics)
	// net/http/pprof also enters itself in the default mux, which no listener of
	// ours serves.
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

// livez answers as long as the program can answer anything: whoever restarts it
// when it does not must not do so because a database is down.
func livez(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "alive") }

// readyz says whether requests should be sent here, and if not, why.
func (h *Health) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTime)
	defer cancel()
	if err := h.Ready(ctx); err != nil {
		say(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	say(w, http.StatusOK, "ready")
}

func say(w http.ResponseWriter, status int, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	fmt.Fprintln(w, text)
}
