//go:build unix

package sqlite

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// SQLite never writes the page with the byte at 1 GiB, which it locks. The log lacks no other page.
func TestLogHasAllPages(t *testing.T) {
	t.Parallel()
	const pageSize, locked = 64 << 10, 1<<14 + 1
	for _, missing := range []int64{locked - 1, locked, locked + 1} {
		logged := loggedPages{last: map[int64]int64{}, end: locked + 1}
		for page := int64(1); page <= logged.end; page++ {
			logged.last[page] = page
		}
		delete(logged.last, missing)
		if got, want := logged.hasAll(pageSize), missing == locked; got != want {
			t.Errorf("without page %d the log has all pages: %t, want %t", missing, got, want)
		}
	}
}

// A backup of any moment is copied over the database after the check of the files, while a
// checkpoint waits for a read. The checkpoint then writes the header and the mark of the database.
// The service notices it, or nothing is missing, because the log has all that the backup lacks.
func TestOverwrittenDuringCheckpoint(t *testing.T) {
	t.Parallel()
	const steps = 8
	seeds := 6
	if testing.Short() {
		seeds = 1
	}
	var noticed, during atomic.Int32
	t.Run("backup", func(t *testing.T) {
		for seed := range seeds {
			for moment := range steps {
				t.Run(fmt.Sprint(seed, " before step ", moment), func(t *testing.T) {
					t.Parallel()
					isNoticed, isDuring := testOverwritten(t, rand.New(rand.NewPCG(0, uint64(seed))), steps, moment)
					if isNoticed {
						noticed.Add(1)
					}
					if isDuring {
						during.Add(1)
					}
				})
			}
		}
	})
	t.Logf("figures: %d of %d backups over the database noticed, the others had everything with the log", noticed.Load(), steps*seeds)
	if noticed.Load() == 0 {
		t.Error("no backup was noticed that lacks plants")
	}
	if during.Load() == 0 {
		t.Error("the file was not changed at the moment that this test is about")
	}
}

func testOverwritten(t *testing.T, random *rand.Rand, steps, moment int) (noticed, during bool) {
	path, backup := filepath.Join(t.TempDir(), "plants.db"), filepath.Join(t.TempDir(), "backup.db")
	s := openStore(t, path)
	fill(t, s, 0, 400<<10)
	for step := range steps {
		if step == moment {
			must.NoError(t, Backup(t.Context(), path, backup, false, ignore))
		}
		changeSomething(t, s, random, int64(step+1)<<20)
	}
	reader := wait.For(t, "a reader", s.readers)
	must.NoError(t, execute(reader, "BEGIN"))
	countPlants(t, reader) // it uses the log from here
	fill(t, s, 1<<30, 20<<10)

	want := plantsIn(t, path)
	data := []byte(read(t, backup))
	overwritten := make(chan error, 1)
	var ended atomic.Bool // on a busy machine, maybe before the write
	go func() {
		for !s.files.copying.Load() && !ended.Load() {
			time.Sleep(time.Millisecond)
		}
		during = s.files.copying.Load()
		overwritten <- errors.Join(os.WriteFile(path, data, 0o600), execute(reader, "COMMIT"))
	}()
	err := copyTheLog(t, s)
	ended.Store(true)
	must.NoError(t, wait.For(t, "the end of the write", overwritten))
	s.readers <- reader
	s.checkFiles(t.Context())
	if s.files.err() != nil {
		return true, during
	}
	must.NoError(t, err)
	if got := plantsIn(t, path); got != want {
		t.Error("plants are missing, or older than they were, and the change was not noticed")
	}
	return false, during
}

// changeSomething changes a plant, or creates some, or copies the log.
func changeSomething(t *testing.T, s *Store, random *rand.Rand, id int64) {
	t.Helper()
	switch random.IntN(3) {
	case 0:
		changed := fmt.Sprint("changed before ", id)
		must.NoError(t, s.runWrite(t.Context(), func(conn *sqlite.Conn) error {
			return execute(conn, "UPDATE plants SET name = ? WHERE id = ?", changed, random.Int64N(400))
		}))
	case 1:
		fill(t, s, id, 50<<10)
	case 2:
		must.NoError(t, copyTheLog(t, s))
	}
}

func copyTheLog(t *testing.T, s *Store) error {
	t.Helper()
	conn := wait.For(t, "the writer", s.writer)
	defer func() { s.writer <- conn }()
	_, err := s.files.copyLog(conn)
	return err
}

// plantsIn returns the plants that a new connection to the database at path sees.
func plantsIn(t *testing.T, path string) string {
	t.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	must.NoError(t, err)
	defer conn.Close()
	var plants strings.Builder
	must.NoError(t, query(conn, "SELECT id, name FROM plants ORDER BY id", func(row *sqlite.Stmt) error {
		_, err := fmt.Fprintln(&plants, row.ColumnInt64(0), row.ColumnText(1))
		return err
	}))
	return plants.String()
}
