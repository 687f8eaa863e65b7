package sqlite

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/logtest"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/wait"
	"github.com/plantstore/plantstore/internal/token"
)

// Other users cannot read a store or a copy, whatever the umask is.
func TestFileMode(t *testing.T) {
	before := syscall.Umask(0)
	defer syscall.Umask(before)
	folder := t.TempDir()
	path := filepath.Join(folder, "plants.db")
	s := openStore(t, path)
	must.NoError(t, s.Create(t.Context(), plant.Plant{ID: 1}))
	must.NoError(t, Copy(t.Context(), path, filepath.Join(folder, "copy.db"), ignore))
	openStore(t, filepath.Join(folder, "copy.db"))
	names := files(t, folder)
	if len(names) != 6 {
		t.Errorf("files = %q, want two databases, each with -wal and -shm", names)
	}
	for _, name := range names {
		info, err := os.Stat(filepath.Join(folder, name))
		if err != nil || info.Mode() != 0o600 {
			t.Errorf("the mode of %s is %v, %v, want 0600", name, info.Mode(), err)
		}
	}
}

// While a file of the store is moved, removed or replaced, reads and writes fail. They
// succeed again when the file is back.
func TestMovedFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		suffix string
		move   func(t *testing.T, path string)
	}{
		"the database is moved":   {"", func(*testing.T, string) {}},
		"the database is removed": {"", func(t *testing.T, path string) { os.Remove(path + ".moved") }},
		"the database is replaced": {"", func(t *testing.T, path string) {
			must.NoError(t, os.WriteFile(path, read(t, path+".moved"), 0o600))
		}},
		"the log is moved":    {"-wal", func(*testing.T, string) {}},
		"the log is removed":  {"-wal", func(t *testing.T, path string) { os.Remove(path + ".moved") }},
		"the log is replaced": {"-wal", func(t *testing.T, path string) { garbage(filepath.Base(path))(t, filepath.Dir(path)) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := filepath.Join(t.TempDir(), "plants.db")
			path := filepath.Join(t.TempDir(), "link.db") // SQLite keeps the log beside the target
			must.NoError(t, os.Symlink(target, path))
			s := openStore(t, path)
			var log bytes.Buffer
			s.files.log = slog.New(slog.NewTextHandler(&log, nil))
			must.NoError(t, s.Create(t.Context(), plant.Plant{ID: 1}))
			must.NoError(t, os.Rename(target+c.suffix, target+c.suffix+".moved"))
			c.move(t, target+c.suffix)
			for id := range int64(3) {
				err := s.Create(t.Context(), plant.Plant{ID: 10 + id})
				if !errors.Is(err, plant.ErrUnavailable) || !errors.Is(err, token.ErrUnavailable) {
					t.Errorf("Create = %v, want %v", err, plant.ErrUnavailable)
				}
			}
			expect.Message(t, "Ready", s.Ready(t.Context()), c.suffix+" was moved, removed or replaced")
			_, err := s.Get(t.Context(), 1)
			expect.Error(t, "while the file is moved Get(1)", err, plant.ErrUnavailable)
			if n := strings.Count(log.String(), "level=ERROR"); n != 1 {
				t.Errorf("the log has %d errors, want 1:\n%s", n, &log)
			}
			if err := os.Rename(target+c.suffix+".moved", target+c.suffix); err != nil {
				return // it was removed
			}
			expect.Error(t, "after the file is back Ready", s.Ready(t.Context()), nil)
			_, err = s.Get(t.Context(), 12)
			expect.Error(t, "after the file is back Get of a plant that was refused", err, plant.ErrNotFound)
			expect.Error(t, "after the file is back Create", s.Create(t.Context(), plant.Plant{ID: 2}), nil)
			if n := strings.Count(log.String(), "store files can be used again"); n != 1 {
				t.Errorf("the log has %d lines about the return of the file, want 1:\n%s", n, &log)
			}
		})
	}
}

// Watch logs a removed file even if there are no calls of the store.
func TestWatchLogsRemovedFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plants.db")
	s := openStore(t, path)
	var log logtest.Log
	s.Watch(slog.New(slog.NewTextHandler(&log, nil)))
	must.NoError(t, os.Remove(path))
	wait.Until(t, "an error in the log names the file that was removed", func() bool {
		return strings.Contains(log.String(), "level=ERROR") && strings.Contains(log.String(), path)
	})
}

// Watch looks at the files also while all connections that read are in use, as by the check of a damaged store, which
// takes minutes.
func TestWatchDuringReads(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plants.db")
	s := openStore(t, path)
	var log logtest.Log
	for range cap(s.readers) {
		conn := wait.For(t, "a reader", s.readers)
		defer func() { s.readers <- conn }()
	}
	s.Watch(slog.New(slog.NewTextHandler(&log, nil)))
	time.Sleep(2 * checkInterval) // longer than the first look
	must.NoError(t, os.Remove(path))
	wait.Until(t, "an error in the log", func() bool { return strings.Contains(log.String(), "level=ERROR") })
}

// damages are ways to damage a page of a store, and to find that.
var damages = map[string]struct {
	damage func(t *testing.T, folder string)
	find   func(s *Store, ctx context.Context) error
}{
	"in a list": {damage, func(s *Store, ctx context.Context) error {
		_, _, err := s.List(ctx, plant.Page{Limit: 2000})
		return err
	}},
	"in a snapshot": {damageTable("epochs"), func(s *Store, ctx context.Context) error {
		return s.Snapshot(ctx, func(store.Snapshot) error { return nil })
	}},
	"in a write": {damageTable("tokens"), func(s *Store, ctx context.Context) error {
		return s.TouchTokens(ctx, map[string]time.Time{"id": time.Now()})
	}},
}

// damaged returns a store of which a page is damaged, and its file as it was before.
func damaged(t *testing.T, damage func(*testing.T, string)) (s *Store, before []byte) {
	folder := t.TempDir()
	path := filepath.Join(folder, "from")
	s, err := Open(t.Context(), path)
	must.NoError(t, err)
	fill(t, s, 0, 1<<20)
	must.NoError(t, s.Close())
	before = read(t, path)
	damage(t, folder)
	return openStore(t, path), before
}

// Calls on a damaged file return ErrUnavailable. Once a statement has found the damage and a
// check has proved it, every call does so for ever, and the next start refuses the store.
func TestDamagedFile(t *testing.T) {
	t.Parallel()
	for name, c := range damages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := damaged(t, c.damage)
			var log bytes.Buffer
			s.files.log = slog.New(slog.NewTextHandler(&log, nil))
			s.settle(t.Context())
			expect.Error(t, "before a statement has found the damage Create", s.Create(t.Context(), plant.Plant{ID: -1}), nil)
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() {
					if err := c.find(s, t.Context()); !errors.Is(err, plant.ErrUnavailable) || !errors.Is(err, token.ErrUnavailable) {
						t.Errorf("a call = %v, want %v", err, plant.ErrUnavailable)
					}
				})
			}
			all.Wait()
			s.settle(t.Context()) // as Watch does
			const advice = "to another directory, and restore a backup (plantstore restore)"
			wantUnavailable(t, s, advice)
			expect.Message(t, "Writable", s.Writable(t.Context()), advice)
			if n := strings.Count(log.String(), "level=ERROR"); n != 1 || !strings.Contains(log.String(), advice) {
				t.Errorf("the log has %d errors, want 1 with the advice:\n%s", n, &log)
			}
			_, err := Open(t.Context(), s.path)
			expect.Message(t, "the next Open", err, "was found damaged")
		})
	}
}

// breakFile lets no check read a file until it is mended.
func breakFile(t *testing.T, broken *openFile) (mend func()) {
	t.Helper()
	file := broken.File
	closed, err := os.Open(os.DevNull)
	must.NoError(t, err)
	must.NoError(t, closed.Close())
	broken.File = closed
	return func() { broken.File = file }
}

// What looked like damage because the disk could not be read is over when the disk can be read
// again. As long as it cannot be read, nothing is decided.
func TestDiskErrorThatEnds(t *testing.T) {
	t.Parallel()
	for name, c := range damages {
		for when, lasts := range map[string]bool{"before the check": false, "during the check": true} {
			t.Run(name+" and ends "+when, func(t *testing.T) {
				t.Parallel()
				s, before := damaged(t, c.damage)
				expect.Error(t, "a call while the disk fails", c.find(s, t.Context()), plant.ErrUnavailable)
				if lasts {
					mend := breakFile(t, s.files.database)
					s.settle(t.Context())
					if s.files.final() {
						t.Error("while the disk cannot be read, the file is said to be damaged")
					}
					mend()
				}
				must.NoError(t, os.WriteFile(s.path, before, 0))
				s.settle(t.Context())
				// Unlike what SQLite could not read, what it has read is in its caches, until
				// another connection writes.
				must.NoError(t, openStore(t, s.path).Create(t.Context(), plant.Plant{ID: -1}))
				for range 2 {
					expect.Error(t, "a call after that", c.find(s, t.Context()), nil)
					s.settle(t.Context())
					expect.Error(t, "Ready after that", s.Ready(t.Context()), nil)
					expect.Error(t, "Writable after that", s.Writable(t.Context()), nil)
				}
			})
		}
	}
}

// A read-only service whose store has no log notices that another program has overwritten
// it, or writes to it.
func TestReadOnlyWithoutLog(t *testing.T) {
	t.Parallel()
	overwrite := func(path, with string) error { return copyOver(path, with, false) }
	for name, c := range map[string]struct {
		change func(path, other string) error
		want   error
	}{
		"overwritten": {overwrite, plant.ErrUnavailable},
		"overwritten, with the time of the other file": {func(path, other string) error {
			info, err := os.Stat(other)
			must.NoError(t, err)
			return errors.Join(overwrite(path, other), os.Chtimes(path, info.ModTime(), info.ModTime()))
		}, plant.ErrUnavailable},
		"written again": {func(path, _ string) error { return overwrite(path, path) }, plant.ErrUnavailable},
		"truncated":     {func(path, _ string) error { return os.Truncate(path, 8192) }, plant.ErrUnavailable},
		"written by another program of ours": {func(path, _ string) error {
			return openStore(t, path).Create(t.Context(), plant.Plant{ID: 3})
		}, plant.ErrUnavailable},
		"not changed": {func(_, _ string) error { return nil }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			path, other := filepath.Join(folder, "plants.db"), filepath.Join(folder, "other.db")
			from := openStore(t, filepath.Join(folder, "from.db"))
			for id, to := range []string{other, path} {
				must.NoError(t, from.Create(t.Context(), plant.Plant{ID: int64(id)}))
				must.NoError(t, Copy(t.Context(), filepath.Join(folder, "from.db"), to, ignore))
			}
			s, err := OpenReadOnly(path)
			must.NoError(t, err)
			defer func() { expect.NoError(t, s.Close()) }()
			_, err = s.Get(t.Context(), 1)
			expect.NoError(t, errors.Join(err, s.Ready(t.Context())))
			must.NoError(t, c.change(path, other))
			for range 3 {
				expect.Error(t, "Ready", s.Ready(t.Context()), c.want)
				_, err = s.Get(t.Context(), 1)
				expect.Error(t, "Get", err, c.want)
			}
		})
	}
}

// damageTable damages the first page of a table.
func damageTable(name string) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		path := filepath.Join(folder, "from")
		conn, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
		must.NoError(t, err)
		page, err := number(conn, "SELECT rootpage FROM sqlite_schema WHERE name = '"+name+"'")
		must.NoError(t, errors.Join(err, conn.Close()))
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		must.NoError(t, err)
		defer f.Close()
		_, err = f.WriteAt(make([]byte, 4096), (page-1)<<12)
		must.NoError(t, err)
	}
}

// A store whose files were moved copies its log into its database, wherever that is now, and leaves alone what is at
// the path of its log: another database may need it.
func TestCloseWhileMoved(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plants.db")
	moved := filepath.Join(t.TempDir(), "moved.db")
	s, err := Open(t.Context(), path)
	must.NoError(t, err)
	must.NoError(t, s.Create(t.Context(), plant.Plant{ID: 1}))
	must.NoError(t, os.Rename(path, moved))
	must.NoError(t, os.Rename(path+"-wal", filepath.Join(t.TempDir(), "log")))
	must.NoError(t, os.WriteFile(path+"-wal", []byte("of another database"), 0o600))
	must.NoError(t, s.Close())
	if other := read(t, path+"-wal"); string(other) != "of another database" {
		t.Errorf("the log of another database is %q", other)
	}
	_, err = openStore(t, moved).Get(t.Context(), 1)
	expect.Error(t, "Get(1) of the moved database", err, nil)
}
