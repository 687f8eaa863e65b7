package cli

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/api/client/clienttest"
	"github.com/plantstore/plantstore/internal/atomicfile"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// A rejected change is durably in the file of --rejects before the position moves on.
func TestWebhookRejectsDurably(t *testing.T) { // not parallel: it sets atomicfile.Record
	service := clienttest.New(t)
	must.NoError(t, service.Client().Create(t.Context(), client.Plant{ID: 1, Name: "1"}))
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer receiver.Close()
	dir, folder := t.TempDir(), t.TempDir()
	state, rejects, secret := filepath.Join(dir, "state"), filepath.Join(folder, "rejects"), filepath.Join(dir, "secret")
	must.NoError(t, os.WriteFile(secret, []byte("whsec_c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0"), 0o600))

	ctx, cancel := context.WithTimeout(t.Context(), wait.Limit)
	defer cancel()
	synced, moved := false, 0
	atomicfile.Record = func(step, path, to string) {
		switch text, _ := os.ReadFile(rejects); {
		case step == "sync" && path == folder:
			synced = strings.Count(string(text), "\n") == 1
		case step == "rename" && to == state:
			if moved++; moved == 2 { // the first one stores where it begins
				cancel()
			}
			if synced != (moved == 2) {
				t.Errorf("the position is stored %d times, and it is %v that the change is stored", moved, synced)
			}
		}
	}
	defer func() { atomicfile.Record = func(_, _, _ string) {} }()
	token := func(name string) string { return map[string]string{"PLANTSTORE_TOKEN": service.ReadToken}[name] }
	err := run(ctx, system{getenv: token, stdout: io.Discard, stderr: io.Discard}, []string{
		"plantstore", "webhook", "--server", service.URL, "--to", receiver.URL, "--secret-file", secret,
		"--state", state, "--from", "start", "--rejects", rejects, "--retry", "100ms",
	})
	if err != nil || moved != 2 {
		t.Errorf("webhook ends with %v after the position was stored %d times", err, moved)
	}
}
