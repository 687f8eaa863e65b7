package cli

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// healthcheck returns what plantstore healthcheck prints about the program.
func (r *running) healthcheck(t *testing.T, args ...string) string {
	t.Helper()
	args = append([]string{"healthcheck", "--admin-addr", strings.TrimPrefix(r.adminURL, "http://")}, args...)
	out, _ := newCommand(t, "plantstore", args...).CombinedOutput()
	return string(out)
}

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
