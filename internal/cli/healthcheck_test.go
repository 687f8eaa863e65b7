package cli

import (
	"context"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/wait"
)

// With an admin listener the service is well as long as it is ready.
func TestHealthcheckReady(t *testing.T) {
	t.Parallel()
	r, m, conn := halfSent(t, "--admin-addr", "127.0.0.1:0")
	_, addr, _ := strings.Cut(r.adminURL, "://")
	wait.Until(t, "healthcheck says what /readyz says", func() bool { // a slow store is not ready
		out, err := newCommand(t, "plantstore", "healthcheck", "--admin-addr", addr).CombinedOutput()
		return err == nil && string(out) == "ready\n"
	})
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	m.expect(t, "STOPPING=1")
	out, err := newCommand(t, "plantstore", "healthcheck", "--admin-addr", addr).CombinedOutput()
	if err == nil || !strings.HasPrefix(string(out), "plantstore: healthcheck: /readyz responded with 503 Service Unavailable: stopping") {
		t.Errorf("healthcheck of a service that stops says %q, %v, want that it drains", out, err)
	}
	if _, err := io.WriteString(conn, "2}"); err != nil {
		t.Fatal(err)
	}
	if err := r.wait(); err != nil {
		t.Errorf("plantstore serve ended with %v\n%s", err, &r.stderr)
	}
}

// A service that accepts and says nothing is not well.
func TestHealthcheckOfSilentService(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := checkResponds(ctx, silent.Addr().String(), false); err == nil || !strings.HasPrefix(err.Error(), "no response from ") {
		t.Errorf("checkResponds = %v, want that there is no response", err)
	}
}
