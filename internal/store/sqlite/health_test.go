package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/wait"
	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/metricstest"
)

func TestReady(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plants.db")
	s := openStore(t, path)
	wantErr(t, "Ready of a new store", s.Ready(t.Context()), nil)

	// Another program has locked the file.
	conn := wait.For(t, "the writer", s.writer)
	conn.SetBusyTimeout(time.Millisecond)
	s.writer <- conn
	other, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	must(t, err)
	defer other.Close()
	must(t, execute(other, "BEGIN IMMEDIATE"))
	wantErr(t, "Ready while another program writes", s.Ready(t.Context()), plant.ErrUnavailable)
	must(t, execute(other, "ROLLBACK"))
	wantErr(t, "Ready after that", s.Ready(t.Context()), nil)

	must(t, execute(other, "PRAGMA user_version = 1"))
	if err := s.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "the file has schema 1, this program needs") {
		t.Errorf("Ready with an old schema = %v", err)
	}
}

func TestMetrics(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plants.db")
	for name, want := range map[string]bool{path: true, Memory: false} {
		s := openStore(t, name)
		must(t, s.Create(t.Context(), plant.Plant{ID: 1}))
		got := metricstest.Of(t, s.Metrics())
		if n := got["plantstore_store_group_size_count"]; n != 1 {
			t.Errorf("%s: number of groups = %v, want 1", name, n)
		}
		for metric, file := range map[string]string{"plantstore_sqlite_bytes": path, "plantstore_sqlite_wal_bytes": path + "-wal"} {
			size, has := got[metric]
			if info, _ := os.Stat(file); has != want || want && size != float64(info.Size()) {
				t.Errorf("%s: %s = %v (exists: %v)", name, metric, size, has)
			}
		}
	}
}
