package cli

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	zombiezen "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store/sqlite"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// SQLite deletes the log of an empty file, rolls back a journal whatever the file is, and changes the
// database of another program to WAL mode. So each command refuses such files before SQLite opens them,
// says why, and changes no byte of them.
func TestFilesThatAreNoStore(t *testing.T) {
	made := makeStoreFiles(t)
	const (
		old       = "belongs to an old store; move it to the directory of that store"
		noStore   = "this is not a store of plantstore; give the path of another file"
		damaged   = "move the file and its -wal, -shm and -journal files to another directory, and restore a backup"
		ofAnother = "p.db-journal is the journal of another database than "

		logOfAnother = "p.db-wal is the log of another database than "
	)
	databases := []struct {
		name    string
		content []byte // nil: there is no file
		want    string // what each command says
		beside  map[string]string
	}{
		{"no file", nil, "", map[string]string{
			"log": old, "header of a log": old, "log and journal": old, "journal": old, "journal of an empty database": old,
			"log and journal of an empty database": old,
		}},
		{"an empty file", []byte{}, noStore, map[string]string{
			"log": old, "header of a log": old, "log and journal": old, "journal": old, "log and journal of an empty database": old,
		}},
		{"512 bytes of a store", made.store[:512], "this is not a SQLite database", nil},
		{"512 zeros", make([]byte, 512), "this is not a SQLite database", map[string]string{"journal of an empty database": noStore}},
		{"a text", []byte(strings.Repeat("plants\n", 1000)), "this is not a SQLite database", nil},
		{"another application", made.otherProgram, noStore, nil},
		{"another application in WAL mode", made.otherProgramWAL, noStore, nil},
		{"a later release", withUserVersion(made.store, 99), "schema 99 of a newer plantstore", nil},
		{"user_version -1", withUserVersion(made.store, -1), damaged, nil},
		{"user_version 0", withUserVersion(made.store, 0), damaged, nil},
		{"user_version 2^31", withUserVersion(made.store, -1<<31), damaged, nil},
		{"a store", made.store, "", map[string]string{
			"log and journal": ofAnother, "journal": ofAnother, "journal of an empty database": ofAnother,
			"log and journal of an empty database": ofAnother,
		}},
		{"a restored store", made.restored, "", map[string]string{
			"log": logOfAnother, "header of a log": logOfAnother, "log and journal": ofAnother, "journal": ofAnother, "journal of an empty database": ofAnother, "log and journal of an empty database": ofAnother,
		}},
		{"a store whose plants are all in the log", made.emptyWAL, "", map[string]string{"log and journal of an empty database": ofAnother}},
	}
	beside := map[string]map[string][]byte{
		"nothing":                              {},
		"log":                                  {"-wal": made.log},
		"header of a log":                      {"-wal": made.log[:32]},
		"log and journal":                      {"-wal": made.log, "-journal": made.journal},
		"journal":                              {"-journal": made.journal},
		"journal of an empty database":         {"-journal": made.emptyJournal},
		"log and journal of an empty database": {"-wal": made.log, "-journal": made.emptyJournal},
	}
	for _, database := range databases {
		for name, files := range beside {
			want, isSpecial := database.beside[name]
			if !isSpecial {
				want = database.want
			}
			if want == "" {
				continue // it is a store, or the first start of one
			}
			for command, arguments := range readingCommands {
				if testing.Short() && command.name != "serve" {
					continue // make check runs the others
				}
				want := want
				if database.content == nil && command.name != "serve" {
					want = "p.db" // it does not exist
				}
				isFirstStart := want == noStore && len(database.content) <= 512 && command.creates
				if isFirstStart {
					continue // see TestInterruptedFirstStart
				}
				for _, isLink := range []bool{false, true} {
					t.Run(fmt.Sprint(database.name, "/", name, "/", command.name, "/link ", isLink), func(t *testing.T) {
						folder := t.TempDir()
						path := filepath.Join(folder, "p.db")
						if database.content != nil {
							must.NoError(t, os.WriteFile(path, database.content, 0o600))
						}
						for suffix, content := range files {
							must.NoError(t, os.WriteFile(path+suffix, content, 0o600))
						}
						before := contents(t, folder)
						named := path
						if isLink {
							named = linkTo(t, path)
						}
						status, printed := runHere(t, arguments(named, filepath.Join(t.TempDir(), "new.db"))...)
						if status != 1 || !strings.Contains(printed, want) {
							t.Errorf("the status is %d, and the command printed %q, want 1 and %q", status, printed, want)
						}
						if after := contents(t, folder); !maps.EqualFunc(before, after, bytes.Equal) {
							t.Errorf("the files %q became %q, or have another content",
								slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after)))
						}
					})
				}
			}
		}
	}
}

// An empty file without a log is the first start of a store, and so is what a kill has left of one.
func TestInterruptedFirstStart(t *testing.T) {
	made := makeStoreFiles(t)
	for name, files := range map[string]map[string][]byte{
		"an empty file":                   {"": {}},
		"an empty file and its journal":   {"": {}, "-journal": made.emptyJournal},
		"512 zeros and their journal":     {"": make([]byte, 512), "-journal": made.emptyJournal},
		"a database without tables":       {"": made.emptyWAL},
		"a first page and its journal":    {"": made.emptyWAL, "-journal": made.emptyJournal},
		"a first page of zeros":           {"": make([]byte, 4096), "-journal": made.emptyJournal},
		"a journal that begins with zero": {"": made.store, "-journal": make([]byte, 512)},
		"a restored store":                {"": made.restored, "-wal": {}, "-journal": {}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "p.db")
			for suffix, content := range files {
				must.NoError(t, os.WriteFile(path+suffix, content, 0o600))
			}
			if status, printed := runHere(t, "token", "create", "--store", path, "--name", "n"); status != 0 {
				t.Errorf("the status is %d, and the command printed %q, want 0", status, printed)
			}
		})
	}
}

// linkTo returns a symbolic link, of the same name in another folder, to a link to a file, which need not exist.
func linkTo(t *testing.T, path string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("a user may not create links")
	}
	folder := t.TempDir()
	direct, link := filepath.Join(folder, "direct.db"), filepath.Join(folder, "p.db")
	must.NoError(t, os.Symlink(path, direct))
	must.NoError(t, os.Symlink("direct.db", link))
	return link
}

type storeCommand struct {
	name    string
	creates bool // a store that does not exist
}

// readingCommands are the commands that open a store at a path. Some of them need another path.
var readingCommands = map[storeCommand]func(path, other string) []string{
	{"serve", true}: func(path, _ string) []string { return []string{"serve", "--addr", "127.0.0.1:0", "--store", path} },
	{"serve --read-only", false}: func(path, _ string) []string {
		return []string{"serve", "--read-only", "--addr", "127.0.0.1:0", "--store", path}
	},
	{"token list", true}:   func(path, _ string) []string { return []string{"token", "list", "--store", path} },
	{"token create", true}: func(path, _ string) []string { return []string{"token", "create", "--name", "n", "--store", path} },
	{"migrate", true}:      func(path, _ string) []string { return []string{"migrate", "--store", path} },
	{"backup", false}:      func(path, other string) []string { return []string{"backup", "--store", path, other} },
	{"restore", false}:     func(path, other string) []string { return []string{"restore", "--store", other, path} },
	{"copy", false}:        func(path, other string) []string { return []string{"copy", "--from", path, "--to", other} },
}

// runHere runs a command in the process of the tests, and returns its status and what it printed.
func runHere(t *testing.T, arguments ...string) (status int, printed string) {
	t.Helper()
	inProcess.Lock()
	defer inProcess.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var output bytes.Buffer
	sys := system{getenv: func(string) string { return "" }, stdin: strings.NewReader(""), stdout: &output, stderr: &output}
	return sys.main(ctx, append([]string{"plantstore"}, arguments...)), output.String()
}

// contents returns the content of each file of a folder.
func contents(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	entries, err := os.ReadDir(folder)
	must.NoError(t, err)
	for _, entry := range entries {
		found[entry.Name()] = mustRead(t, filepath.Join(folder, entry.Name()))
	}
	return found
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	must.NoError(t, err)
	return content
}

// withUserVersion returns a database with another user_version.
func withUserVersion(database []byte, version int32) []byte {
	changed := slices.Clone(database)
	binary.BigEndian.PutUint32(changed[60:], uint32(version))
	return changed
}

type storeFiles struct {
	store, log                    []byte // of a store in use
	restored                      []byte // the store, before its first start
	otherProgram, otherProgramWAL []byte
	emptyWAL                      []byte // a database in WAL mode without tables
	journal, emptyJournal         []byte // of a transaction in a store, and in a database that had no pages
}

func makeStoreFiles(t *testing.T) (made storeFiles) {
	t.Helper()
	folder := t.TempDir()
	path := filepath.Join(folder, "store.db")
	s, err := sqlite.Open(t.Context(), path)
	must.NoError(t, err)
	var plants []plant.Plant
	for id := range int64(1000) {
		plants = append(plants, plant.Plant{ID: id, Name: strings.Repeat("n", 300)})
	}
	_, err = s.CreateAll(t.Context(), plants)
	must.NoError(t, err)
	made.log = mustRead(t, path+"-wal")
	must.NoError(t, s.Close())
	made.store = mustRead(t, path)
	must.NoError(t, sqlite.Copy(t.Context(), path, path+".copy", func(_, _ int64) {}))
	made.restored = mustRead(t, path+".copy")

	const fill = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) " +
		"INSERT INTO t SELECT randomblob(300) FROM n"
	made.journal = journalOf(t, path, "UPDATE plants SET name = name || 'older'")
	made.emptyJournal = journalOf(t, filepath.Join(folder, "empty.db"), "CREATE TABLE t (x)", fill)
	made.otherProgram = databaseOf(t, filepath.Join(folder, "other.db"), "CREATE TABLE t (x)", fill)
	made.otherProgramWAL = databaseOf(t, filepath.Join(folder, "otherwal.db"), "PRAGMA journal_mode = WAL",
		"PRAGMA application_id = 1", "CREATE TABLE t (x)", fill)
	made.emptyWAL = databaseOf(t, filepath.Join(folder, "emptywal.db"), "PRAGMA journal_mode = WAL")
	return made
}

// journalOf returns the journal of a transaction that has not ended, as a power cut leaves it.
func journalOf(t *testing.T, path string, statements ...string) []byte {
	t.Helper()
	conn, err := zombiezen.OpenConn(path, zombiezen.OpenReadWrite, zombiezen.OpenCreate)
	must.NoError(t, err)
	defer conn.Close()
	for _, statement := range slices.Concat([]string{"PRAGMA journal_mode = DELETE", "PRAGMA cache_size = 1", "BEGIN"}, statements) {
		must.NoError(t, sqlitex.ExecuteTransient(conn, statement, nil))
	}
	return mustRead(t, path+"-journal")
}

func databaseOf(t *testing.T, path string, statements ...string) []byte {
	t.Helper()
	conn, err := zombiezen.OpenConn(path, zombiezen.OpenReadWrite, zombiezen.OpenCreate)
	must.NoError(t, err)
	for _, statement := range statements {
		must.NoError(t, sqlitex.ExecuteTransient(conn, statement, nil))
	}
	must.NoError(t, conn.Close())
	return mustRead(t, path)
}
