package system_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
)

// A service that has found its file damaged answers no request, is not ready, and says what
// to do. The next start refuses the file.
func TestStoreDamaged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "plants.db")
	r := program.ServeIn(t, dir, "plants.db")
	r.Want(t, http.StatusOK, "POST", "/plants:batch", batchOf(0, 1000, strings.Repeat("n", 500)))
	r.End(t, syscall.SIGTERM)
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	must.NoError(t, err)
	_, err = file.WriteAt(make([]byte, 4096), 50*4096)
	file.Close()
	must.NoError(t, err)

	r = program.ServeIn(t, dir, "plants.db")
	r.WantReady(t, "") // nothing has read that page
	r.Want(t, http.StatusServiceUnavailable, "GET", "/plants?limit=1000", "")
	const hint = "plants.db* to another directory, and restore a backup"
	if body := r.WantReady(t, "the store fails: sqlite: "); !strings.Contains(body, hint) {
		t.Errorf("/readyz says %s, want the hint", body)
	}
	r.WantHealth(t, "/writez", "", "the store fails: sqlite: ")
	r.Want(t, http.StatusServiceUnavailable, "GET", "/plants?limit=1", "")
	r.End(t, syscall.SIGTERM)
	if n := strings.Count(r.Stderr.String(), `"msg":"store files cannot be used"`); n != 1 || !strings.Contains(r.Stderr.String(), hint) {
		t.Errorf("the log has the damage %d times, want once, with the hint:\n%s", n, &r.Stderr)
	}
	if again, err := program.Launch(dir, nil, "--addr", "127.0.0.1:0", "--store", "plants.db"); err == nil {
		again.End(t, syscall.SIGTERM)
		t.Error("the next start serves the damaged file")
	} else if !strings.Contains(err.Error(), "was found damaged") || !strings.Contains(err.Error(), hint) {
		t.Errorf("the next start says %v", err)
	}
}

// backup runs plantstore backup.
func backup(t *testing.T, store, file string) {
	t.Helper()
	program.Output(t, "backup", "--store", store, file)
}
