package cli

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// A service that accepts and says nothing is not well.
func TestHealthcheckOfSilentService(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	must.NoError(t, err)
	defer silent.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := checkResponds(ctx, silent.Addr().String(), false); err == nil || !strings.HasPrefix(err.Error(), "no response from ") {
		t.Errorf("checkResponds = %v, want that there is no response", err)
	}
}

// A port of another program is not a healthy service, whatever it responds.
func TestHealthcheckOfAnotherProgram(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status  int
		secure  bool
		withTLS bool
		words   string
	}{
		"a page":                   {http.StatusOK, false, false, "200 OK, which is not a response of plantstore: add --tls-cert FILE if serve has it, or check --addr"},
		"a preflight":              {http.StatusNoContent, false, false, "204 No Content, which is not a response of plantstore: add --tls-cert FILE if serve has it, or check --addr"},
		"a proxy without service":  {http.StatusServiceUnavailable, false, false, "503 Service Unavailable, which is not a response"},
		"TLS":                      {http.StatusOK, true, false, "not a response of plantstore: add --tls-cert FILE if serve has it"},
		"another program with TLS": {http.StatusOK, true, true, "200 OK, which is not a response of plantstore: check --addr"},
		"plain HTTP":               {http.StatusOK, false, true, "does not use TLS: leave out --tls-cert"},
	} {
		other := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
		}))
		other.Config.ErrorLog = log.New(io.Discard, "", 0)
		if c.secure {
			other.StartTLS()
		} else {
			other.Start()
		}
		defer other.Close()
		ctx, cancel := context.WithTimeout(t.Context(), wait.Limit)
		defer cancel()
		err := checkResponds(ctx, other.Listener.Addr().String(), c.withTLS)
		expect.Message(t, name, err, c.words)
	}
	welcome := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "<html>welcome")
	}))
	defer welcome.Close()
	_, err := getHealth(t.Context(), welcome.Listener.Addr().String(), "/readyz", "ready")
	expect.Message(t, "an admin listener that is a page", err, "200 OK, which is not a response of plantstore: check --admin-addr")
}
