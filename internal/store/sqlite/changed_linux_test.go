package sqlite

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/wait"
	"github.com/plantstore/plantstore/internal/token"
)

// After another program has changed the content of a file, every call fails, and Close
// leaves the files as they are. The next start refuses a damaged store.
func TestChangedFile(t *testing.T) {
	t.Parallel()
	overwrite := func(t *testing.T, path, with string) {
		t.Helper()
		data, err := os.ReadFile(with)
		if err == nil {
			err = os.WriteFile(path, data, 0o600) // into the same file, as cp does
		}
		must.NoError(t, err)
	}
	truncate := func(t *testing.T, path string, size int64) {
		t.Helper()
		must.NoError(t, os.Truncate(path, size))
	}
	for name, c := range map[string]struct {
		change  func(t *testing.T, path, backup string)
		want    string
		refused bool
	}{
		"the database is overwritten": {
			func(t *testing.T, path, backup string) { overwrite(t, path, backup) },
			"plants.db was overwritten or truncated", true,
		},
		"the database is overwritten by a backup of its size": {func(t *testing.T, path, backup string) {
			info, err := os.Stat(path)
			must.NoError(t, err)
			truncate(t, backup, info.Size())
			overwrite(t, path, backup)
		}, "plants.db was overwritten or truncated", true},
		"the database is overwritten by itself as it was": {
			func(t *testing.T, path, _ string) { overwrite(t, path, path+".older") },
			"plants.db was overwritten or truncated", true,
		},
		"the database is overwritten by itself as it was, of its size": {func(t *testing.T, path, _ string) {
			info, err := os.Stat(path)
			must.NoError(t, err)
			truncate(t, path+".older", info.Size())
			overwrite(t, path, path+".older")
		}, "plants.db was overwritten or truncated", true},
		"the database is truncated": {
			func(t *testing.T, path, _ string) { truncate(t, path, 8192) },
			"plants.db was overwritten or truncated", true,
		},
		"the database is emptied": {
			func(t *testing.T, path, _ string) { truncate(t, path, 0) },
			"plants.db was overwritten or truncated", true,
		},
		"the log is emptied": {
			func(t *testing.T, path, _ string) { truncate(t, path+"-wal", 0) },
			"plants.db-wal was truncated while it was open; the writes since the last checkpoint are lost", false,
		},
		"the log is emptied after a checkpoint": {func(t *testing.T, path, _ string) {
			other, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
			must.NoError(t, err)
			must.NoError(t, execute(other, "PRAGMA wal_checkpoint(PASSIVE)"))
			must.NoError(t, other.Close())
			truncate(t, path+"-wal", 0)
		}, "plants.db-wal was truncated while it was open; no write is lost", false},
		"the log is cut short": {
			func(t *testing.T, path, _ string) { truncate(t, path+"-wal", 4200) },
			"plants.db-wal was overwritten or cut short", true,
		},
		"the log loses its last byte": {func(t *testing.T, path, _ string) {
			other, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
			must.NoError(t, err)
			_, pages, _, err := checkpoint(other, "NOOP")
			must.NoError(t, errors.Join(err, other.Close()))
			truncate(t, path+"-wal", 32+int64(pages)*(frameHeader+4096)-1)
		}, "plants.db-wal was overwritten or cut short", true},
		"the index is removed": {
			func(_ *testing.T, path, _ string) { os.Remove(path + "-shm") },
			"plants.db-shm was moved, removed or replaced", false,
		},
	} {
		for _, when := range []string{"before a write", "while nothing is written"} {
			t.Run(name+" "+when, func(t *testing.T) {
				t.Parallel()
				folder := t.TempDir()
				path, backup := filepath.Join(folder, "plants.db"), filepath.Join(folder, "backup")
				s, err := Open(t.Context(), path)
				must.NoError(t, err)
				closed := false
				t.Cleanup(func() {
					if !closed {
						s.Close()
					}
				})
				overwrite(t, path+".older", path)
				s.checkpointAt = 50
				fill(t, s, 0, 400<<10) // there is a checkpoint
				if s.checkpointAt != checkpointPages {
					t.Fatal("there was no checkpoint")
				}
				must.NoError(t, Copy(t.Context(), path, backup, ignore))
				fill(t, s, 1<<20, 100<<10)
				var log bytes.Buffer
				s.files.log = slog.New(slog.NewTextHandler(&log, nil))
				c.change(t, path, backup)
				if when != "before a write" {
					s.checkFiles(t.Context()) // as Watch does
				}
				for range 2 {
					if err := s.Create(t.Context(), plant.Plant{ID: 1 << 30}); !errors.Is(err, plant.ErrUnavailable) ||
						!errors.Is(err, token.ErrUnavailable) || !strings.Contains(err.Error(), c.want) {
						t.Errorf("Create = %v, want %q", err, c.want)
					}
				}
				_, err = s.Get(t.Context(), 1)
				expect.Error(t, "Get", err, plant.ErrUnavailable)
				expect.Error(t, "Snapshot", s.Snapshot(t.Context(), nil), plant.ErrUnavailable)
				expect.Message(t, "Ready", s.Ready(t.Context()), c.want)
				if n := strings.Count(log.String(), "store files cannot be used"); n != 1 {
					t.Errorf("the log has the change %d times, want once:\n%s", n, &log)
				}
				before := contentOf(t, path)
				expect.Error(t, "Close", s.Close(), nil)
				closed = true
				if contentOf(t, path) != before {
					t.Error("Close has written to the database or its log")
				}
				_, marked := os.Stat(path + damagedSuffix)
				if (marked == nil) != c.refused {
					t.Errorf("the damage is recorded: %t, want %t", marked == nil, c.refused)
				}
				if !c.refused {
					return // SQLite uses the index of the connections that Close has left open
				}
				for name, open := range map[string]func() error{
					"Open":         func() error { _, err := Open(t.Context(), path); return err },
					"OpenReadOnly": func() error { _, err := OpenReadOnly(path); return err },
					"OpenSource":   func() error { _, err := OpenSource(path); return err },
				} {
					err := open()
					expect.Message(t, name, err, "move "+path+"* to another directory")
				}
			})
		}
	}
}

// Close does not copy the log to a database that another one was copied over just before.
func TestChangedBeforeClose(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plants.db")
	s, err := Open(t.Context(), path)
	must.NoError(t, err)
	older := read(t, path)
	s.checkpointAt = 50
	fill(t, s, 0, 400<<10)
	must.NoError(t, os.WriteFile(path, older, 0o600))
	before := contentOf(t, path)
	expect.NoError(t, s.Close())
	if contentOf(t, path) != before {
		t.Error("Close has written to the database or its log")
	}
	_, err = Open(t.Context(), path)
	expect.Message(t, "Open", err, "move "+path+"* to another directory")
}

// The record of a damage is not taken for that of a store that is restored.
func TestRestoreBesideRecordOfDamage(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	openStore(t, filepath.Join(folder, "from"))
	path := filepath.Join(folder, "plants.db")
	must.NoError(t, os.WriteFile(path+damagedSuffix, []byte("plants.db was truncated\n"), 0o600))
	err := Copy(t.Context(), filepath.Join(folder, "from"), path, ignore)
	expect.Message(t, "Copy", err, "plants.db was truncated; move "+path+"* to another directory")
}

// A database that VACUUM of another program has made shorter grows again with the next
// writes, before the service looks at its files.
func TestOtherProgramVacuums(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plants.db")
	s := openStore(t, path)
	fill(t, s, 0, 400<<10)
	other, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	must.NoError(t, err)
	defer other.Close()
	for _, statement := range []string{"PRAGMA wal_checkpoint(PASSIVE)", "DELETE FROM plants WHERE id > 10"} {
		must.NoError(t, execute(other, statement))
	}
	must.NoError(t, withConnection(t.Context(), s.readers, s.files.check))
	for _, statement := range []string{"VACUUM", "PRAGMA wal_checkpoint(PASSIVE)"} {
		must.NoError(t, execute(other, statement))
	}
	fill(t, s, 1<<20, 50<<10)
	if _, err := s.Get(t.Context(), 1); err != nil {
		t.Error(err)
	}
}

// A log that another program has emptied with a checkpoint is not truncated, however long it stays so.
func TestOtherProgramEmptiesLog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plants.db")
	s := openStore(t, path)
	fill(t, s, 0, 50<<10)
	other, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	must.NoError(t, err)
	defer other.Close()
	must.NoError(t, execute(other, "PRAGMA wal_checkpoint(TRUNCATE)"))
	expect.Error(t, "Ready", s.Ready(t.Context()), nil)
	expect.Error(t, "Create", s.Create(t.Context(), plant.Plant{ID: 1 << 20}), nil)
}

// What ends within half a second is no fault: the files look damaged for moments while another program
// makes a checkpoint.
func TestFaultMustLast(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plants.db")
	s := openStore(t, path)
	must.NoError(t, os.Rename(path, path+".moved"))
	checked := make(chan error, 1)
	go func() { checked <- withConnection(t.Context(), s.readers, s.files.check) }()
	time.Sleep(100 * time.Millisecond) // long enough for the check to look once
	must.NoError(t, os.Rename(path+".moved", path))
	expect.Error(t, "check", wait.For(t, "the end of the check", checked), nil)
	expect.Error(t, "Create", s.Create(t.Context(), plant.Plant{ID: 1}), nil)
}

// A log that is truncated during a write loses what no checkpoint has copied. If it loses
// nothing, the write begins it anew.
func TestTruncatedDuringWrite(t *testing.T) {
	t.Parallel()
	for name, copied := range map[string]bool{"after a checkpoint": true, "without a checkpoint": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, backup := filepath.Join(t.TempDir(), "plants.db"), filepath.Join(t.TempDir(), "backup.db")
			s := openStore(t, path)
			must.NoError(t, s.Create(t.Context(), plant.Plant{ID: 1}))
			if copied {
				conn := wait.For(t, "the writer", s.writer)
				_, _, _, err := checkpoint(conn, "RESTART")
				s.writer <- conn
				must.NoError(t, err)
			}
			err := s.runWrite(t.Context(), func(conn *sqlite.Conn) error {
				return errors.Join(os.Truncate(path+"-wal", 0), insertPlant(conn, plant.Plant{ID: 2}))
			})
			if !copied {
				expect.Message(t, "write", err, "the writes since the last checkpoint are lost")
				return
			}
			must.NoError(t, err)
			must.NoError(t, Copy(t.Context(), path, backup, ignore))
			for id := range int64(2) {
				_, err := openStore(t, backup).Get(t.Context(), id+1)
				expect.NoError(t, err)
			}
		})
	}
}

// A log that is replaced by the beginning of another one during a write is as long as before after it.
func TestOverwrittenDuringWrite(t *testing.T) {
	t.Parallel()
	path, other := filepath.Join(t.TempDir(), "plants.db"), filepath.Join(t.TempDir(), "other.db")
	openStore(t, other)
	header, err := os.ReadFile(other + "-wal")
	must.NoError(t, err)
	s := openStore(t, path)
	must.NoError(t, s.Create(t.Context(), plant.Plant{ID: 1}))
	err = s.runWrite(t.Context(), func(conn *sqlite.Conn) error {
		return errors.Join(os.WriteFile(path+"-wal", header[:32], 0), insertPlant(conn, plant.Plant{ID: 2}))
	})
	expect.Message(t, "write", err, "plants.db-wal was overwritten or cut short")
}

// A file that cannot be read is not one that another program has changed. Reads and writes
// get 503 until it can be read again, and Ready says so.
func TestContentsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]func(*openFiles) *openFile{
		"database": func(f *openFiles) *openFile { return f.database },
		"log":      func(f *openFiles) *openFile { return f.wal },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openStore(t, filepath.Join(t.TempDir(), "plants.db"))
			must.NoError(t, s.Create(t.Context(), plant.Plant{ID: 1}))
			broken, file := file(&s.files), file(&s.files).File
			closed, err := os.Open(file.Name())
			must.NoError(t, err)
			must.NoError(t, closed.Close())
			broken.File = closed
			expect.Error(t, "check", withConnection(t.Context(), s.readers, s.files.check), nil)
			for name, err := range map[string]error{
				"Ready": s.Ready(t.Context()), "Writable": s.Writable(t.Context()),
				"Create": s.Create(t.Context(), plant.Plant{ID: 2}),
			} {
				expect.Message(t, name, err, "could not be read while it was open; see the log of the operating system")
			}
			_, err = s.Get(t.Context(), 1)
			expect.Error(t, "Get", err, plant.ErrUnavailable)
			broken.File = file
			expect.Error(t, "Ready after that", s.Ready(t.Context()), nil)
			expect.Error(t, "Create after that", s.Create(t.Context(), plant.Plant{ID: 2}), nil)
		})
	}
}

// A store that was found to be damaged replaces no backup, and a copy of it is said to be
// doubtful. What says so is not passed over if it cannot be read.
func TestBackupOfDamagedStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, backup := filepath.Join(dir, "plants.db"), filepath.Join(dir, "backup.db")
	s := openStore(t, path)
	progress := func(int64, int64) {}
	must.NoError(t, Backup(t.Context(), path, backup, false, progress))
	before, err := os.ReadFile(backup)
	must.NoError(t, err)
	must.NoError(t, s.Create(t.Context(), plant.Plant{ID: 1}))
	must.NoError(t, os.WriteFile(path+damagedSuffix, []byte("plants.db was truncated\n"), 0o600))
	err = Backup(t.Context(), path, backup, true, progress)
	expect.Message(t, "Backup that replaces", err, "was truncated")
	if after, err := os.ReadFile(backup); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the backup was replaced, %v", err)
	}
	if err := Backup(t.Context(), path, filepath.Join(dir, "rescued.db"), false, progress); err != ErrMayBeMixed {
		t.Errorf("Backup = %v, want %v", err, ErrMayBeMixed)
	}
	must.NoError(t, os.Remove(path+damagedSuffix))
	must.NoError(t, os.Symlink(path+damagedSuffix, path+damagedSuffix)) // cannot be read, by root neither
	_, err = Open(t.Context(), path)
	expect.Message(t, "Open beside a record that cannot be read", err, "may be damaged")
}
