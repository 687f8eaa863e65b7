package sqlite

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/metricstest"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

func ignore(_, _ int64) {}

// A copy that is made during writes contains every write that returned before it
// began, and no part of a write. The writes do not wait for it.
func TestCopyWhileWriting(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path, backup := filepath.Join(folder, "plants.db"), filepath.Join(folder, "backup.db")
	s := openStore(t, path)
	fill(t, s, 0, 4<<20)
	var all sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	var written atomic.Int64
	all.Go(func() {
		for first := int64(1 << 20); ctx.Err() == nil; first += 2 {
			err := s.runWrite(t.Context(), func(conn *sqlite.Conn) error {
				err1 := insertPlant(conn, plant.Plant{ID: first, Name: "n"})
				err2 := insertPlant(conn, plant.Plant{ID: first + 1, Name: "n"})
				return errors.Join(err1, err2)
			})
			expect.NoError(t, err)
			written.Add(1)
		}
	})
	steps, last, seen := 0, int64(0), int64(0)
	late := time.Now().Add(30 * time.Second)
	err := Copy(t.Context(), path, backup, func(done, total int64) {
		if steps++; done < last || done > total {
			t.Errorf("progress: %d of %d after %d", done, total, last)
		}
		last = done
		for written.Load() == seen && time.Now().Before(late) { // there are writes between the steps
			time.Sleep(time.Millisecond)
		}
		seen = written.Load()
	})
	stop()
	all.Wait()
	must.NoError(t, err)
	if steps < 4 || written.Load() < 4 {
		t.Errorf("%d steps and %d writes during the copy, want at least 4 of both", steps, written.Load())
	}
	wantFiles(t, folder, "backup.db", "plants.db", "plants.db-shm", "plants.db-wal")
	// The header of the file says that it is not in WAL mode.
	if header, err := os.ReadFile(backup); err != nil || header[18] != 1 || header[19] != 1 {
		t.Errorf("the copy is in WAL mode, %v", err)
	}
	copied := openStore(t, backup)
	wantByName(t, copied, 1)
	conn := wait.For(t, "a reader", copied.readers)
	defer func() { copied.readers <- conn }()
	if n := countPlants(t, conn); n < 4<<10 || n%2 != 0 {
		t.Errorf("the copy has %d plants, want at least %d and an even number", n, 4<<10)
	}
}

func TestCopyFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		// prepare changes a folder that has a store in "from".
		prepare func(t *testing.T, folder string)
		ctx     func(context.Context) context.Context
		want    string
	}{
		"the target exists":                {prepare: garbage("to"), want: "exists; give another path"},
		"the log of an old store exists":   {prepare: garbage("to-wal"), want: "to-wal belongs to an old store; move it to the directory of that store"},
		"the source is missing":            {prepare: func(t *testing.T, folder string) { os.Remove(filepath.Join(folder, "from")) }, want: "the file does not exist"},
		"the source is not a database":     {prepare: garbage("from"), want: "not a SQLite database"},
		"the source is empty":              {prepare: truncate(0), want: "not a store of plantstore"},
		"the source is cut off":            {prepare: truncate(20 << 12), want: "damaged"},
		"the source is damaged":            {prepare: damage, want: "damaged"},
		"the source is of another program": {prepare: alter("PRAGMA application_id = 42"), want: "not a store of plantstore"},
		"the source is of a newer program": {prepare: alter("PRAGMA user_version = 1000"), want: "use a newer plantstore"},
		"the context is cancelled":         {ctx: cancelled, want: "context canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			s, err := Open(t.Context(), filepath.Join(folder, "from"))
			must.NoError(t, err)
			fill(t, s, 0, 1<<20)
			must.NoError(t, s.Close())
			ctx := t.Context()
			if c.prepare != nil {
				c.prepare(t, folder)
			}
			if c.ctx != nil {
				ctx = c.ctx(ctx)
			}
			before := files(t, folder)
			err = Copy(ctx, filepath.Join(folder, "from"), filepath.Join(folder, "to"), ignore)
			expect.Message(t, "Copy", err, c.want)
			wantFiles(t, folder, before...)
		})
	}
}

// Copy does not overwrite a file that appears while it runs.
func TestCopyDoesNotOverwrite(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	from, to := filepath.Join(folder, "from"), filepath.Join(folder, "to")
	fill(t, openStore(t, from), 0, 1<<10)
	const other = "written by another program"
	var once sync.Once
	err := Copy(t.Context(), from, to, func(_, _ int64) {
		once.Do(func() { expect.NoError(t, os.WriteFile(to, []byte(other), 0o600)) })
	})
	expect.Error(t, "Copy", err, fs.ErrExist)
	if got, err := os.ReadFile(to); err != nil || string(got) != other {
		t.Errorf("the file holds %d bytes, %v, want what the other program wrote", len(got), err)
	}
	wantFiles(t, folder, "from", "from-shm", "from-wal", "to")
}

// A failed backup does not change the existing file, a successful one replaces it.
// The metrics of the store show its time.
func TestBackupReplaces(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	from, to := filepath.Join(folder, "from"), filepath.Join(folder, "to")
	s := openStore(t, from)
	if at := metricstest.Of(t, s.Metrics())["plantstore_sqlite_last_backup_timestamp_seconds"]; at != 0 {
		t.Errorf("before the first backup its time is %v, want 0", at)
	}
	link := filepath.Join(folder, "link")
	must.NoError(t, os.Symlink(from, link))
	for _, name := range []string{"to", "used", "used-wal"} {
		garbage(name)(t, folder)
	}
	before := read(t, to)
	for name, c := range map[string]struct {
		ctx  context.Context
		from string
		to   string
		want string
	}{
		"cancelled":      {cancelled(t.Context()), from, to, "context canceled"},
		"not a store":    {t.Context(), filepath.Join(folder, "other-wal"), to, "not a SQLite database"},
		"the store":      {t.Context(), link, from, "this is the store itself"},
		"a link":         {t.Context(), from, link, "not a regular file"},
		"another store":  {t.Context(), from, filepath.Join(folder, "other"), "other-wal belongs to an old store"},
		"a store in use": {t.Context(), from, filepath.Join(folder, "used"), "used-wal belongs to an old store"},
		"a folder":       {t.Context(), from, folder, "this is a directory"},
		"no such folder": {t.Context(), from, filepath.Join(folder, "none", "to"), "create it first"},
	} {
		garbage("other-wal")(t, folder)
		expect.Message(t, name+": Backup", Backup(c.ctx, c.from, c.to, true, ignore), c.want)
	}
	if !bytes.Equal(before, read(t, to)) {
		t.Error("a failed backup changed the file")
	}
	began := time.Now().Truncate(time.Millisecond)
	for range 2 {
		must.NoError(t, Backup(t.Context(), link, to, true, ignore))
	}
	wantFiles(t, folder,
		"from", "from-last-backup", "from-shm", "from-wal", "link", "other-wal", "to", "used", "used-wal")
	at := metricstest.Of(t, s.Metrics())["plantstore_sqlite_last_backup_timestamp_seconds"]
	if seconds := float64(began.UnixMilli()) / 1e3; at < seconds || at > seconds+60 {
		t.Errorf("time of the backup = %f, want %f or a little more", at, seconds)
	}
	openStore(t, to)
}

func garbage(name string) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		text := strings.Repeat("This is not a database. ", 100)
		must.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
}

func truncate(size int64) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		must.NoError(t, os.Truncate(filepath.Join(folder, "from"), size))
	}
}

// damage overwrites a page in the middle.
func damage(t *testing.T, folder string) {
	f, err := os.OpenFile(filepath.Join(folder, "from"), os.O_RDWR, 0)
	must.NoError(t, err)
	defer f.Close()
	_, err = f.WriteAt(make([]byte, 4096), 50<<12)
	must.NoError(t, err)
}

func alter(statement string) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		conn, err := sqlite.OpenConn(filepath.Join(folder, "from"), sqlite.OpenReadWrite)
		must.NoError(t, err)
		defer conn.Close()
		must.NoError(t, executeAll(conn, statement))
	}
}

func cancelled(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return ctx
}

func files(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	must.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func wantFiles(t *testing.T, folder string, want ...string) {
	t.Helper()
	if got := files(t, folder); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("files = %q, want %q", got, want)
	}
}
