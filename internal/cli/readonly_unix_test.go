//go:build unix

package cli

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A read-only service changes no byte of the database and of its log, whatever state
// they are in, and reads the plants that only the log has.
func TestServeReadOnlyChangesNoByte(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end     syscall.Signal // of the service that has written the store
		restore bool           // read a store that restore has made of it
	}{
		"after SIGKILL": {end: syscall.SIGKILL},
		"after SIGTERM": {end: syscall.SIGTERM},
		"restored":      {end: syscall.SIGTERM, restore: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			store := filepath.Join(dir, "plants.db")
			r := watched(t, dir, store)
			token := output(t, "token", "create", "--name", "client", "--store", store)
			r.want(t, http.StatusOK, http.MethodPost, "/plants", `{"id":1,"name":"n"}`)
			if c.end == syscall.SIGKILL {
				r.kill()
			} else {
				r.end(t, c.end)
			}
			if c.restore {
				restored := filepath.Join(dir, "restored.db")
				output(t, "restore", "--store", restored, store)
				store = restored
			}
			before := sums(t, store)
			if c.end == syscall.SIGKILL && before[1] == sha256.Sum256(nil) {
				t.Fatal("the log is empty, so the test does not show that it is read")
			}

			r = watched(t, dir, store, "--read-only")
			r.token = token
			for _, path := range []string{"/plants/1", "/plants", "/changes", "/plants?limit=1"} {
				r.want(t, http.StatusOK, http.MethodGet, path, "")
			}
			r.want(t, http.StatusServiceUnavailable, http.MethodDelete, "/plants/1", "")
			r.wantReady(t, "")
			if sums(t, store) != before {
				t.Error("while the service runs, the database or its log is not what it was")
			}
			r.end(t, syscall.SIGTERM)
			if sums(t, store) != before {
				t.Error("after the service the database or its log is not what it was")
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

// A read-only service says why it cannot use a store.
func TestServeReadOnlyRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := filepath.Join(dir, "old.db")
	data, err := os.ReadFile("../store/sqlite/testdata/released/001.db")
	if err == nil {
		err = os.WriteFile(old, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	before := sums(t, old)
	for store, want := range map[string]string{
		old:                           "this store has schema 1 and this program needs schema 5; neither copy nor serve --read-only changes it: run plantstore migrate on it first",
		filepath.Join(dir, "none.db"): "does not exist, and serve --read-only creates no store: check the path",
	} {
		fails(t, want, "serve", "--addr", "127.0.0.1:0", "--read-only", "--store", store)
	}
	if sums(t, old) != before {
		t.Error("the store was changed")
	}
}
