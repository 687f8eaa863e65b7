package sqlite

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
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

// copyOver writes one file into another, as cp does. If it is asked for, the size stays as it was.
func copyOver(path, from string, keepsSize bool) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if keepsSize {
		err = errors.Join(err, os.Truncate(path, info.Size()))
	}
	return err
}

// wantUnavailable fails unless every call of a store returns an error with a text.
func wantUnavailable(t *testing.T, s *Store, want string) {
	t.Helper()
	for range 2 {
		err := s.Create(t.Context(), plant.Plant{ID: 1 << 30})
		expect.Error(t, "Create", err, plant.ErrUnavailable)
		expect.Error(t, "Create", err, token.ErrUnavailable)
		expect.Message(t, "Create", err, want)
	}
	_, err := s.Get(t.Context(), 1)
	expect.Error(t, "Get", err, plant.ErrUnavailable)
	err = s.Snapshot(t.Context(), func(store.Snapshot) error { return nil })
	expect.Error(t, "Snapshot", err, plant.ErrUnavailable)
	expect.Message(t, "Ready", s.Ready(t.Context()), want)
}

// A log that another program has emptied with a checkpoint is not truncated, however long it stays so.
func TestOtherProgramEmptiesLog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plants.db")
	s := openStore(t, path)
	fill(t, s, 0, 50<<10)
	must.NoError(t, otherProgram(path, "PRAGMA wal_checkpoint(TRUNCATE)"))
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
	go func() { checked <- s.files.check() }()
	time.Sleep(100 * time.Millisecond) // long enough for the check to look once
	must.NoError(t, os.Rename(path+".moved", path))
	expect.Error(t, "check", wait.For(t, "the end of the check", checked), nil)
	expect.Error(t, "Create", s.Create(t.Context(), plant.Plant{ID: 1}), nil)
}

// A log that is truncated or overwritten during a write loses what no checkpoint has copied. That is noticed
// within a second. If it loses nothing, the write begins it anew.
func TestLogChangedDuringWrite(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		isCopied bool
		change   func(path string) error
		want     string // what the next look at the files finds; "": nothing
	}{
		"truncated after a checkpoint": {true, func(path string) error { return os.Truncate(path+"-wal", 0) }, ""},
		"truncated without a checkpoint": {
			false, func(path string) error { return os.Truncate(path+"-wal", 0) }, "plants.db-wal was overwritten or cut short",
		},
		"overwritten by the beginning of another one": { // it is as long as before then
			false, func(path string) error { return os.WriteFile(path+"-wal", read(t, path+".other-wal")[:32], 0) },
			"plants.db-wal was overwritten or cut short",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, backup := filepath.Join(t.TempDir(), "plants.db"), filepath.Join(t.TempDir(), "backup.db")
			openStore(t, path+".other")
			s := openStore(t, path)
			must.NoError(t, s.Create(t.Context(), plant.Plant{ID: 1}))
			if c.isCopied {
				must.NoError(t, copyTheLog(t, s))
			}
			err := s.runWrite(t.Context(), func(conn *sqlite.Conn) error {
				return errors.Join(c.change(path), insertPlant(conn, plant.Plant{ID: 2}))
			})
			must.NoError(t, err)
			_ = s.files.check() // as Watch does once a second
			if c.want != "" {
				wantUnavailable(t, s, c.want)
				return
			}
			must.NoError(t, Copy(t.Context(), path, backup, ignore))
			wantStored(t, backup, 2)
		})
	}
}

// A file that cannot be read is not one that another program has changed. Reads and writes
// get 503 until it can be read again, and Ready says so. There is no checkpoint meanwhile.
func TestContentsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	checks := map[string]func(*testing.T, *Store) error{
		"in the look of each second": func(_ *testing.T, s *Store) error { return s.files.check() },
		"before a checkpoint": func(t *testing.T, s *Store) error {
			err := copyTheLog(t, s)
			expect.Message(t, "a checkpoint", err, "could not be read while it was open")
			return nil
		},
	}
	for name, file := range map[string]func(*openFiles) *openFile{
		"database": func(f *openFiles) *openFile { return f.database },
		"log":      func(f *openFiles) *openFile { return f.wal },
		"index":    func(f *openFiles) *openFile { return f.index },
	} {
		for when, check := range checks {
			t.Run(name+" "+when, func(t *testing.T) {
				t.Parallel()
				s := openStore(t, filepath.Join(t.TempDir(), "plants.db"))
				must.NoError(t, s.Create(t.Context(), plant.Plant{ID: 1}))
				mend := breakFile(t, file(&s.files))
				expect.Error(t, "check", check(t, s), nil)
				for name, err := range map[string]error{
					"Ready": s.Ready(t.Context()), "Writable": s.Writable(t.Context()),
					"Create": s.Create(t.Context(), plant.Plant{ID: 2}),
				} {
					expect.Message(t, name, err, "could not be read while it was open; see the log of the operating system")
				}
				_, err := s.Get(t.Context(), 1)
				expect.Error(t, "Get", err, plant.ErrUnavailable)
				mend()
				expect.Error(t, "Ready after that", s.Ready(t.Context()), nil)
				expect.Error(t, "Create after that", s.Create(t.Context(), plant.Plant{ID: 2}), nil)
				expect.Error(t, "a checkpoint after that", copyTheLog(t, s), nil)
			})
		}
	}
}

// A store that was found to be damaged replaces no backup, and a copy of it is said to be
// doubtful. What says so is not passed over if it cannot be read.
func TestBackupOfDamagedStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, backup := filepath.Join(dir, "plants.db"), filepath.Join(dir, "backup.db")
	s := openStore(t, path)
	must.NoError(t, Backup(t.Context(), path, backup, false, ignore))
	before := read(t, backup)
	must.NoError(t, s.Create(t.Context(), plant.Plant{ID: 1}))
	must.NoError(t, os.WriteFile(path+damagedSuffix, []byte("plants.db was truncated\n"), 0o600))
	err := Backup(t.Context(), path, backup, true, ignore)
	expect.Message(t, "Backup that replaces", err, "was truncated")
	if !bytes.Equal(before, read(t, backup)) {
		t.Error("the backup was replaced")
	}
	if err := Backup(t.Context(), path, filepath.Join(dir, "rescued.db"), false, ignore); err != ErrMayBeMixed {
		t.Errorf("Backup = %v, want %v", err, ErrMayBeMixed)
	}
	// The record is not taken for that of a store that is restored.
	damaged := filepath.Join(dir, "damaged.db")
	must.NoError(t, os.WriteFile(damaged+damagedSuffix, []byte("damaged.db was truncated\n"), 0o600))
	err = Copy(t.Context(), backup, damaged, ignore)
	expect.Message(t, "Copy", err, "damaged.db was truncated; move "+damaged+"* to another directory")
	must.NoError(t, os.Remove(path+damagedSuffix))
	must.NoError(t, os.Symlink(path+damagedSuffix, path+damagedSuffix)) // cannot be read, by root neither
	_, err = Open(t.Context(), path)
	expect.Message(t, "Open beside a record that cannot be read", err, "may be damaged")
}
