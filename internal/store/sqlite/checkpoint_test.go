package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// The log stays short even if there is always a running read.
func TestWALIsBounded(t *testing.T) {
	const limit = int64(2 * checkpointPages * 4096)
	for end := time.Now().Add(wait.Limit); time.Now().Before(end); {
		longest, slowest := fillDuringReads(t)
		if longest <= limit {
			return
		}
		// A try waits for reads of a part of the log, then for those that began meanwhile. If it
		// has to wait longer than checkpointWait/2, the log may be longer.
		if slowest < checkpointWait/4 {
			t.Fatalf("size of the log = %d bytes, want at most %d", longest, limit)
		}
		t.Logf("a read took %v; size of the log = %d bytes", slowest, longest)
	}
	t.Errorf("for %v there was always a read that took more than %v", wait.Limit, checkpointWait/4)
}

// fillDuringReads writes 12 MiB to a new store while there is always a running
// read. It returns the longest size of the log and the duration of the slowest read.
func fillDuringReads(t *testing.T) (longest int64, slowest time.Duration) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plants.db")
	s := openStore(t, path)
	var mu sync.Mutex // of slowest
	first := time.Now()
	stop := wait.Repeat(readers, func(i int) bool {
		// The reads overlap. Each sleeps like a read that waits for a processor.
		time.Sleep(time.Until(first.Add(time.Duration(i) * checkpointWait / 20)))
		began := time.Now()
		err := s.read(t.Context(), func(conn *sqlite.Conn) error {
			if err := execute(conn, "BEGIN"); err != nil {
				return err
			}
			countPlants(t, conn)
			time.Sleep(checkpointWait / 10)
			return execute(conn, "COMMIT")
		})
		expect.NoError(t, err)
		mu.Lock()
		defer mu.Unlock()
		slowest = max(slowest, time.Since(began))
		return true
	})
	for i := range int64(12) {
		fill(t, s, i<<20, 1<<20)
		info, err := os.Stat(path + "-wal")
		must.NoError(t, err)
		longest = max(longest, info.Size())
	}
	stop()
	return longest, slowest
}

// A long read of another program, such as a backup, keeps the log from being
// reset. It does not delay writes, and after it the log becomes short again.
func TestWritesDuringLongRead(t *testing.T) {
	t.Parallel()
	must.HaveTime(t)
	path := filepath.Join(t.TempDir(), "plants.db")
	s := openStore(t, path)
	fill(t, s, 0, 1<<20)
	other, err := openConn(path, forReaders, sqlite.OpenReadWrite)
	must.NoError(t, err)
	defer other.Close()
	must.NoError(t, execute(other, "BEGIN"))
	before := countPlants(t, other)
	fill(t, s, 1<<20, 24<<20)
	if after := countPlants(t, other); after != before {
		t.Errorf("the read saw %d plants, then %d", before, after)
	}
	// Each checkpoint that is due during the read doubles the length of the log for the
	// next one, but adds no more than retryPages.
	logged := pagesInLog(t, s)
	if next := s.checkpointAt; next < 8*checkpointPages || next > logged+retryPages {
		t.Errorf("the log has %d pages and the next checkpoint is due at %d", logged, next)
	}
	must.NoError(t, execute(other, "COMMIT"))
	fill(t, s, 2<<20, 20<<20)
	writer := wait.For(t, "the writer", s.writer)
	defer func() { s.writer <- writer }()
	if ms, err := number(writer, "PRAGMA busy_timeout"); err != nil || ms != busyTimeout.Milliseconds() {
		t.Errorf("after a checkpoint writes wait %d ms for other programs, %v, want %v", ms, err, busyTimeout)
	}
	_, pages, _, err := checkpoint(writer, "NOOP")
	if err != nil || pages > 2*checkpointPages {
		t.Errorf("after the read the log has %d pages, %v, want at most %d", pages, err, 2*checkpointPages)
	}
}

// When another program has reset a log that had become long, such as Litestream, the next
// checkpoint is due at the usual length again.
func TestCheckpointAfterReset(t *testing.T) {
	t.Parallel()
	s := openStore(t, filepath.Join(t.TempDir(), "plants.db"))
	s.checkpointAt = 50 * checkpointPages
	fill(t, s, 0, 1<<10)
	if s.checkpointAt != checkpointPages {
		t.Errorf("with a short log the next checkpoint is due at %d pages, want %d", s.checkpointAt, checkpointPages)
	}
}

// A read begins and ends while a write transaction is open.
func TestReadersDoNotWait(t *testing.T) {
	t.Parallel()
	s := openStore(t, filepath.Join(t.TempDir(), "plants.db"))
	fill(t, s, 0, 1<<10)
	err := s.runWrite(t.Context(), func(conn *sqlite.Conn) error {
		if err := sqlitex.Execute(conn, `DELETE FROM plants`, nil); err != nil {
			return err
		}
		_, err := s.Get(t.Context(), 1)
		return err
	})
	expect.NoError(t, err)
	_, err = s.Get(t.Context(), 1)
	expect.Error(t, "after DELETE: Get(1)", err, plant.ErrNotFound)
}

// fill stores size bytes of plants of one kilobyte each, 100 in each write.
func fill(t *testing.T, s *Store, after int64, size int) {
	t.Helper()
	name := strings.Repeat("n", 1024)
	for first, end := after+1, after+1+int64(size/len(name)); first < end; first += 100 {
		err := s.runWrite(t.Context(), func(conn *sqlite.Conn) error {
			for id := first; id < min(first+100, end); id++ {
				if err := insertPlant(conn, plant.Plant{ID: id, Name: name}); err != nil {
					return err
				}
			}
			return nil
		})
		must.NoError(t, err)
	}
}

// pagesInLog returns the number of pages in the log.
func pagesInLog(t *testing.T, s *Store) int {
	t.Helper()
	conn := wait.For(t, "the writer", s.writer)
	defer func() { s.writer <- conn }()
	_, pages, _, err := checkpoint(conn, "NOOP")
	must.NoError(t, err)
	return pages
}

func countPlants(t *testing.T, conn *sqlite.Conn) (n int64) {
	t.Helper()
	err := sqlitex.Execute(conn, `SELECT count(*) FROM plants`, &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error {
			n = stmt.ColumnInt64(0)
			return nil
		},
	})
	must.NoError(t, err)
	return n
}
