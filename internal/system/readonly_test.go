package system_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/program"
)

// A read-only service is ready, answers reads, refuses writes, and stores nothing,
// not even when its tokens were last used. It changes no byte of a database file and of
// its log, whatever state they are in, and reads the plants that only the log has.
func TestServeReadOnly(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]syscall.Signal{ // of the service that has written the store
		"sqlite after SIGKILL": syscall.SIGKILL, "sqlite after SIGTERM": syscall.SIGTERM,
		"sqlite restored": syscall.SIGTERM, "postgres": syscall.SIGTERM,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			store, sums := filepath.Join(dir, "plants.db"), sums
			if name == "postgres" {
				store, sums = pgtest.DSN(t), func(*testing.T, string) (of [2][sha256.Size]byte) { return of }
			}
			r := program.ServeIn(t, dir, store)
			token := program.Output(t, "token", "create", "--name", "client", "--store", store)
			r.Want(t, http.StatusOK, http.MethodPost, "/plants", `{"id":1,"name":"n"}`)
			if end == syscall.SIGKILL {
				r.Kill()
			} else {
				r.End(t, end)
			}
			if name == "sqlite restored" {
				restored := filepath.Join(dir, "restored.db")
				program.Output(t, "restore", "--store", restored, store)
				store = restored
			}
			before := sums(t, store)
			if end == syscall.SIGKILL && before[1] == sha256.Sum256(nil) {
				t.Fatal("the log is empty, so the test does not show that it is read")
			}

			r = program.ServeIn(t, dir, store, "--read-only")
			r.Token = token
			r.WantReady(t, "")
			for _, path := range []string{"/plants/1", "/plants", "/changes", "/plants?limit=1"} {
				r.Want(t, http.StatusOK, http.MethodGet, path, "")
			}
			status, header := r.Call(t, http.MethodPost, "/plants", `{"id":2,"name":"n"}`)
			if status != http.StatusServiceUnavailable || header.Get("Retry-After") != "5" {
				t.Errorf("a create has the status %d and Retry-After %q, want 503 and 5", status, header.Get("Retry-After"))
			}
			r.Want(t, http.StatusServiceUnavailable, http.MethodDelete, "/plants/1", "")
			r.WantReady(t, "")
			r.WantHealth(t, "/writez", "", "writes fail: the service is read-only\n")
			if _, ok := r.Metrics(t)["plantstore_writes_available"]; ok {
				t.Error("a read-only service has the metric of the alert for writes that fail")
			}
			if sums(t, store) != before {
				t.Error("while the service runs, the database or its log is not what it was")
			}
			r.End(t, syscall.SIGTERM) // writes the last uses of a service that is not read-only
			if sums(t, store) != before {
				t.Error("after the service the database or its log is not what it was")
			}
			if !strings.Contains(r.Stderr.String(), `"msg":"read-only: writes get 503"`) {
				t.Errorf("the log does not say that the service is read-only:\n%s", &r.Stderr)
			}
			if out := r.Stdout.String(); !strings.Contains(out, "List plants:\n\ncurl -i "+r.URL+"/plants -H ") || strings.Contains(out, "-d") {
				t.Errorf("the service suggests a write:\n%s", out)
			}
			var all []struct {
				LastUsedAt *time.Time `json:"last_used_at"`
			}
			err := json.Unmarshal([]byte(program.Output(t, "token", "list", "--json", "--store", store)), &all)
			if err != nil || len(all) != 1 || all[0].LastUsedAt != nil {
				t.Errorf("the tokens are %+v, %v, want one that was never used", all, err)
			}
		})
	}
}

// sums returns the checksums of a database and of its log. A log that does not exist is
// an empty one.
func sums(t *testing.T, store string) (of [2][sha256.Size]byte) {
	t.Helper()
	for i, path := range []string{store, store + "-wal"} {
		data, err := os.ReadFile(path)
		if err != nil && (i == 0 || !errors.Is(err, fs.ErrNotExist)) {
			t.Fatal(err)
		}
		of[i] = sha256.Sum256(data)
	}
	return of
}
