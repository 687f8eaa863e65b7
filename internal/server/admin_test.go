package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
)

// get returns the status and the body of a response.
func get(t *testing.T, handler http.Handler, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

func TestReady(t *testing.T) {
	health := &Health{}
	handler := newAdmin(health, serveMetrics(prometheus.NewRegistry()))
	var fault error
	for _, step := range []struct {
		do   func()
		want string // empty: ready
	}{
		{func() {}, "starting\n"},
		{func() { health.Started(func(context.Context) error { return fault }, works) }, ""},
		{func() { fault = errors.New("the cable is out") }, "the store fails: the cable is out\n"},
		{func() { fault = nil }, ""},
		{health.Drain, "stopping: the service finishes the requests in flight and then ends\n"},
		{func() { fault = errors.New("it must not be asked") }, "stopping: the service finishes the requests in flight and then ends\n"},
	} {
		step.do()
		wantStatus, wantBody := http.StatusServiceUnavailable, step.want
		if step.want == "" {
			wantStatus, wantBody = http.StatusOK, "ready\n"
		}
		if status, body := get(t, handler, "/readyz"); status != wantStatus || body != wantBody {
			t.Errorf("/readyz is %d %q, want %d %q", status, body, wantStatus, wantBody)
		}
		if status, body := get(t, handler, "/livez"); status != http.StatusOK || body != "alive\n" {
			t.Errorf("/livez is %d %q, want that it does not depend on readiness", status, body)
		}
	}
}

func works() error { return nil }

// Writes may fail while the service is ready, but do not work while it is not.
func TestWritable(t *testing.T) {
	health := &Health{}
	handler := newAdmin(health, serveMetrics(prometheus.NewRegistry()))
	var store, writes error
	for _, step := range []struct {
		do   func()
		want string // empty: writable
	}{
		{func() {}, "starting\n"},
		{func() {
			health.Started(func(context.Context) error { return store }, func() error { return writes })
		}, ""},
		{func() { writes = errors.New("the disk is full") }, "writes fail: the disk is full\n"},
		{func() { store = errors.New("the cable is out") }, "the store fails: the cable is out\n"},
		{func() { store, writes = nil, nil }, ""},
		{health.Drain, ErrDraining.Error() + "\n"},
	} {
		step.do()
		wantStatus, wantBody := http.StatusServiceUnavailable, step.want
		if step.want == "" {
			wantStatus, wantBody = http.StatusOK, "writable\n"
		}
		if status, body := get(t, handler, "/writez"); status != wantStatus || body != wantBody {
			t.Errorf("/writez is %d %q, want %d %q", status, body, wantStatus, wantBody)
		}
	}
}

// A store that hangs does not delay /readyz.
func TestReadyTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hanging := make(chan struct{})
		defer close(hanging)
		health := &Health{}
		health.Started(func(context.Context) error { <-hanging; return nil }, works)
		status, body := get(t, newAdmin(health, serveMetrics(prometheus.NewRegistry())), "/readyz")
		if status != http.StatusServiceUnavailable || body != "the store does not respond in time\n" {
			t.Errorf("/readyz is %d %q", status, body)
		}
	})
}

func TestAdminPages(t *testing.T) {
	registry := prometheus.NewRegistry()
	plants := prometheus.NewCounter(prometheus.CounterOpts{Name: "plants_total", Help: "Plants."})
	plants.Add(3)
	registry.MustRegister(plants)
	server := httptest.NewServer(newAdmin(&Health{}, serveMetrics(registry)))
	defer server.Close()
	for path, want := range map[string]string{
		"/metrics":                       "\nplants_total 3\n",
		"/debug/pprof/":                  "goroutine",
		"/debug/pprof/goroutine?debug=1": "goroutine profile",
		"/debug/pprof/cmdline":           "server.test",
		"/debug/pprof/symbol":            "num_symbols",
		"/debug/pprof/profile?seconds=1": "",
		"/debug/pprof/trace?seconds=0.1": "",
	} {
		resp, err := http.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || len(body) == 0 || !strings.Contains(string(body), want) {
			t.Errorf("%s = %s %.300q, %v, want %q in it", path, resp.Status, body, err, want)
		}
	}
	for method, path := range map[string]string{"GET": "/plants", "POST": "/readyz", "DELETE": "/metrics"} {
		w := httptest.NewRecorder()
		server.Config.Handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, nil))
		if w.Code != http.StatusNotFound && w.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s %s has the status %d", method, path, w.Code)
		}
	}
}
