package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/token"
)

// What a way to change the files leads to.
const (
	moved       = "was moved, removed or replaced while it was open"
	overwritten = "plants.db was overwritten or truncated while it was open"
	otherLog    = "plants.db-wal was overwritten or cut short while it was open"
	lostLog     = "the writes since the last checkpoint are lost: restart the service"
	otherIndex  = "plants.db-shm was overwritten while it was open"
	cutIndex    = "plants.db-shm was truncated while it was open; restart the service"
	behind      = "are behind the damage"
	ofAnother   = "is the log of another database"
	oldLog      = "belongs to an old store"
	marked      = "move " // the damage was recorded
	everything  = "every acknowledged plant"
)

// way is a way in which people and other programs change the files of a store that is open. Its plants are of
// three generations: a copy has the first one, the database the second one, and the log the third one, which
// is the present one.
type way struct {
	change func(f *changedFiles) error
	atOnce string // the error of the next write; empty if it is acknowledged
	second string // what the look of each second finds, if there is no write before it; empty if nothing
	start  string // the error of the next start after a kill, or what the store has
}

// ways are the ways that the manual has a table of.
var ways = map[string]way{
	"the database is moved":              {move("", ".away"), moved, moved, oldLog},
	"the database is removed":            {remove(""), moved, moved, oldLog},
	"the database is moved, and back":    {(*changedFiles).moveAndBack, "", "", everything},
	"an older one is moved to its path":  {move(".older", ""), moved, moved, ofAnother},
	"another store is moved to its path": {move(".other", ""), moved, moved, ofAnother},
	"a copy of it is moved to its path":  {(*changedFiles).replaceByItself, moved, moved, everything},
	"an older one is copied over it":     {cp(".older", ""), "", overwritten, marked},
	"a shorter one is copied over it":    {cp(".shorter", ""), overwritten, overwritten, marked},
	"a backup is copied over it":         {cp(".backup", ""), "", overwritten, marked},
	"another store is copied over it":    {cp(".other", ""), "", overwritten, marked},
	"it is copied over itself":           {(*changedFiles).copyOverItself, "", "", everything},
	"an older one, the log is copied":    {(*changedFiles).copyOverAfterCheckpoint, overwritten, overwritten, marked},
	"an older one, the log is empty":     {(*changedFiles).copyOverBesideEmptyLog, overwritten, overwritten, marked},
	"an older one, a log of others":      {(*changedFiles).copyOverBesideLogOfOthers, overwritten, overwritten, marked},
	"an older one by dd":                 {dd(".older", "", 0), "", overwritten, marked},
	"the first page of an older one":     {dd(".older", "", 4096), "", "", everything},
	"the first half of an older one":     {dd(".older", "", 200<<10), "", overwritten, marked},
	"the first page is overwritten":      {zero("", 0, 4096), "", overwritten, marked},
	"it is cut to two pages":             {cut("", 8192), overwritten, overwritten, marked},
	"it is emptied":                      {cut("", 0), overwritten, overwritten, marked},
	"it loses its last byte":             {shorten("", 1), overwritten, overwritten, marked},
	"it loses its last page":             {shorten("", 4096), overwritten, overwritten, marked},
	"zeros are appended to it":           {shorten("", -4096), "", "", everything},
	"it gets another time":               {(*changedFiles).touch, "", "", everything},
	"it gets a second name":              {(*changedFiles).link, "", "", everything},
	"a journal of others is put there":   {cp(".junk", "-journal"), "", "", everything},
	"the log is moved":                   {move("-wal", ".away"), moved, moved, "second generation"},
	"the log is removed":                 {remove("-wal"), moved, moved, "second generation"},
	"another log is moved to its path":   {move(".other-wal", "-wal"), moved, moved, ofAnother},
	"a copy of the log is moved there":   {(*changedFiles).replaceLogByItself, moved, moved, everything},
	"the log is emptied":                 {cut("-wal", 0), lostLog, lostLog, "second generation"},
	"the log is cut":                     {cut("-wal", 4200), otherLog, otherLog, marked},
	"the log loses its last byte":        {(*changedFiles).cutLastByte, otherLog, otherLog, marked},
	"a log of another store copied over": {cp(".other-wal", "-wal"), "", otherLog, marked},
	"an earlier log is copied over it":   {cp(".older-wal", "-wal"), otherLog, otherLog, marked},
	"the log is copied over itself":      {(*changedFiles).copyLogOverItself, "", "", everything},
	"the header of the log is destroyed": {zero("-wal", 0, 32), "", otherLog, marked},
	"a frame of the log is destroyed":    {zero("-wal", 32+10*4120, 4120), "", "", behind},
	"something is appended to the log":   {(*changedFiles).appendToLog, "", "", everything},
	"the index is removed":               {remove("-shm"), moved, moved, everything},
	"the index is emptied":               {cut("-shm", 0), cutIndex, cutIndex, everything},
	"the index loses its last byte":      {shorten("-shm", 1), cutIndex, cutIndex, everything},
	"a copy of the index is moved there": {(*changedFiles).replaceIndexByItself, moved, moved, everything},
	"the index is destroyed":             {zero("-shm", 0, 32768), "", "", everything},
	"an earlier index is copied over it": {cp(".older-shm", "-shm"), otherIndex, otherIndex, marked},
	"the index of one commit before":     {(*changedFiles).copyIndexOfOneCommitBefore, otherIndex, otherIndex, marked},
	"the index of an empty log":          {(*changedFiles).copyIndexOfEmptyLog, otherIndex, otherIndex, marked},
	"one header of the index destroyed":  {zero("-shm", 20, 1), "", "", everything},
	"all three of an earlier moment":     {(*changedFiles).copySet, otherIndex, otherIndex, marked},
	"all files are moved":                {(*changedFiles).moveAll, moved, moved, "nothing"},
	"older files are moved to all paths": {(*changedFiles).replaceAll, moved, moved, "first generation"},
	"older files are copied over all":    {(*changedFiles).copyAll, overwritten, overwritten, marked},
	"the folder is moved":                {(*changedFiles).moveFolder, moved, moved, "nothing"},
	".restore of an older copy":          {(*changedFiles).dotRestore, "", "", "first generation"},
	".backup of it":                      {(*changedFiles).dotBackup, "", "", everything},
	"VACUUM":                             {statements("VACUUM"), "", "", everything},
	"VACUUM INTO":                        {(*changedFiles).vacuumInto, "", "", everything},
	"a checkpoint, PASSIVE":              {statements("PRAGMA wal_checkpoint(PASSIVE)"), "", "", everything},
	"a checkpoint, RESTART":              {statements("PRAGMA wal_checkpoint(RESTART)"), "", "", everything},
	"a checkpoint, TRUNCATE":             {statements("PRAGMA wal_checkpoint(TRUNCATE)"), "", "", everything},
	"a checkpoint, and the log emptied":  {(*changedFiles).emptyCopiedLog, "no write is lost: restart", "no write is lost: restart", everything},
	"writes of another program":          {statements("UPDATE plants SET tag = 'n'"), "", "", everything},
}

// Each way is tried twice: the service writes next, or its look at the files of each second comes first. Then the
// service is killed, and the next start is refused, or has one state of the store, and no mixture.
func TestWaysToChangeFiles(t *testing.T) {
	t.Parallel()
	other := filesOfOther(t)
	var all sync.WaitGroup // and not Parallel: they wait for half a second, and not for a processor
	places := make(chan struct{}, 8)
	for number, name := range slices.Sorted(maps.Keys(ways)) {
		for order, isWritten := range []bool{true, false} {
			if leftOut := testing.Short() && (number+order)%8 != 0; leftOut {
				continue // make check has all of them
			}
			way := ways[name]
			all.Go(func() {
				places <- struct{}{}
				defer func() { <-places }()
				t.Run(fmt.Sprintf("%s, then a write: %t", name, isWritten), func(t *testing.T) {
					newChangedFiles(t, other).try(way, isWritten)
				})
			})
		}
	}
	all.Wait()
	if len(ways) < 40 {
		t.Errorf("there are %d ways, want at least 40", len(ways))
	}
}

// changedFiles are the files of a store that is open, and what else is in their folder: an older database, a
// backup and files of another store.
type changedFiles struct {
	t     *testing.T
	path  string
	store *Store
	log   bytes.Buffer
	tried int // plants since the change
	acked int // of these, those that were acknowledged
}

// filesOfOther returns another store, and its log.
func filesOfOther(t *testing.T) (files [2][]byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "other.db")
	other := openStore(t, path)
	fill(t, other, 0, 1<<20)
	files[1] = read(t, path+"-wal")
	must.NoError(t, copyTheLog(t, other))
	files[0] = read(t, path)
	return files
}

func newChangedFiles(t *testing.T, other [2][]byte) *changedFiles {
	t.Helper()
	f := &changedFiles{t: t, path: filepath.Join(t.TempDir(), "plants.db")}
	var err error
	f.store, err = Open(t.Context(), f.path)
	must.NoError(t, err)
	fill(t, f.store, 0, 10<<10)
	must.NoError(t, Backup(t.Context(), f.path, f.path+".shorter", false, ignore))
	fill(t, f.store, 1<<20, 390<<10)
	f.generation(1)
	must.NoError(t, cp("-wal", ".older-wal")(f))
	must.NoError(t, copyTheLog(t, f.store))
	must.NoError(t, Backup(t.Context(), f.path, f.path+".backup", false, ignore))
	must.NoError(t, cp("", ".older")(f))
	f.generation(2)
	must.NoError(t, copyTheLog(t, f.store))
	must.NoError(t, f.store.Create(t.Context(), plant.Plant{ID: -1, Name: "2"}))
	must.NoError(t, f.do(cp("", ".set"), cp("-wal", ".set-wal"), cp("-shm", ".set-shm"), cp("-shm", ".older-shm")))
	f.generation(3)
	must.NoError(t, os.WriteFile(f.path+".other", other[0], 0o600))
	must.NoError(t, os.WriteFile(f.path+".other-wal", other[1], 0o600))
	must.NoError(t, os.WriteFile(f.path+".junk", bytes.Repeat([]byte{0}, 512), 0o600))
	f.store.files.log = slog.New(slog.NewTextHandler(&f.log, nil))
	must.NoError(t, f.store.files.check())
	return f
}

// generation writes to each plant, in one transaction, which generation it is of.
func (f *changedFiles) generation(number int) {
	f.t.Helper()
	rename := fmt.Sprintf("UPDATE plants SET name = '%d' || substr(name, 2)", number)
	must.NoError(f.t, f.store.runWrite(f.t.Context(), executes(rename).run))
}

func (f *changedFiles) try(way way, isWritten bool) {
	t := f.t
	t.Helper()
	must.NoError(t, way.change(f))
	want := way.second
	if isWritten {
		wantError(t, "the write", f.create(), way.atOnce)
	}
	_ = f.store.files.check()
	wantError(t, "the look at the files", f.store.files.err(), want)
	if want != "" {
		f.wantRefused(want)
	} else {
		expect.NoError(t, f.create())
	}
	f.wantStart(way, f.kill())
	isFinal, before := f.store.files.final(), contentOf(t, f.path)
	expect.Error(t, "Close", f.store.Close(), nil)
	if isFinal && contentOf(t, f.path) != before {
		t.Error("Close has written to the database or its log")
	}
}

// wantError fails unless an error has a text, or is nil if the text is empty.
func wantError(t *testing.T, what string, err error, text string) {
	t.Helper()
	if text == "" {
		expect.Error(t, what, err, nil)
		return
	}
	expect.Message(t, what, err, text)
}

// create writes a plant.
func (f *changedFiles) create() error {
	f.tried++
	err := f.store.Create(f.t.Context(), plant.Plant{ID: 1<<40 + int64(f.tried), Name: "3"})
	if err == nil {
		f.acked++
	}
	return err
}

// wantRefused fails unless every call fails with a text, and the log of the service has it once.
func (f *changedFiles) wantRefused(want string) {
	t := f.t
	t.Helper()
	for range 2 {
		err := f.create()
		expect.Error(t, "Create", err, plant.ErrUnavailable)
		expect.Error(t, "Create", err, token.ErrUnavailable)
		expect.Message(t, "Create", err, want)
	}
	_, err := f.store.Get(t.Context(), 1)
	expect.Error(t, "Get", err, plant.ErrUnavailable)
	err = f.store.Snapshot(t.Context(), func(store.Snapshot) error { return nil })
	expect.Message(t, "Snapshot", err, want)
	expect.Message(t, "Ready", f.store.Ready(t.Context()), want)
	if n := strings.Count(f.log.String(), "store files cannot be used"); n != 1 {
		t.Errorf("the log has the change %d times, want once:\n%s", n, &f.log)
	}
}

// kill returns a copy of what is in the folder, as a crash of the service leaves it.
func (f *changedFiles) kill() (path string) {
	f.t.Helper()
	path = filepath.Join(f.t.TempDir(), "plants.db")
	for _, suffix := range []string{"", "-wal", "-shm", "-journal", damagedSuffix} {
		content, err := os.ReadFile(f.path + suffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		must.NoError(f.t, errors.Join(err, os.WriteFile(path+suffix, content, 0o600)))
	}
	return path
}

// wantStart fails unless the next start ends as expected.
func (f *changedFiles) wantStart(way way, path string) {
	t := f.t
	t.Helper()
	generations := map[string]string{"first generation": "1", "second generation": "2", everything: "3", "nothing": ""}
	want, starts := generations[way.start]
	for name, open := range map[string]func() (*Store, error){
		"OpenReadOnly": func() (*Store, error) { return OpenReadOnly(path) },
		"OpenSource":   func() (*Store, error) { return OpenSource(path) },
		"Open":         func() (*Store, error) { return Open(t.Context(), path) },
	} {
		if name != "Open" && starts {
			continue // Open says what the store has
		}
		s, err := open()
		if !starts {
			expect.Message(t, name, err, way.start)
		} else {
			expect.NoError(t, err)
		}
		if err == nil {
			f.wantGeneration(s, want)
			must.NoError(t, s.Close())
		}
	}
}

// wantGeneration fails unless each plant of a store is of one generation and, of the present one, none is missing.
func (f *changedFiles) wantGeneration(s *Store, want string) {
	t := f.t
	t.Helper()
	must.NoError(t, s.readMany(t.Context(), func(conn *sqlite.Conn) error {
		have, err := text(conn, "SELECT coalesce(group_concat(DISTINCT substr(name, 1, 1)), '') FROM plants WHERE id < 1 << 40")
		if err == nil && have != want {
			t.Errorf("the store has plants of the generations %q, want %q", have, want)
		}
		acked, countErr := number(conn, "SELECT count(*) FROM plants WHERE id >= 1 << 40")
		if want == "3" && acked < int64(f.acked) {
			t.Errorf("the store has %d of the %d plants that were acknowledged after the change", acked, f.acked)
		}
		return errors.Join(err, countErr, checkIntegrity(conn))
	}))
}
