package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	_ "net/http/pprof"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	// adminStopTime is how long a scrape may still take during a shutdown. A
	// profile that takes longer is cut off.
	adminStopTime = time.Second

	// readyTime is how long the store may take before it counts as down. Load
	// balancers wait for a few seconds at most.
	readyTime = time.Second
)

// newAdmin returns the handler of the admin listener: liveness, readiness, whether
// writes work, the heartbeat of Litestream, metrics and profiles.
func newAdmin(health *health, registry *prometheus.Registry) http.Handler {
	mux := adminMux(registry)
	mux.HandleFunc("GET /readyz", respond("ready", health.ready))
	mux.HandleFunc("GET /writez", respond("writable", health.writable))
	mux.HandleFunc("GET /heartbeat", heartbeat(registry))
	return mux
}

// adminMux returns what every admin listener has: liveness, metrics and profiles. It does
// not authenticate requests.
func adminMux(registry *prometheus.Registry) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", livez)
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.Handle("/debug/pprof/", http.DefaultServeMux)          // net/http/pprof registers itself there
	mux.Handle("/debug/pprof/cmdline", http.NotFoundHandler()) // --store may have a password
	return mux
}

// livez responds as long as the program responds at all. It does not depend on
// the store: a restart does not repair a database.
func livez(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "alive") }

// respond returns a handler that says good if check returns nil, and otherwise the
// error.
func respond(good string, check func(context.Context) error) http.HandlerFunc {
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

// heartbeat returns the handler for the heartbeat-url of Litestream, which sends a request
// after it has copied the store to its replica. The metric says how far behind the replica
// is: the metrics of Litestream do not.
func heartbeat(registry *prometheus.Registry) http.HandlerFunc {
	last := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "plantstore_litestream_heartbeat_timestamp_seconds",
		Help: "Time of the last heartbeat of Litestream in seconds since 1970, or 0 without one.",
	})
	registry.MustRegister(last)
	return func(w http.ResponseWriter, _ *http.Request) {
		last.SetToCurrentTime()
		say(w, http.StatusOK, "noted")
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

// StartAdmin serves liveness, metrics and profiles of another command until stop is called. It does
// nothing if addr is empty. There is no plantstore_build_info, which says that a server runs.
func StartAdmin(stdout io.Writer, log *slog.Logger, addr string, metrics ...prometheus.Collector) (stop func(), err error) {
	return startAdmin(stdout, log, addr, adminMux(newRegistry(metrics...)))
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

// health reports whether the service takes requests. The zero health is that of a
// service that is starting. Its methods may be called from several goroutines at the
// same time.
type health struct {
	checks   atomic.Pointer[checks] // nil: the service is starting
	draining atomic.Bool
}

// checks are the checks of a store, which say why reads and why writes fail. A check may hang
// after its context has ended.
type checks struct{ reads, writes func(context.Context) error }

// start marks the service as ready and writable, as long as the checks return nil.
func (h *health) start(c checks) { h.checks.Store(&c) }

// drain marks the service as stopping. It is called before the listener closes, so
// that load balancers stop sending requests here. The store is not checked again.
func (h *health) drain() { h.draining.Store(true) }

// ready returns nil if the service answers reads, and otherwise the reason. It returns
// when ctx ends, even if the store does not.
func (h *health) ready(ctx context.Context) error {
	checks := h.checks.Load()
	switch {
	case h.draining.Load():
		return errors.New("stopping: the service finishes the requests in flight and then ends")
	case checks == nil:
		return errors.New("starting")
	}
	return ask(ctx, "the store fails", checks.reads)
}

// writable returns nil if the service is ready and writes work, and otherwise the
// reason. It returns when ctx ends, even if the store does not.
func (h *health) writable(ctx context.Context) error {
	if err := h.ready(ctx); err != nil {
		return err
	}
	return ask(ctx, "writes fail", h.checks.Load().writes)
}

// ask returns the error of a check after what fails. It returns when ctx ends: a call to a
// disk that hangs does not return.
func ask(ctx context.Context, what string, check func(context.Context) error) error {
	checked := make(chan error, 1)
	go func() { checked <- check(ctx) }()
	var err error
	select {
	case err = <-checked:
	case <-ctx.Done():
		err = ctx.Err()
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("the store does not respond in time")
	case err != nil:
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// newMetrics returns a registry with the metrics of the process, and
// plantstore_build_info.
func newMetrics(b Build) *prometheus.Registry {
	return newRegistry(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "plantstore_build_info",
		Help:        "Always 1, with the version, the commit and the Go version of the program as labels.",
		ConstLabels: prometheus.Labels{"goversion": b.Go, "revision": b.Commit, "version": b.Version},
	}, func() float64 { return 1 }))
}

// newRegistry returns a registry with the metrics of the Go runtime and the process, and
// more.
func newRegistry(more ...prometheus.Collector) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(more...)
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}

// guardHost protects a listener that is bound to a loopback address from DNS
// rebinding: a web page makes the name of its own host resolve to 127.0.0.1, and
// its scripts then read the response. Such a request has that name as its Host,
// so only localhost and IP addresses are accepted. For any other listener
// guardHost returns handler: its clients may use any name.
func guardHost(listening net.Addr, handler http.Handler) http.Handler {
	if addr, ok := listening.(*net.TCPAddr); !ok || !addr.IP.IsLoopback() {
		return handler
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLocal(r.Host) {
			say(w, http.StatusForbidden, "the Host header must be localhost or an IP address")
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// isLocal reports whether the value of a Host header is one that no DNS server
// chooses the address for. No browser leaves it out; HTTP/1.0 clients may.
func isLocal(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	_, err := netip.ParseAddr(host)
	return err == nil || host == "" || strings.EqualFold(host, "localhost")
}
