package cli

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/wait"
)

// With an admin listener the service is well as long as it is ready. A service that is
// told to stop is not ready at once, but alive, and its admin listener stays open until
// the last request has finished.
func TestHealthcheckReady(t *testing.T) {
	t.Parallel()
	r, m, conn := halfSent(t, "--admin-addr", "127.0.0.1:0")
	healthcheck := func() string {
		out, _ := newCommand(t, "plantstore", "healthcheck", "--admin-addr",
			strings.TrimPrefix(r.adminURL, "http://")).CombinedOutput()
		return string(out)
	}
	wait.Until(t, "healthcheck says what /readyz says", func() bool { return healthcheck() == "ready\n" })
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	m.expect(t, "STOPPING=1")
	r.wantReady(t, "stopping")
	if out := healthcheck(); !strings.HasPrefix(out,
		"plantstore: healthcheck: /readyz responded with 503 Service Unavailable: stopping") {
		t.Errorf("healthcheck of a service that stops says %q, want that it drains", out)
	}
	if status, _ := r.page(t, "/livez"); status != http.StatusOK {
		t.Errorf("/livez has the status %d during a shutdown", status)
	}
	if _, err := io.WriteString(conn, "2}"); err != nil {
		t.Fatal(err)
	}
	wantResponse(t, bufio.NewReader(conn), http.StatusBadRequest)
	if err := r.wait(); err != nil {
		t.Errorf("plantstore serve ended with %v\n%s", err, &r.stderr)
	}
	if resp, err := http.Get(r.adminURL + "/livez"); err == nil {
		resp.Body.Close()
		t.Error("the admin listener is open after the program has ended")
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
