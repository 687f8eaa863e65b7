package server

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

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
