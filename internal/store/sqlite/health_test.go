package sqlite

import (
	"os"
	"path/filepath"
	"testing"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/metricstest"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// Ready says whether reads work; see also TestStoreRecoversFromFaults.
func TestReady(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plants.db")
	s := openStore(t, path)
	expect.Error(t, "Ready of a new store", s.Ready(t.Context()), nil)

	other, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	must.NoError(t, err)
	defer other.Close()
	for _, table := range []string{"plants", "tokens", "changes", "epochs", "history"} {
		must.NoError(t, execute(other, "ALTER TABLE "+table+" RENAME TO renamed"))
		expect.Message(t, "Ready without the table "+table, s.Ready(t.Context()), "no such table")
		must.NoError(t, execute(other, "ALTER TABLE renamed RENAME TO "+table))
		expect.Error(t, "Ready after that", s.Ready(t.Context()), nil)
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plants.db")
	for name, want := range map[string]bool{path: true, Memory: false} {
		s := openStore(t, name)
		must.NoError(t, s.Create(t.Context(), plant.Plant{ID: 1}))
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
