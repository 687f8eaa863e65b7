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

// A service makes the files of an earlier release readable by their owner alone, or
// logs why it cannot.
func TestWatchHidesFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plants.db")
	s := openStore(t, path)
	all := []string{path, path + "-wal", path + "-shm"}
	modes := func(want os.FileMode) {
		t.Helper()
		for _, name := range all {
			if info, err := os.Stat(name); err != nil || info.Mode() != want {
				t.Errorf("the mode of %s is %v, %v, want %v", name, info.Mode(), err, want)
			}
		}
	}
	expose := func() {
		for _, name := range all {
			must.NoError(t, os.Chmod(name, 0o644))
		}
	}
	var log bytes.Buffer
	expose()
	s.Watch(slog.New(slog.NewTextHandler(&log, nil)))
	modes(0o600)
	s.files.makePrivate()
	if n := strings.Count(log.String(), "other users can no longer read the store"); n != 3 {
		t.Errorf("the log has %d lines, want one for each file:\n%s", n, &log)
	}
	if os.Getuid() != 0 {
		return // only root can play a user that does not own the files
	}
	expose()
	asAnotherUser(t, path)
	log.Reset()
	s.files.makePrivate()
	modes(0o644)
	if n := strings.Count(log.String(), "run chmod 600 as the owner of the file"); n != 3 {
		t.Errorf("the log has %d lines, want one for each file:\n%s", n, &log)
	}
}

// While a file of the store is moved, removed or replaced, writes fail. They
// succeed again when the file is back.
func TestMovedFile(t *testing.T) {
	for name, c := range map[string]struct {
		suffix string
		move   func(t *testing.T, path string)
	}{
		"the database is moved":   {"", func(*testing.T, string) {}},
		"the database is removed": {"", func(t *testing.T, path string) { os.Remove(path + ".moved") }},
		"the database is replaced": {"", func(t *testing.T, path string) {
			data, err := os.ReadFile(path + ".moved")
			if err == nil {
				err = os.WriteFile(path, data, 0o600)
			}
			must.NoError(t, err)
		}},
		"the log is moved":    {"-wal", func(*testing.T, string) {}},
		"the log is removed":  {"-wal", func(t *testing.T, path string) { os.Remove(path + ".moved") }},
		"the log is replaced": {"-wal", func(t *testing.T, path string) { garbage(filepath.Base(path))(t, filepath.Dir(path)) }},
	} {
		t.Run(name, func(t *testing.T) {
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
			expect.Error(t, "while the file is moved Get(1)", err, nil)
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
			if n := strings.Count(log.String(), "store file is back"); n != 1 {
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
	lines := make(lines, 10)
	s.Watch(slog.New(slog.NewTextHandler(lines, nil)))
	must.NoError(t, os.Remove(path))
	line := wait.For(t, "a line in the log after the file was removed", lines)
	if !strings.Contains(line, "level=ERROR") || !strings.Contains(line, path) {
		t.Errorf("the log has %q, want an error with the path %s", line, path)
	}
}

// lines is a writer that sends each line to a channel.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// Calls on a damaged file return ErrUnavailable, and the store is not ready after a
// statement has found the damage.
func TestDamagedFile(t *testing.T) {
	for name, c := range map[string]struct {
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
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, "from")
			s, err := Open(t.Context(), path)
			must.NoError(t, err)
			fill(t, s, 0, 1<<20)
			must.NoError(t, s.Close())
			c.damage(t, folder)
			s = openStore(t, path)
			var log bytes.Buffer
			s.files.log = slog.New(slog.NewTextHandler(&log, nil))
			expect.Error(t, "before a statement has found the damage Ready", s.Ready(t.Context()), nil)
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() {
					if err := c.find(s, t.Context()); !errors.Is(err, plant.ErrUnavailable) || !errors.Is(err, token.ErrUnavailable) {
						t.Errorf("a call = %v, want %v", err, plant.ErrUnavailable)
					}
				})
			}
			all.Wait()
			for range 3 {
				expect.Message(t, "Ready", s.Ready(t.Context()), adviceDamaged)
			}
			if n := strings.Count(log.String(), "store damaged"); n != 1 || !strings.Contains(log.String(), adviceDamaged) {
				t.Errorf("the log has %d lines about the damage, want 1 with the advice:\n%s", n, &log)
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
