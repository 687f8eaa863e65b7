package sqlite

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// A copy of a store in use has the mark of its log, but its pages are at other places.
func TestCopyOfStoreInUseWithItsLog(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	ages := map[string]func(){
		"at the start":                func() { h.create(3) },
		"later":                       func() { h.create(200) },
		"after a checkpoint":          h.checkpoint,
		"in the log of a new service": func() { h.close(); h.open(); h.create(3) },
	}
	kinds := map[string]func(to string) error{
		"backup":      func(to string) error { return Backup(t.Context(), h.path, to, false, ignore) },
		"VACUUM INTO": func(to string) error { return otherProgram(h.path, "VACUUM INTO '"+to+"'") },
	}
	for _, age := range slices.Sorted(maps.Keys(ages)) {
		ages[age]()
		copies := map[string][]byte{}
		for kind, make := range kinds {
			to := filepath.Join(t.TempDir(), "copy.db")
			must.NoError(t, make(to))
			copies[kind] = read(t, to)
		}
		h.create(2)
		h.remember(age)
		now := h.all[len(h.all)-1]
		for kind, content := range copies {
			path := place(t, content, now.log, now.index)
			before := contentOf(t, path)
			s, err := Open(t.Context(), path)
			expect.Message(t, kind+" "+age+": Open", err, "is the log of another database")
			if err == nil {
				must.NoError(t, s.Close())
			}
			if contentOf(t, path) != before {
				t.Errorf("%s %s: the files were changed", kind, age)
			}
		}
	}
}

// The marks of a store that another program has restored, or that only it has written to, do
// not keep it from starting.
func TestLogOfOtherPrograms(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]func(t *testing.T, h *history){
		"a log that only others wrote": func(t *testing.T, h *history) {
			h.close()
			conn, err := sqlite.OpenConn(h.path, sqlite.OpenReadWrite)
			must.NoError(t, err)
			t.Cleanup(func() { conn.Close() })
			for range 5 {
				must.NoError(t, execute(conn, "INSERT INTO changes (ids, at) VALUES ('[]', 0)"))
			}
			h.remember("")
			h.open()
		},
		"a restored backup": func(t *testing.T, h *history) {
			backup := filepath.Join(t.TempDir(), "backup")
			must.NoError(t, Backup(t.Context(), h.path, backup, false, ignore))
			h.create(5)
			h.checkpoint()
			h.create(5)
			dotBackup(t, backup, h.path)
			h.remember("")
			h.all[0].plants = 10
			h.otherProgram("PRAGMA wal_checkpoint(PASSIVE)")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHistory(t)
			h.create(10)
			c(t, h)
			if h.all[0].log == nil {
				t.Fatal("there is no log")
			}
			path := place(t, h.all[0].database, h.all[0].log, nil)
			wantStored(t, path, h.all[0].plants)
			path = place(t, h.all[0].database, h.all[0].log, nil)
			must.NoError(t, os.WriteFile(path, read(t, h.path), 0o600)) // the database after a checkpoint
			_, err := storedIn(t, path)
			expect.NoError(t, err)
		})
	}
}

// A .restore that begins a log is no damage, even if no check of the files has seen the last checkpoint. The
// first write of the store after it lets the store start after a crash.
func TestRestoreBeginsLog(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"after a checkpoint of the store", "after one of another program"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHistory(t)
			h.create(3)
			dotBackup(t, h.path, h.path+".backup")
			h.checkpoint()
			h.create(5)
			if name == "after a checkpoint of the store" {
				h.checkpoint()
			} else {
				h.otherProgram("PRAGMA wal_checkpoint(RESTART)")
			}
			dotBackup(t, h.path+".backup", h.path)
			h.last = 3
			h.create(2)
			h.remember("after .restore")
			wantStored(t, place(t, h.all[0].database, h.all[0].log, nil), h.last)
			h.checkpoint()
			h.create(1)
		})
	}
}

// An older store is moved to the path of one that is open, and Ready says which command takes the log away. However the
// program ends, the log stays as it is, and the next start is refused until the command was run. The store that was
// put off is complete with its log.
func TestReplacedByOlderStore(t *testing.T) {
	t.Parallel()
	for name, isClosed := range map[string]bool{"closed": true, "killed": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHistory(t)
			h.create(5)
			h.close()
			older, putOff := read(t, h.path), h.path+".aside"
			h.open()
			h.checkpoint()
			h.create(20)
			must.NoError(t, errors.Join(os.Rename(h.path, putOff), os.WriteFile(h.path, older, 0o600)))
			fault := h.store.Ready(t.Context())
			expect.Message(t, "Ready", fault, "was moved, removed or replaced")
			if isClosed {
				h.close()
			}

			before := contentOf(t, h.path)
			_, err := Open(t.Context(), h.path)
			expect.Message(t, "Open", err, "is the log of another database")
			if contentOf(t, h.path) != before {
				t.Error("an Open that was refused has changed the files")
			}
			runAdvice(t, fault.Error())
			wantStored(t, h.path, 5)
			wantStored(t, place(t, read(t, putOff), read(t, h.path+"-wal.other"), nil), h.last)
		})
	}
}
