package sqlite

import (
	"cmp"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// Other programs may make checkpoints and VACUUM at any moment, while the service writes and
// looks at its files all the time, and so does one that only reads. The race detector runs the short form.
func TestContentsDuringCheckpoint(t *testing.T) {
	t.Parallel()
	length := 5 * time.Second
	if testing.Short() {
		length = 300 * time.Millisecond
	}
	path := filepath.Join(t.TempDir(), "plants.db")
	s := openStore(t, path)
	fill(t, s, 0, 200<<10)
	end := time.Now().Add(length)
	loops := [][]string{
		{"PRAGMA wal_checkpoint(PASSIVE)"},
		{"PRAGMA wal_checkpoint(RESTART)", "PRAGMA wal_checkpoint(TRUNCATE)"},
		{"DELETE FROM plants WHERE id % 3 <> 0", "VACUUM"},
		{"INSERT INTO changes (ids, at) SELECT '[]', 0 FROM plants LIMIT 500", "DELETE FROM changes WHERE ids = '[]'"},
	}
	var others sync.WaitGroup
	for _, statements := range loops {
		other, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
		must.NoError(t, err)
		defer other.Close()
		defer others.Wait()
		other.SetBusyTimeout(time.Millisecond)
		others.Go(func() {
			for i := 0; time.Now().Before(end); i++ {
				statement := statements[i%len(statements)]
				if err := execute(other, statement); err != nil && sqlite.ErrCode(err).ToPrimary() != sqlite.ResultBusy {
					t.Errorf("%s: %v", statement, err)
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	readOnly, err := OpenReadOnly(path)
	must.NoError(t, err)
	defer readOnly.Close()
	services := []*Store{s, readOnly}
	defer wait.Repeat(len(services), func(i int) bool {
		err := services[i].files.check()
		expect.Error(t, "check", cmp.Or(err, services[i].files.err()), nil)
		time.Sleep(time.Millisecond)
		return err == nil
	})()
	for round := int64(1); time.Now().Before(end) && !t.Failed(); round++ {
		fill(t, s, round<<20, 50<<10)
	}
}

// storeBeforeCheckpoint returns a store whose log is long enough that SQLite would make a truncated
// database longer. The log does not have most pages of the database. The older copy is as long as the database, and
// lacks only the last of the changes that the last checkpoint has copied.
func storeBeforeCheckpoint(t *testing.T) (s *Store, path string, older []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "plants.db")
	s = openStore(t, path)
	fill(t, s, 0, 400<<10)
	must.NoError(t, copyTheLog(t, s))
	rename := executes("UPDATE plants SET name = replace(name, 'n', 'm') WHERE id <= 100")
	renameMore := executes("UPDATE plants SET name = replace(name, 'n', 'm') WHERE id <= 200")
	must.NoError(t, s.runWrite(t.Context(), rename.run))
	must.NoError(t, Backup(t.Context(), path, path+".older", false, ignore))
	must.NoError(t, s.runWrite(t.Context(), renameMore.run))
	must.NoError(t, copyTheLog(t, s))
	for id := range int64(100) {
		must.NoError(t, s.Create(t.Context(), plant.Plant{ID: 1<<20 + id}))
	}
	return s, path, read(t, path+".older")
}

func copyTheLog(t *testing.T, s *Store) error {
	t.Helper()
	conn := wait.For(t, "the writer", s.writer)
	defer func() { s.writer <- conn }()
	_, err := s.files.copyLog(conn)
	return err
}

// A database that is truncated while a checkpoint runs has its size again afterwards. The
// store notices that its pages are gone. It is no damage if another program writes meanwhile.
func TestChangedDuringCheckpoint(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(path string, older []byte) error
		want   string // the next write fails; empty if it does not
	}{
		"the database is truncated": {
			func(path string, older []byte) error { return os.Truncate(path, int64(len(older))-64<<10) },
			"plants.db was overwritten or truncated",
		},
		"an older copy is written over the database": {
			func(path string, older []byte) error { return os.WriteFile(path, older, 0) }, "plants.db was overwritten or truncated",
		},
		"the log is truncated": {
			func(path string, _ []byte) error { return os.Truncate(path+"-wal", 0) }, "plants.db-wal was truncated during a checkpoint",
		},
		"another program writes": {
			func(path string, _ []byte) error { return otherProgram(path, "UPDATE plants SET name = 'n'") }, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, path, older := storeBeforeCheckpoint(t)
			_, before, err := identify(path)
			must.NoError(t, err)
			s.checkpointAt = pagesInLog(t, s) + 1
			conn := wait.For(t, "the writer", s.writer)
			must.NoError(t, conn.SetAuthorizer(sqlite.AuthorizeFunc(func(action sqlite.Action) sqlite.AuthResult {
				if action.PragmaArg() == "RESTART" { // SQLite prepares the statement that makes the checkpoint
					expect.NoError(t, c.change(path, older))
				}
				return sqlite.AuthResultOK
			})))
			s.writer <- conn
			expect.Error(t, "Create before the change", s.Create(t.Context(), plant.Plant{ID: 1 << 30}), nil)
			if _, size, err := identify(path); err != nil || size < before {
				t.Fatalf("the database has %d bytes, before it had %d, %v: there was no checkpoint", size, before, err)
			}
			err = s.Create(t.Context(), plant.Plant{ID: 1<<30 + 1})
			if c.want == "" {
				expect.Error(t, "Create", err, nil)
				return
			}
			expect.Message(t, "Create", err, c.want)
		})
	}
}

// An older copy may be written over the database at any moment before or during a checkpoint. It is found, or
// the checkpoint has read nothing of it.
func TestCopiedWhileCheckpointBegins(t *testing.T) {
	t.Parallel()
	tries := 40
	if testing.Short() {
		tries = 4
	}
	for try := range tries {
		s, path, older := storeBeforeCheckpoint(t)
		copied := make(chan error, 1)
		go func() {
			time.Sleep(time.Duration(try) * 250 * time.Microsecond) // a checkpoint takes some milliseconds
			copied <- os.WriteFile(path, older, 0)
		}()
		_ = copyTheLog(t, s)
		must.NoError(t, wait.For(t, "the end of the copy", copied))
		if err := s.files.check(); err == nil {
			t.Errorf("after %d of 250 µs the copy is not found", try)
		}
	}
}

// A frame that is destroyed is copied by no checkpoint of the store.
func TestDestroyedFrame(t *testing.T) {
	t.Parallel()
	f := newChangedFiles(t, filesOfOther(t))
	must.NoError(t, zero("-wal", 32+10*4120+2000, 1)(f))
	must.NoError(t, f.store.files.check())
	expect.Message(t, "a checkpoint", copyTheLog(t, f.store), otherLog)
	expect.Message(t, "Create", f.create(), otherLog)
	must.NoError(t, f.store.Close())
	_, err := Open(t.Context(), f.path)
	expect.Message(t, "Open", err, marked)
}

// The pages that show an older copy are those that were written last, in the order of several checkpoints: the last
// one may have copied only pages that are written all the time.
func TestPagesOfEarlierCheckpoints(t *testing.T) {
	t.Parallel()
	s, path, _ := storeBeforeCheckpoint(t)
	must.NoError(t, copyTheLog(t, s))
	older := read(t, path)
	for _, changed := range []string{"id BETWEEN 101 AND 200", "id = 1", "id = 1"} {
		must.NoError(t, copyTheLog(t, s))
		must.NoError(t, s.runWrite(t.Context(), executes("UPDATE plants SET version = version + 1 WHERE "+changed).run))
	}
	conn := wait.For(t, "the writer", s.writer)
	must.NoError(t, conn.SetAuthorizer(sqlite.AuthorizeFunc(func(action sqlite.Action) sqlite.AuthResult {
		if action.PragmaArg() == "RESTART" {
			expect.NoError(t, os.WriteFile(path, older, 0))
		}
		return sqlite.AuthResultOK
	})))
	s.writer <- conn
	_ = copyTheLog(t, s)
	expect.Message(t, "check", s.files.check(), "plants.db was overwritten or truncated")
}

// A checkpoint makes the database shorter if another program has run VACUUM before.
func TestCheckpointAfterVacuum(t *testing.T) {
	t.Parallel()
	s, path, _ := storeBeforeCheckpoint(t)
	must.NoError(t, otherProgram(path, "PRAGMA wal_autocheckpoint = 0", "DELETE FROM plants WHERE id <= 200", "VACUUM"))
	_, before, err := identify(path)
	must.NoError(t, err)
	s.checkpointAt = 1
	expect.Error(t, "Create that makes a checkpoint", s.Create(t.Context(), plant.Plant{ID: 1 << 30}), nil)
	if _, size, err := identify(path); err != nil || size >= before {
		t.Errorf("the database has %d bytes, before it had %d, %v: there was no checkpoint", size, before, err)
	}
	expect.Error(t, "Create after that", s.Create(t.Context(), plant.Plant{ID: 1<<30 + 1}), nil)
}

// A database that is truncated before a checkpoint begins gets none.
func TestTruncatedBeforeCheckpoint(t *testing.T) {
	t.Parallel()
	s, path, _ := storeBeforeCheckpoint(t)
	must.NoError(t, os.Truncate(path, 8192))
	expect.Message(t, "copyLog", copyTheLog(t, s), "plants.db was overwritten or truncated")
	_, size, err := identify(path)
	must.NoError(t, err)
	if size != 8192 {
		t.Errorf("the database has %d bytes, want 8192: there was a checkpoint", size)
	}
}
