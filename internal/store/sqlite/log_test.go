package sqlite

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store/sqlite/wal"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// snapshot of the files of a store at some moment, and the plants that were acknowledged then.
type storeFiles struct {
	moment        string
	database, log []byte
	index         []byte // only of a store that was open
	plants        int64  // 1 to this number
}

// history is what happens to a store between two snapshots.
type history struct {
	t     *testing.T
	path  string
	store *Store
	last  int64
	all   []storeFiles
}

func newHistory(t *testing.T) *history {
	h := &history{t: t, path: filepath.Join(t.TempDir(), "plants.db")}
	h.open()
	t.Cleanup(func() {
		if h.store != nil {
			_ = h.store.Close()
		}
	})
	return h
}

func (h *history) open() {
	var err error
	h.store, err = Open(h.t.Context(), h.path)
	must.NoError(h.t, err)
}

func (h *history) close() {
	must.NoError(h.t, h.store.Close())
	h.store = nil
}

func (h *history) create(n int64) {
	for range n {
		h.last++
		must.NoError(h.t, h.store.Create(h.t.Context(), plant.Plant{ID: h.last, Name: strings.Repeat("n", 300)}))
	}
}

// createAll creates plants in one transaction.
func (h *history) createAll(n int64) {
	var plants []plant.Plant
	for range n {
		h.last++
		plants = append(plants, plant.Plant{ID: h.last, Name: strings.Repeat("n", 300)})
	}
	_, err := h.store.CreateAll(h.t.Context(), plants)
	must.NoError(h.t, err)
}

// checkpoint lets the next create copy the log and begin a new one.
func (h *history) checkpoint() {
	h.store.checkpointAt = 1
	h.create(1)
	if h.store.checkpointAt != checkpointPages {
		h.t.Fatal("there was no checkpoint")
	}
}

// otherProgram runs a statement in a connection of its own.
func (h *history) otherProgram(statement string) {
	must.NoError(h.t, otherProgram(h.path, statement))
}

// otherProgram runs statements in a connection of its own.
func otherProgram(path string, statements ...string) error {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	return errors.Join(executeAll(conn, statements...), conn.Close())
}

// remember takes a snapshot, as of a file system, or as a crash leaves it.
func (h *history) remember(moment string) {
	read := func(suffix string) []byte {
		content, err := os.ReadFile(h.path + suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			h.t.Fatal(err)
		}
		return content
	}
	files := storeFiles{moment: moment, database: read(""), log: read("-wal"), index: read("-shm"), plants: h.last}
	h.all = append(h.all, files)
}

// place writes files as a store, and returns its path.
func place(t *testing.T, database, log, index []byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), `it's $HOME "a" \b?c=d&e%20#`) // commands in messages have it
	must.NoError(t, os.Mkdir(dir, 0o700))
	path := filepath.Join(dir, "plants.db")
	for suffix, content := range map[string][]byte{"": database, "-wal": log, "-shm": index} {
		if content != nil {
			must.NoError(t, os.WriteFile(path+suffix, content, 0o600))
		}
	}
	return path
}

// storedIn returns how many plants a store has that it opens, after a check of its integrity.
func storedIn(t *testing.T, path string) (plants int64, err error) {
	t.Helper()
	s, err := Open(t.Context(), path)
	if err != nil {
		return 0, err
	}
	defer func() { must.NoError(t, s.Close()) }()
	err = s.read(t.Context(), func(conn *sqlite.Conn) error {
		if err := checkIntegrity(conn); err != nil {
			return err
		}
		plants, err = number(conn, "SELECT count(*) FROM plants")
		return err
	})
	must.NoError(t, err)
	return plants, nil
}

// wantStored fails unless a store can be opened and has n plants.
func wantStored(t *testing.T, path string, n int64) {
	t.Helper()
	if plants, err := storedIn(t, path); err != nil || plants != n {
		t.Errorf("the store at %s has %d plants, %v, want %d", path, plants, err, n)
	}
}

const otherCopied = "copied by another program"

// Every pairing of a database and a log from different moments of one history is started. A
// pair of one moment has its plants. Another one has the plants of the log, or is refused.
func TestPairsOfDatabaseAndLog(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	h.remember("new")
	h.create(3)
	h.remember("first creates")
	h.create(20)
	h.remember("more of the same log")
	h.checkpoint()
	h.remember("after a checkpoint")
	h.create(20)
	h.remember("second log")
	h.otherProgram("PRAGMA wal_checkpoint(PASSIVE)")
	h.remember(otherCopied)
	h.create(20)
	h.checkpoint()
	h.create(5)
	h.otherProgram("VACUUM")
	h.remember("vacuum")
	h.checkpoint()
	h.create(5)
	h.remember("fourth log")
	h.close()
	h.remember("closed")
	h.open()
	h.remember("open again")
	h.create(10)
	h.remember("log after the start")
	h.close()
	h.remember("closed again")
	h.open()
	h.create(1)
	h.remember("last")

	var started, refused atomic.Int64
	pair := func(t *testing.T, database storeFiles) {
		for _, log := range h.all {
			if len(log.log) == 0 {
				continue // the database has what it had, and no program can know that a log is missing
			}
			if leftOut := testing.Short() && rand.N(3) > 0; leftOut && database.moment != log.moment {
				continue // make check has all pairs
			}
			older := log.plants < database.plants
			if database.moment == otherCopied && older && bytes.HasPrefix(log.log, database.log[:32]) {
				continue // another program has copied the rest of this log: no mark says so
			}
			var index []byte // an index that does not belong to the files is not used
			if database.moment == log.moment {
				index = log.index
			}
			plants, err := storedIn(t, place(t, database.database, log.log, index))
			switch {
			case err != nil && database.moment == log.moment:
				t.Errorf("the files of %q are refused: %v", database.moment, err)
			case err != nil:
				refused.Add(1)
				if !strings.Contains(err.Error(), "is the log of another database") {
					t.Errorf("the database of %q with the log of %q: %v", database.moment, log.moment, err)
				}
			case plants != log.plants:
				t.Errorf("the database of %q with the log of %q has %d plants, the log was of %d",
					database.moment, log.moment, plants, log.plants)
			case older && !bytes.Equal(database.database, log.database):
				t.Errorf("the database of %q with the log of %q has lost %d plants",
					database.moment, log.moment, database.plants-log.plants)
			default:
				started.Add(1)
			}
		}
	}
	t.Run("all", func(t *testing.T) {
		for _, database := range h.all {
			t.Run(database.moment, func(t *testing.T) {
				t.Parallel()
				pair(t, database)
			})
		}
	})
	t.Logf("figures: %d pairs started, %d refused", started.Load(), refused.Load())
}

// A set of files that is refused stays as it is, and every way of opening it is refused. The
// step in the error leaves the database as it was without the log.
func TestWrongLogIsRefused(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	h.create(5)
	h.close()
	h.remember("older")
	h.open()
	h.create(5)
	h.checkpoint()
	h.create(5)
	h.remember("newer")
	older, newer := h.all[0], h.all[1]
	path := place(t, older.database, newer.log, newer.index)
	before := contentOf(t, path)
	target := filepath.Join(t.TempDir(), "target")
	var advice string
	for name, open := range map[string]func() error{
		"Open":         func() error { _, err := Open(t.Context(), path); return err },
		"OpenReadOnly": func() error { _, err := OpenReadOnly(path); return err },
		"OpenSource":   func() error { _, err := OpenSource(path); return err },
		"Copy":         func() error { return Copy(t.Context(), path, target, ignore) },
		"Backup":       func() error { return Backup(t.Context(), path, target, false, ignore) },
	} {
		err := open()
		expect.Message(t, name, err, "is the log of another database")
		if err != nil {
			advice = err.Error()
		}
	}
	if contentOf(t, path) != before {
		t.Error("the files were changed")
	}
	runAdvice(t, advice)
	wantStored(t, path, older.plants)
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	must.NoError(t, err)
	return content
}

// The mark is written once for each log, so that a create costs what it did.
func TestMarkIsWrittenOnceForEachLog(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	marks := func() (n int64) {
		t.Helper()
		conn := wait.For(t, "the writer", h.store.writer)
		defer func() { h.store.writer <- conn }()
		n, err := number(conn, "SELECT total_changes()")
		must.NoError(t, err)
		return n
	}
	h.create(1)
	before := marks()
	h.create(1)
	each := marks() - before
	before = marks()
	h.create(10)
	if n := marks() - before; n != 10*each {
		t.Errorf("10 creates change %d rows, one changes %d", n, each)
	}
}

// A log that a trial has begun has a mark, too.
func TestTrialMarksNewLog(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	h.create(3)
	conn := wait.For(t, "the writer", h.store.writer)
	_, _, _, err := checkpoint(conn, "RESTART")
	h.store.writer <- conn
	must.NoError(t, errors.Join(err, h.store.tryWrite()))
	if log := readLog(h.path); log.Used == 0 || !log.IsMarked() {
		t.Errorf("the log has %d frames, and a mark: %t", log.Used, log.IsMarked())
	}
}

// SQLite never writes the page with the byte at 1 GiB, which it locks. The log lacks no other page.
func TestLogHasAllPages(t *testing.T) {
	t.Parallel()
	const pageSize, locked = 64 << 10, 1<<14 + 1
	for _, missing := range []int64{locked - 1, locked, locked + 1} {
		logged := wal.Content{Used: 1, PageSize: pageSize, Pages: map[int64]int64{}, DatabasePages: locked + 1}
		for page := int64(1); page <= logged.DatabasePages; page++ {
			logged.Pages[page] = 1
		}
		delete(logged.Pages, missing)
		if got, want := logged.HasAllPages(), missing == locked; got != want {
			t.Errorf("without page %d the log has all pages: %t, want %t", missing, got, want)
		}
	}
}

// contentOf returns the content of a database and its log.
func contentOf(t *testing.T, path string) (all string) {
	t.Helper()
	for _, name := range []string{path, path + "-wal"} {
		data, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		all += string(data) + "\n"
	}
	return all
}
