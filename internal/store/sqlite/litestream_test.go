package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// replicated does with a file what Litestream 0.5 does when it finds it: it switches the
// file to WAL mode and creates its tables and, unless it restores the file, a directory.
// `make test-litestream` runs the real one.
func replicated(t *testing.T, path string, directory bool) {
	t.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	must.NoError(t, err)
	must.NoError(t, executeAll(conn, "PRAGMA journal_mode = wal",
		"CREATE TABLE IF NOT EXISTS _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)",
		"CREATE TABLE IF NOT EXISTS _litestream_lock (id INTEGER)",
		"INSERT INTO _litestream_seq (id, seq) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET seq = seq + 1"))
	must.NoError(t, conn.Close())
	if directory {
		must.NoError(t, os.Mkdir(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"-litestream"), 0o700))
	}
}

// A store works with the tables of Litestream in it, also if Litestream has found the empty
// file before the store was created.
func TestLitestreamTables(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]bool{"Litestream comes first": true, "Litestream comes later": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "plants.db")
			if first {
				createFile(path)
				replicated(t, path, true)
			}
			s, err := Open(t.Context(), path)
			must.NoError(t, err)
			must.NoError(t, s.Create(t.Context(), plant.Plant{ID: 1, Name: "Ficus"}))
			must.NoError(t, s.Close())
			if !first {
				replicated(t, path, true)
			}
			s = openStore(t, path)
			if found, now := s.Schema(); found != now {
				t.Errorf("the second start finds schema %d, want %d", found, now)
			}
			_, err = s.Get(t.Context(), 1)
			expect.NoError(t, err)
			_, _, err = s.Changes(t.Context(), nil, 1)
			expect.NoError(t, err)
		})
	}
}

// A file that `litestream restore` has made is used only after `plantstore restore` has
// checked it. The restored store has no tables of Litestream, and later ones do not matter.
func TestLitestreamRestored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, replica := filepath.Join(dir, "plants.db"), filepath.Join(dir, "plants.db.replica")
	s, err := Open(t.Context(), path)
	must.NoError(t, err)
	must.NoError(t, s.Create(t.Context(), plant.Plant{ID: 1, Name: "Ficus"}))
	must.NoError(t, s.Close())
	replicated(t, path, false)

	_, err = Open(t.Context(), path)
	if want := "run plantstore restore --store " + path + " " + replica; err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("Open() = %v, want %q", err, want)
	}
	must.NoError(t, os.Rename(path, replica)) // what the error says
	must.NoError(t, Copy(t.Context(), replica, path, func(int64, int64) {}))
	for _, directory := range []bool{false, true} {
		s, err = Open(t.Context(), path)
		must.NoError(t, err)
		_, err = s.Get(t.Context(), 1)
		expect.NoError(t, err)
		must.NoError(t, s.read(t.Context(), func(conn *sqlite.Conn) error {
			tables, err := number(conn, litestreamTables)
			if err == nil && (tables > 0) != directory {
				t.Errorf("the store has %d tables of Litestream", tables)
			}
			return err
		}))
		must.NoError(t, s.Close())
		if !directory {
			replicated(t, path, true)
		}
	}
}
