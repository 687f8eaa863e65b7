package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/wait"
	"github.com/plantstore/plantstore/internal/token"
)

// A write that fails for a reason outside the program returns ErrUnavailable and
// stores nothing. The store works again when the reason is gone, with all
// acknowledged writes.
func TestStoreRecoversFromFaults(t *testing.T) {
	for name, cause := range map[string]func(t *testing.T, s *Store, path string) (remove func()){
		"the disk is full":         fullDisk,
		"another program writes":   otherWriter,
		"the database cannot grow": fullDatabase,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "plants.db")
			s := openStore(t, path)
			writer := wait.For(t, "the writer", s.writer)
			writer.SetBusyTimeout(10 * time.Millisecond)
			s.writer <- writer
			big := strings.Repeat("n", 1<<20)
			insert := func(id int64, name string) groupedWrite {
				return groupedWrite{run: func(conn *sqlite.Conn) error {
					return insertPlant(conn, plant.Plant{ID: id, Name: name})
				}}
			}
			if errs := inOneGroup(s, []groupedWrite{insert(1, "n"), insert(2, "n")}); errs[0] != nil || errs[1] != nil {
				t.Fatal(errs)
			}
			remove, allFail := cause(t, s, path), name != "the database cannot grow"
			for range 3 {
				for i, err := range inOneGroup(s, []groupedWrite{insert(3, "n"), insert(4, big), insert(5, "n")}) {
					if err := translate(err); (i == 1 || allFail) && !errors.Is(err, plant.ErrUnavailable) {
						t.Errorf("write %d = %v, want %v", i, err, plant.ErrUnavailable)
					}
				}
			}
			err := s.Create(t.Context(), plant.Plant{ID: 6, Name: big})
			if !errors.Is(err, plant.ErrUnavailable) || !errors.Is(err, token.ErrUnavailable) {
				t.Errorf("Create = %v, want %v", err, plant.ErrUnavailable)
			}
			if full := name == "the database cannot grow"; full != errors.Is(err, plant.ErrDiskFull) { // SQLite reports the limit of a file otherwise
				t.Errorf("Create = %v, want %v: %v", err, plant.ErrDiskFull, full)
			}
			_, err = s.Get(t.Context(), 1)
			expect.Error(t, "during the fault Get(1)", err, nil)
			expect.Error(t, "during the fault Ready", s.Ready(t.Context()), nil)
			for range 2 {
				expect.Error(t, "during the fault Writable", s.Writable(t.Context()), plant.ErrUnavailable)
			}
			remove()
			expect.Error(t, "after the fault Create", s.Create(t.Context(), plant.Plant{ID: 7, Name: "n"}), nil)
			expect.Error(t, "the failure, which a small write does not end,", s.failure.Err(), plant.ErrUnavailable)
			for range 2 {
				expect.Error(t, "after the fault Writable", s.Writable(t.Context()), nil)
			}
			_, err = s.Get(t.Context(), 6)
			expect.Error(t, "Get of a failed create", err, plant.ErrNotFound)
			if allFail {
				wantIDs(t, s, 1, 2, 7)
			}
			conn := wait.For(t, "a reader", s.readers)
			defer func() { s.readers <- conn }()
			expect.NoError(t, checkIntegrity(conn))
		})
	}
}

// If the database cannot take what the log has, writes fail although the log has space: it
// would grow for ever. Writable says so, no acknowledged write is lost, and the first write
// after that succeeds.
func TestFailingCheckpoint(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plants.db")
	s := openStore(t, path)
	fill(t, s, 0, 4*checkpointPages<<12) // longer than the log will be
	info, err := os.Stat(path)
	must.NoError(t, err)
	remove := limitFiles(t, info.Size())
	name := strings.Repeat("n", 1024)
	stored := int64(1 << 40)
	for err = nil; err == nil; stored++ {
		if _, err = s.CreateAll(t.Context(), []plant.Plant{{ID: 2 * stored, Name: name}, {ID: 2*stored + 1, Name: name}}); err == nil {
			_, err = s.Get(t.Context(), 2*stored)
			must.NoError(t, err)
		}
		if logged := pagesInLog(t, s); logged > 2*checkpointPages {
			t.Fatalf("the log has %d pages, and writes succeed", logged)
		}
	}
	for range 3 {
		expect.Error(t, "Create", s.Create(t.Context(), plant.Plant{ID: -1}), plant.ErrUnavailable)
		expect.Message(t, "Writable", s.Writable(t.Context()), "copy the log to the database")
		expect.Error(t, "Ready", s.Ready(t.Context()), nil)
	}
	remove()
	expect.Error(t, "Create after that", s.Create(t.Context(), plant.Plant{ID: -2}), nil)
	expect.Error(t, "Writable after that", s.Writable(t.Context()), nil)
	for id := int64(2 << 40); id < 2*(stored-1); id++ {
		if _, err := s.Get(t.Context(), id); err != nil {
			t.Fatalf("Get of the acknowledged plant %d: %v", id, err)
		}
	}
	if logged := pagesInLog(t, s); logged > checkpointPages {
		t.Errorf("after that the log has %d pages", logged)
	}
}

func otherWriter(t *testing.T, _ *Store, path string) (remove func()) {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	must.NoError(t, err)
	must.NoError(t, execute(conn, "BEGIN EXCLUSIVE"))
	return func() { must.NoError(t, conn.Close()) }
}

func fullDatabase(t *testing.T, s *Store, _ string) (remove func()) {
	set := func(statement string) {
		conn := wait.For(t, "the writer", s.writer)
		defer func() { s.writer <- conn }()
		must.NoError(t, executeAll(conn, statement))
	}
	set("PRAGMA max_page_count = 1") // SQLite raises it to the present number of pages
	return func() { set("PRAGMA max_page_count = 1073741823") }
}

func TestOpenErrorAdvice(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(t *testing.T, path string)
		want    string
	}{
		"no directory":     {func(t *testing.T, path string) { os.RemoveAll(filepath.Dir(path)) }, "does not exist; create it first"},
		"a directory":      {func(t *testing.T, path string) { os.Remove(path); os.Mkdir(path, 0o700) }, "this is a directory; give the path of a file"},
		"a pipe":           {func(t *testing.T, path string) { os.Remove(path); must.NoError(t, syscall.Mkfifo(path, 0o600)) }, "this is a pipe"},
		"not a database":   {func(t *testing.T, path string) { garbage(filepath.Base(path))(t, filepath.Dir(path)) }, "not a SQLite database"},
		"a damaged file":   {damageSchema, "restore a backup"},
		"a private folder": {privateFolder, "permission denied: run the command as the user that the store belongs to"},
		"a read-only file": {readOnly, "run this as the user that the store belongs to"},
		"a read-only -shm": {readOnlyIndex, "or its -shm; run this as the user that the store belongs to"},
		"a locked file":    {lock, "another program has locked the file; stop it"},
		"a newer schema":   {set("user_version", len(schema)+1), "use a newer plantstore"},
		"another program":  {set("application_id", 42), "this is not a store of plantstore"},
		"another program, replicated by Litestream": {replicatedOther, "this is not a store of plantstore"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "a locked file" { // Open waits for five seconds
				must.HaveTime(t)
			}
			path := filepath.Join(t.TempDir(), "plants.db")
			s, err := Open(t.Context(), path)
			must.NoError(t, err)
			must.NoError(t, s.Close())
			c.prepare(t, path)
			s, err = Open(t.Context(), path)
			if err == nil {
				s.Close()
				t.Fatal("Open = nil, want an error")
			}
			if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("Open = %q, want the path of the file and %q", err, c.want)
			}
		})
	}
}

// No command uses a file with several names but Copy, whose source may be a linked backup.
func TestSeveralNames(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		add  func(t *testing.T, path, other string)
		want string
	}{
		"hard links":  {func(t *testing.T, path, other string) { must.NoError(t, os.Link(path, other)) }, "has 2 names (hard links), and each can"},
		"bind mounts": {mountFile, "mount --bind), so it has another name, and each can have a log of its own; mount the directory of the file instead"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "bind mounts" && os.Getuid() != 0 {
				return // only root can mount
			}
			path := filepath.Join(t.TempDir(), "plants.db")
			must.NoError(t, openStore(t, path).Create(t.Context(), plant.Plant{ID: 1}))
			c.add(t, path, path+" 2")
			must.NoError(t, os.Symlink(path+" 2", path+"3"))
			for name, open := range map[string]func() error{
				"Open":         func() error { _, err := Open(t.Context(), path+"3"); return err },
				"OpenReadOnly": func() error { _, err := OpenReadOnly(path + "3"); return err },
				"OpenSource":   func() error { _, err := OpenSource(path + "3"); return err },
				"Backup":       func() error { return Backup(t.Context(), path+"3", path+"4", false, ignore) },
			} {
				expect.Message(t, name, open(), c.want)
				if name == "hard links" {
					expect.Message(t, name, open(), fmt.Sprintf("find / -samefile '%s' lists them", path+" 2"))
				}
			}
			expect.Error(t, "Copy", Copy(t.Context(), path, path+"4", ignore), nil)
		})
	}
}

// A store whose directory is mounted is used: its log has as many names as itself.
func TestMountedDirectory(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		return // only root can mount
	}
	folder, other := t.TempDir(), t.TempDir()
	must.NoError(t, os.WriteFile(filepath.Join(folder, "plants.db"), nil, 0o600))
	mount(t, folder, other)
	expect.NoError(t, checkOneName(filepath.Join(other, "plants.db")))
}

// mountFile gives a file another name, which this thread alone has.
func mountFile(t *testing.T, path, other string) {
	must.NoError(t, os.WriteFile(other, nil, 0o600))
	mount(t, path, other)
}

func mount(t *testing.T, path, other string) {
	runtime.LockOSThread() // never unlocked: the thread ends with the test
	must.NoError(t, syscall.Unshare(syscall.CLONE_NEWNS))
	must.NoError(t, syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""))
	must.NoError(t, syscall.Mount(path, other, "", syscall.MS_BIND, ""))
	t.Cleanup(func() { expect.NoError(t, syscall.Unmount(other, 0)) })
}

// set sets a pragma of a file.
func set(pragma string, to int) func(t *testing.T, path string) {
	return func(t *testing.T, path string) {
		conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
		must.NoError(t, err)
		must.NoError(t, errors.Join(executeAll(conn, fmt.Sprintf("PRAGMA %s = %d", pragma, to)), conn.Close()))
	}
}

// fullDisk limits the size of every file to the present size of the log.
func fullDisk(t *testing.T, _ *Store, path string) (remove func()) {
	info, err := os.Stat(path + "-wal")
	must.NoError(t, err)
	return limitFiles(t, info.Size())
}

// limitFiles limits the size of every file.
func limitFiles(t *testing.T, size int64) (remove func()) {
	var before syscall.Rlimit
	must.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before))
	set := func(limit syscall.Rlimit) {
		must.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
	}
	set(syscall.Rlimit{Cur: uint64(size), Max: before.Max})
	remove = func() { set(before) }
	t.Cleanup(remove)
	return remove
}

// readOnly makes the file read-only for this thread until the test ends. Root can
// write any file, so it does so as another user.
func readOnly(t *testing.T, path string) {
	must.NoError(t, os.Chmod(path, 0o444))
	if os.Getuid() == 0 {
		asAnotherUser(t, path)
	}
}

// readOnlyIndex leaves a -shm file that this thread cannot write, as a read-only service does
// beside a store that it cannot write, either. The other files can be written.
func readOnlyIndex(t *testing.T, path string) {
	must.NoError(t, errors.Join(os.WriteFile(path+"-wal", nil, 0), os.WriteFile(path+"-shm", nil, 0o444)))
	must.NoError(t, errors.Join(os.Chmod(path, 0o666), os.Chmod(path+"-wal", 0o666)))
	if os.Getuid() == 0 {
		asAnotherUser(t, path)
	}
}

// asAnotherUser lets root use files as a user that does not own them, until the test
// ends. That user can reach the directory of the file at path.
func asAnotherUser(t *testing.T, path string) {
	for folder := filepath.Dir(path); len(folder) > len(os.TempDir()); folder = filepath.Dir(folder) {
		must.NoError(t, os.Chmod(folder, 0o755))
	}
	runtime.LockOSThread() // never unlocked: the thread ends with the test
	must.NoError(t, syscall.Setfsuid(65534))
	t.Cleanup(func() { _ = syscall.Setfsuid(0) })
}

// replicatedOther leaves a database of another program that is not taken for an empty one because
// Litestream copies it.
func replicatedOther(t *testing.T, path string) {
	must.NoError(t, os.Remove(path))
	createFile(path)
	replicated(t, path, true)
	must.NoError(t, otherProgram(path, "CREATE TABLE books (id INTEGER)"))
}

// privateFolder lets this thread be that of a user who cannot read the folder of the file.
func privateFolder(t *testing.T, path string) {
	folder := filepath.Dir(path)
	must.NoError(t, os.Chmod(folder, 0o700))
	if os.Getuid() == 0 {
		asAnotherUser(t, folder)
		return
	}
	must.NoError(t, os.Chmod(folder, 0))
	t.Cleanup(func() { expect.NoError(t, os.Chmod(folder, 0o700)) })
}

func damageSchema(t *testing.T, path string) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must.NoError(t, err)
	defer f.Close()
	_, err = f.WriteAt([]byte(strings.Repeat("\xff", 200)), 100)
	must.NoError(t, err)
}

// lock locks the file exclusively.
func lock(t *testing.T, path string) {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	must.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	must.NoError(t, executeAll(conn, "PRAGMA locking_mode = EXCLUSIVE"))
	must.NoError(t, execute(conn, "BEGIN EXCLUSIVE"))
}
