package server

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plantstore/plantstore/internal/testing/metricstest"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// get returns the status and the body of a response.
func get(t *testing.T, handler http.Handler, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

// Writes may fail while the service is ready, but do not work while it is not. Whether
// it is alive does not depend on either.
func TestHealth(t *testing.T) {
	health := &health{}
	handler := newAdmin(health, prometheus.NewRegistry())
	var store, writes error
	const stopping = "stopping: the service finishes the requests in flight and then ends"
	for _, step := range []struct {
		do              func()
		ready, writable string // the reason why not
	}{
		{func() {}, "starting", "starting"},
		{func() {
			health.start(checks{
				reads:  func(context.Context) error { return store },
				writes: func(context.Context) error { return writes },
			})
		}, "", ""},
		{func() { writes = errors.New("the disk is full") }, "", "writes fail: the disk is full"},
		{
			func() { store = errors.New("the cable is out") },
			"the store fails: the cable is out", "the store fails: the cable is out",
		},
		{func() { store, writes = nil, nil }, "", ""},
		{health.drain, stopping, stopping},
		{func() { store = errors.New("it must not be asked") }, stopping, stopping},
	} {
		step.do()
		check := func(path, reason, good string) {
			wantStatus, wantBody := http.StatusOK, good+"\n"
			if reason != "" {
				wantStatus, wantBody = http.StatusServiceUnavailable, reason+"\n"
			}
			if status, body := get(t, handler, path); status != wantStatus || body != wantBody {
				t.Errorf("%s is %d %q, want %d %q", path, status, body, wantStatus, wantBody)
			}
		}
		check("/readyz", step.ready, "ready")
		check("/writez", step.writable, "writable")
		check("/livez", "", "alive")
	}
}

// A store that hangs delays neither signal, whether reads or only writes hang.
func TestHealthTimesOut(t *testing.T) {
	for _, path := range []string{"/readyz", "/writez"} {
		synctest.Test(t, func(t *testing.T) {
			end := make(chan struct{})
			defer close(end)
			fine := func(context.Context) error { return nil }
			hangs := func(context.Context) error { <-end; return nil }
			health := &health{}
			health.start(map[string]checks{"/readyz": {reads: hangs, writes: fine}, "/writez": {reads: fine, writes: hangs}}[path])
			status, body := get(t, newAdmin(health, prometheus.NewRegistry()), path)
			if status != http.StatusServiceUnavailable || body != "the store does not respond in time\n" {
				t.Errorf("%s is %d %q", path, status, body)
			}
		})
	}
}

// The metric is 0 until Litestream sends its first heartbeat.
func TestHeartbeat(t *testing.T) {
	registry := prometheus.NewRegistry()
	handler := newAdmin(&health{}, registry)
	last := func() float64 {
		return metricstest.Scrape(t, registry)["plantstore_litestream_heartbeat_timestamp_seconds"]
	}
	if at := last(); at != 0 {
		t.Errorf("before a heartbeat the metric is %v", at)
	}
	before := float64(time.Now().Unix())
	if status, body := get(t, handler, "/heartbeat"); status != http.StatusOK || last() < before {
		t.Errorf("after a heartbeat at %v, which gets %d %q, the metric is %v", before, status, body, last())
	}
}

func TestAdminPages(t *testing.T) {
	registry := prometheus.NewRegistry()
	plants := prometheus.NewCounter(prometheus.CounterOpts{Name: "plants_total", Help: "Plants."})
	plants.Add(3)
	registry.MustRegister(plants)
	server := httptest.NewServer(newAdmin(&health{}, registry))
	defer server.Close()
	get := func(path string) (status int, text string) {
		resp, err := http.Get(server.URL + path)
		must.NoError(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		must.NoError(t, err)
		return resp.StatusCode, string(body)
	}
	for path, want := range map[string]string{
		"/metrics":                       "\nplants_total 3\n",
		"/debug/pprof/":                  "goroutine",
		"/debug/pprof/goroutine?debug=1": "goroutine profile",
		"/debug/pprof/symbol":            "num_symbols",
		"/debug/pprof/profile?seconds=1": "",
		"/debug/pprof/trace?seconds=0.1": "",
	} {
		if status, text := get(path); status != http.StatusOK || text == "" || !strings.Contains(text, want) {
			t.Errorf("%s = %d %.300q, want %q in it", path, status, text, want)
		}
	}
	for _, path := range []string{"/debug/pprof/cmdline", "/plants"} { // the command line may have a password, in --store
		if status, _ := get(path); status != http.StatusNotFound {
			t.Errorf("%s = %d, want 404", path, status)
		}
	}
}

func TestGuardHost(t *testing.T) {
	ok := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	for _, c := range []struct {
		listening, host string
		want            int
	}{
		{"127.0.0.1", "localhost", 200},
		{"127.0.0.1", "LocalHost:9090", 200},
		{"127.0.0.1", "127.0.0.1:9090", 200},
		{"127.0.0.1", "192.0.2.1", 200},
		{"127.0.0.1", "[::1]", 200},
		{"::1", "[::1]:9090", 200},
		{"127.8.0.1", "", 200},
		{"127.0.0.1", "example.com", 403},
		{"127.0.0.1", "example.com:9090", 403},
		{"127.0.0.1", "localhost.example.com", 403},
		{"127.0.0.1", "127.0.0.1.example.com:9090", 403},
		{"127.8.0.1", "127.1:9090", 403},
		{"::1", "ip6-localhost", 403},
		{"::1", ":9090:", 403},
		{"0.0.0.0", "example.com:9090", 200},
		{"192.0.2.1", "example.com", 200},
		{"::", "example.com", 200},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
		r.Host = c.host
		w := httptest.NewRecorder()
		guardHost(&net.TCPAddr{IP: net.ParseIP(c.listening), Port: 9090}, ok).ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("on %s, Host %q has the status %d, want %d", c.listening, c.host, w.Code, c.want)
		}
	}
}
