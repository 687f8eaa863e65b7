package cli

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// After its file was moved, removed or replaced, a service acknowledges only
// writes that are still there after a restart.
func TestStoreMoved(t *testing.T) {
	t.Parallel()
	for name, move := range map[string]func(t *testing.T, path string) error{
		"mv": func(_ *testing.T, path string) error { return os.Rename(path, path+".old") },
		"rm": func(_ *testing.T, path string) error { return os.Remove(path) },
		"replace": func(t *testing.T, path string) error {
			backup(t, path, path+".new")
			return os.Rename(path+".new", path)
		},
		"rm -wal": func(_ *testing.T, path string) error { return os.Remove(path + "-wal") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "plants.db")
			r := watched(t, dir, "plants.db")
			r.want(t, http.StatusOK, "POST", "/plants", `{"id":1,"name":"before"}`)
			if err := move(t, path); err != nil {
				t.Fatal(err)
			}
			for id := range 5 {
				r.want(t, http.StatusServiceUnavailable, "POST", "/plants",
					fmt.Sprintf(`{"id":1%d,"name":"after"}`, id))
			}
			if body := r.wantReady(t, "the store fails: sqlite: "); !strings.Contains(body, "was moved, removed or replaced") {
				t.Errorf("/readyz says %s", body)
			}
			r.want(t, http.StatusOK, "GET", "/plants/1", "")
			if name == "mv" { // and back
				if err := os.Rename(path+".old", path); err != nil {
					t.Fatal(err)
				}
				r.wantReady(t, "")
				r.want(t, http.StatusOK, "POST", "/plants", `{"id":2,"name":"after"}`)
			}
			r.end(t, syscall.SIGTERM)
			if n := strings.Count(r.stderr.String(), `"msg":"store file moved or removed"`); n != 1 {
				t.Errorf("the log says %d times that the file was moved, want once:\n%s", n, &r.stderr)
			}
		})
	}
}

// A service that has found its file damaged is not ready, and says what to do.
func TestStoreDamaged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "plants.db")
	r := watched(t, dir, "plants.db")
	r.want(t, http.StatusOK, "POST", "/plants:batch", batchOf(0, 1000, strings.Repeat("n", 500)))
	r.end(t, syscall.SIGTERM)
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteAt(make([]byte, 4096), 50*4096)
	file.Close()
	if err != nil {
		t.Fatal(err)
	}

	r = watched(t, dir, "plants.db")
	r.wantReady(t, "") // nothing has read that page
	r.want(t, http.StatusServiceUnavailable, "GET", "/plants?limit=1000", "")
	const hint = "the file is damaged; stop the service, move the file and its -wal and -shm files to another directory, and restore a backup"
	if body := r.wantReady(t, "the store fails: sqlite: "); !strings.Contains(body, hint) {
		t.Errorf("/readyz says %s, want the hint", body)
	}
	r.end(t, syscall.SIGTERM)
	if n := strings.Count(r.stderr.String(), `"msg":"store damaged"`); n != 1 || !strings.Contains(r.stderr.String(), hint) {
		t.Errorf("the log has the damage %d times, want once, with the hint:\n%s", n, &r.stderr)
	}
}

// backup runs plantstore backup.
func backup(t *testing.T, store, file string) {
	t.Helper()
	output(t, "backup", "--store", store, file)
}
