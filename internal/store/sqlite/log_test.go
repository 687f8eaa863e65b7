package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// snapshot of the files of a store at some moment, and the plants that were acknowledged then.
type storeFiles struct {
	moment        string
	database, log []byte
	index         []byte // only of a store that was open
	plants        []int64
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
	t.Cleanup(func() { _ = h.store.Close() })
	return h
}

func (h *history) open() {
	var err error
	h.store, err = Open(h.t.Context(), h.path)
	must.NoError(h.t, err)
}

func (h *history) create(n int64) {
	for range n {
		h.last++
		must.NoError(h.t, h.store.Create(h.t.Context(), plant.Plant{ID: h.last, Name: strings.Repeat("n", 300)}))
	}
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
	conn, err := sqlite.OpenConn(h.path, sqlite.OpenReadWrite)
	must.NoError(h.t, err)
	must.NoError(h.t, executeAll(conn, statement))
	must.NoError(h.t, conn.Close())
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
	files := storeFiles{moment: moment, database: read(""), log: read("-wal"), index: read("-shm")}
	for id := range h.last {
		files.plants = append(files.plants, id+1)
	}
	h.all = append(h.all, files)
}

// place writes files as a store, and returns its path.
func place(t *testing.T, database, log, index []byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), `it's $HOME "a" \b`) // commands in messages have it
	must.NoError(t, os.Mkdir(dir, 0o700))
	path := filepath.Join(dir, "plants.db")
	for suffix, content := range map[string][]byte{"": database, "-wal": log, "-shm": index} {
		if content != nil {
			must.NoError(t, os.WriteFile(path+suffix, content, 0o600))
		}
	}
	return path
}

// storedIn returns the plants of a store that it opens, after a check of its integrity.
func storedIn(t *testing.T, path string) ([]int64, error) {
	t.Helper()
	s, err := Open(t.Context(), path)
	if err != nil {
		return nil, err
	}
	defer func() { must.NoError(t, s.Close()) }()
	var ids []int64
	err = s.read(t.Context(), func(conn *sqlite.Conn) error {
		if err := checkIntegrity(conn); err != nil {
			return err
		}
		ids, err = numbers(conn, "SELECT id FROM plants ORDER BY id")
		return err
	})
	must.NoError(t, err)
	return ids, nil
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
	must.NoError(t, h.store.Close())
	h.remember("closed")
	h.open()
	h.remember("open again")
	h.create(10)
	h.remember("log after the start")
	must.NoError(t, h.store.Close())
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
			older := len(log.plants) < len(database.plants)
			if database.moment == otherCopied && older && bytes.HasPrefix(log.log, database.log[:32]) {
				continue // another program has copied the rest of this log: no mark says so
			}
			var index []byte // an index that does not belong to the files is not used
			if database.moment == log.moment {
				index = log.index
			}
			ids, err := storedIn(t, place(t, database.database, log.log, index))
			switch {
			case err != nil && database.moment == log.moment:
				t.Errorf("the files of %q are refused: %v", database.moment, err)
			case err != nil:
				refused.Add(1)
				if !strings.Contains(err.Error(), "is the log of another database") {
					t.Errorf("the database of %q with the log of %q: %v", database.moment, log.moment, err)
				}
			case !slices.Equal(ids, log.plants):
				t.Errorf("the database of %q with the log of %q has %d plants, the log was of %d",
					database.moment, log.moment, len(ids), len(log.plants))
			case len(database.plants) > len(log.plants) && !bytes.Equal(database.database, log.database):
				t.Errorf("the database of %q with the log of %q has lost %d plants",
					database.moment, log.moment, len(database.plants)-len(log.plants))
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
	must.NoError(t, h.store.Close())
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
	ids, err := storedIn(t, path)
	must.NoError(t, err)
	if !slices.Equal(ids, older.plants) {
		t.Errorf("without the log there are %d plants, want %d", len(ids), len(older.plants))
	}
}

// A copy of a store in use has the mark of its log, but its pages are at other places.
func TestCopyOfStoreInUseWithItsLog(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	ages := map[string]func(){
		"at the start":                func() { h.create(3) },
		"later":                       func() { h.create(200) },
		"after a checkpoint":          h.checkpoint,
		"in the log of a new service": func() { must.NoError(t, h.store.Close()); h.open(); h.create(3) },
	}
	kinds := map[string]func(to string) error{
		"backup": func(to string) error { return Backup(t.Context(), h.path, to, false, ignore) },
		"VACUUM INTO": func(to string) error {
			conn, err := sqlite.OpenConn(h.path, sqlite.OpenReadOnly)
			must.NoError(t, err)
			defer conn.Close()
			return execute(conn, "VACUUM INTO '"+to+"'")
		},
	}
	for _, age := range slices.Sorted(maps.Keys(ages)) {
		ages[age]()
		copies := map[string][]byte{}
		for kind, make := range kinds {
			to := filepath.Join(t.TempDir(), "copy.db")
			must.NoError(t, make(to))
			var err error
			copies[kind], err = os.ReadFile(to)
			must.NoError(t, err)
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
			must.NoError(t, h.store.Close())
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
			from, err := sqlite.OpenConn(backup, sqlite.OpenReadOnly)
			must.NoError(t, err)
			to, err := sqlite.OpenConn(h.path, sqlite.OpenReadWrite)
			must.NoError(t, err)
			copying, err := sqlite.NewBackup(to, "main", from, "main")
			must.NoError(t, err)
			_, err = copying.Step(-1)
			must.NoError(t, errors.Join(err, copying.Close(), from.Close(), to.Close()))
			h.remember("")
			h.all[0].plants = h.all[0].plants[:10]
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
			ids, err := storedIn(t, path)
			must.NoError(t, err)
			if !slices.Equal(ids, h.all[0].plants) {
				t.Errorf("there are %d plants, want %d", len(ids), len(h.all[0].plants))
			}
			path = place(t, h.all[0].database, h.all[0].log, nil)
			must.NoError(t, os.WriteFile(path, read(t, h.path), 0o600)) // the database after a checkpoint
			_, err = storedIn(t, path)
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
			ids, err := storedIn(t, place(t, h.all[0].database, h.all[0].log, nil))
			must.NoError(t, err)
			if !slices.Equal(ids, h.all[0].plants) {
				t.Errorf("the plants are %v, want %v", ids, h.all[0].plants)
			}
			h.checkpoint()
			h.create(1)
		})
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	must.NoError(t, err)
	return content
}

// crashed returns the files of a store that was killed, with a log of some length that has an
// earlier log behind its end.
func crashed(t *testing.T) storeFiles {
	h := newHistory(t)
	h.create(100)
	h.checkpoint()
	h.create(60)
	h.remember("crash")
	return h.all[0]
}

// After a flipped bit or an empty block anywhere in the log, a start is refused, or only the
// last commit is missing, or nothing is.
func TestDamagedLog(t *testing.T) {
	t.Parallel()
	files := crashed(t)
	content := logOf(t, files)
	used := content.end(content.used)
	damages := map[string]func(log []byte){}
	for i := range int64(200) {
		at := i * used / 200
		if i < 32 {
			at = i // the header
		}
		damages[fmt.Sprintf("bit at %d", at)] = func(log []byte) { log[at] ^= 1 << (i % 8) }
	}
	for _, size := range []int64{512, 4096} {
		const end = 32 << 10 // which has the last two commits
		for at := int64(0); at < used; at += size {
			if coarse := used / 40 / size * size; at < used-end && at%coarse != 0 {
				continue
			}
			damages[fmt.Sprintf("%d empty bytes at %d", size, at)] = func(log []byte) {
				clear(log[at:min(at+size, int64(len(log)))])
			}
		}
	}
	var refused, less atomic.Int64
	start := func(t *testing.T, name string) {
		log := slices.Clone(files.log)
		damages[name](log)
		ids, err := storedIn(t, place(t, files.database, log, files.index))
		switch {
		case err != nil:
			refused.Add(1)
			expect.Message(t, name, err, "truncate -s")
		case len(ids) == len(files.plants):
		case len(ids) == len(files.plants)-1:
			less.Add(1)
		default:
			t.Errorf("after %s a store starts with %d plants, %d were acknowledged", name, len(ids), len(files.plants))
		}
	}
	names := slices.Sorted(maps.Keys(damages))
	if testing.Short() {
		rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		names = names[:len(names)/5]
	}
	t.Run("all", func(t *testing.T) {
		for shard := range slices.Chunk(names, 1+len(names)/8) {
			t.Run(shard[0], func(t *testing.T) {
				t.Parallel()
				for _, name := range shard {
					start(t, name)
				}
			})
		}
	})
	t.Logf("figures: %d damages, %d refused, %d without the last commit", len(names), refused.Load(), less.Load())
}

func logOf(t *testing.T, files storeFiles) *logContent {
	t.Helper()
	return readLog(place(t, files.database, files.log, files.index))
}

// The command in the error keeps the damaged log, and leaves what is before the damage.
func TestDamagedLogIsPutAside(t *testing.T) {
	t.Parallel()
	files := crashed(t)
	for name, c := range map[string]struct{ at, least int }{
		"in a page":     {32 + 24 + 4096*20, 101},
		"in the header": {9, 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := slices.Clone(files.log)
			log[c.at] ^= 1
			path := place(t, files.database, log, files.index)
			_, err := Open(t.Context(), path)
			expect.Message(t, "Open", err, "-wal is damaged")
			runAdvice(t, err.Error())
			if !bytes.Equal(read(t, path+"-wal.damaged"), log) {
				t.Error("the log that was kept differs")
			}
			for range 2 {
				ids, err := storedIn(t, path)
				must.NoError(t, err)
				if len(ids) < c.least || len(ids) == len(files.plants) {
					t.Errorf("there are %d plants, want at least %d, and not all", len(ids), c.least)
				}
			}
		})
	}
}

// What a power cut leaves of the last transaction is logged at the start, and not more than
// once.
func TestIncompleteTransaction(t *testing.T) {
	t.Parallel()
	files := crashed(t)
	content := logOf(t, files)
	last := content.end(content.used - 1) // where the frame of the last commit begins
	log := slices.Clone(files.log)
	log[last+100] ^= 1
	for name, open := range map[string]func(path string) (*Store, error){
		"Open":         func(path string) (*Store, error) { return Open(t.Context(), path) },
		"OpenReadOnly": OpenReadOnly,
	} {
		t.Run(name, func(t *testing.T) {
			path := place(t, files.database, log, nil)
			lines := &bytes.Buffer{}
			s, err := open(path)
			must.NoError(t, err)
			s.Watch(slog.New(slog.NewTextHandler(lines, nil)))
			must.NoError(t, s.Close())
			if !strings.Contains(lines.String(), "incomplete transaction") {
				t.Errorf("the log does not have it:\n%s", lines)
			}
			s, err = Open(t.Context(), path)
			must.NoError(t, err)
			must.NoError(t, s.Close())
			lines.Reset()
			s, err = open(path)
			must.NoError(t, err)
			s.Watch(slog.New(slog.NewTextHandler(lines, nil)))
			must.NoError(t, s.Close())
			if strings.Contains(lines.String(), "incomplete transaction") {
				t.Errorf("the log has it after a start without it:\n%s", lines)
			}
		})
	}
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
	must.NoError(t, errors.Join(err, h.store.TryWrite(t.Context())))
	if log := readLog(h.path); log.used == 0 || len(log.marks) == 0 {
		t.Errorf("the log has %d frames and the marks %v", log.used, log.marks)
	}
}

// runAdvice runs the command in a message, as a person would.
func runAdvice(t *testing.T, message string) {
	t.Helper()
	const word = `(?:[\w./:-]|'[^']*'|\\')+` // of a shell
	commands := strings.ReplaceAll(`mv W W|cp -p W W && truncate -s \d+ W`, "W", word)
	command := regexp.MustCompile(commands).FindString(message)
	if command == "" {
		t.Fatalf("there is no command in %q", message)
	}
	if out, err := exec.Command("sh", "-c", command).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
}

// While a store is written to and its log begins anew all the time, other programs may open it.
func TestCheckLogDuringWrites(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	h.create(1)
	stop := wait.Repeat(1, func(i int) bool {
		h.store.checkpointAt = min(h.store.checkpointAt, 100)
		_, err := h.store.CreateAll(t.Context(), trialBatch(&h.last))
		expect.NoError(t, err)
		return err == nil
	})
	for range 300 {
		if _, err := checkLog(h.path); err != nil {
			t.Error(err)
			break
		}
	}
	stop()
}

// trialBatch returns plants that take about ten pages.
func trialBatch(last *int64) (plants []plant.Plant) {
	for range 100 {
		*last++
		plants = append(plants, plant.Plant{ID: *last, Name: strings.Repeat("n", 300)})
	}
	return plants
}

// A commit whose sync has failed leaves its frames behind the end of the log. The next commit
// begins a new log, for which they are not lost commits.
func TestLogBeginsAnewAfterDiskError(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	h.create(3)
	before := read(t, h.path+"-wal")[16:24]
	err := h.store.runWrite(t.Context(), func(*sqlite.Conn) error { return sqlite.ResultIOErrFsync.ToError() })
	expect.Error(t, "write", err, plant.ErrUnavailable)
	h.create(2)
	if after := read(t, h.path+"-wal")[16:24]; bytes.Equal(before, after) {
		t.Error("the log did not begin anew")
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

// numbers returns the numbers in the first column of the rows of a statement.
func numbers(conn *sqlite.Conn, statement string, args ...any) (all []int64, err error) {
	err = query(conn, statement, func(stmt *sqlite.Stmt) error {
		all = append(all, stmt.ColumnInt64(0))
		return nil
	}, args...)
	return all, err
}

// Several programs write, copy the log and begin new ones in any order. No file looks damaged to them.
func TestProgramsThatBeginLogs(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plants.db")
	server := openStore(t, path)
	rounds := 300
	if testing.Short() {
		rounds = 50
	}
	var others sync.WaitGroup
	for first := range int64(4) {
		others.Go(func() {
			for id := range int64(rounds / 5) {
				s, err := Open(t.Context(), path)
				must.NoError(t, err)
				must.NoError(t, s.Create(t.Context(), plant.Plant{ID: first<<20 + id}))
				must.NoError(t, s.Close())
			}
		})
	}
	for id := range int64(rounds) {
		if id%3 == 0 {
			server.checkpointAt = 1
		}
		if err := server.Create(t.Context(), plant.Plant{ID: 1<<30 + id}); err != nil {
			t.Fatal(err)
		}
	}
	others.Wait()
}
