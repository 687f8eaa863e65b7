package sqlite

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/atomicfile"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/ticker"
)

// checkInterval is the time between two checks of [Store.Watch].
const checkInterval = time.Second

// openFiles are the database file, its write-ahead log and the index of the log, as
// SQLite has opened them, and what is wrong with them. The zero value is for a store in
// memory. What is wrong is in one of three fields:
//
//	moved     a path leads to no file or to another one; ends when the file is back
//	fatal     another program has changed a file, or removed the index; ends with a restart
//	reported  SQLite has reported damage; the store works on, but is not ready
//
// SQLite continues to write to a file that was moved, removed or replaced, and reads its
// caches if another program has overwritten or truncated one. Without a check in each
// commit, the store would acknowledge writes that are lost at the next start.
//
// The check compares what costs a few microseconds. A checkpoint, also of another
// program, changes the size of the database, and leaves a trace in the index of the log.
// Every other change of the size is wrong. So is one of the first bytes, which tell a
// backup from a store in use. Other changes that keep the size are not noticed.
type openFiles struct {
	// target is the path of the database without symbolic links. SQLite has its other
	// files beside it.
	target string

	opened               []openFile            // fewer than three if there is no log
	fatal                atomic.Pointer[error] // nil unless a fault was found that only a restart can end
	database, wal, index *openFile             // of opened; nil unless contents are compared

	mu       sync.Mutex
	log      *slog.Logger
	moved    error // nil if each path leads to the open file
	reported error // nil if no statement has reported damage

	begins        [24]byte // of the database: these never change while it is open
	size, walSize int64    // of the database and its log
	last          checkpointed

	pages atomic.Int64 // in the log at the last check; the maximum if contents are not compared
}

// openFile is a file and what SQLite has opened at its path. The locks of a process end
// when it closes any descriptor of a file (POSIX). So these are opened once, and closed
// after the connections.
type openFile struct {
	path     string
	id       fileID
	*os.File // nil unless contents are compared
}

// checkpointed is what the index says about the last checkpoint that is complete.
type checkpointed struct {
	salts  [8]byte // of the log; new when it begins again
	copied int64   // pages of the log
}

// fault is what is wrong with a file, and what to do about it.
type fault struct {
	path, what, next string
	moved            bool // it ends when the file is back
	damaged          bool // the next start must refuse the store
}

// createFile creates the database file before SQLite opens it, readable only by
// its owner because it contains hashes of tokens. SQLite gives the -wal and -shm
// files the same mode. The folder is synced, or a power cut could leave a -journal file
// alone, and the next start would refuse it. Errors are ignored: SQLite reports them when
// it opens the file.
func createFile(path string) {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return // opening and closing it would release the locks of other connections
	}
	if f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600); err == nil {
		f.Close()
		if target, err := filepath.EvalSymlinks(path); err == nil {
			_ = atomicfile.SyncFolder(target)
		}
	}
}

// open records the files that SQLite has just opened.
func (f *openFiles) open(path string) error {
	var err error
	if f.target, err = filepath.EvalSymlinks(path); err != nil {
		return err
	}
	for i, path := range []string{path, f.target + "-wal", f.target + "-shm"} {
		id, _, err := identify(path)
		if i > 0 && errors.Is(err, fs.ErrNotExist) {
			break // a restored store has no log before the first write; a read-only service makes none
		}
		if err != nil {
			return err
		}
		f.opened = append(f.opened, openFile{path: path, id: id})
	}
	f.pages.Store(math.MaxInt64)
	if len(f.opened) < 3 || runtime.GOOS == "windows" { // Windows does not let SQLite remove files that are open here
		return nil
	}
	for i := range f.opened {
		if f.opened[i].File, err = os.Open(f.opened[i].path); err != nil {
			return err
		}
	}
	f.database, f.wal, f.index = &f.opened[0], &f.opened[1], &f.opened[2]
	if _, err := f.database.ReadAt(f.begins[:], 0); err != nil {
		return err
	}
	_, f.size, err = identify(f.database.path)
	return err
}

func (f *openFiles) close() {
	for _, file := range f.opened {
		file.Close() // of nil, too
	}
}

// makePrivate makes the files readable by their owner alone: the database contains hashes of
// tokens, and releases before createFile let every user read it.
func (f *openFiles) makePrivate() {
	for _, file := range f.opened {
		info, err := os.Stat(file.path)
		if err != nil || info.Mode().Perm()&0o077 == 0 || runtime.GOOS == "windows" { // has no such permissions
			continue
		}
		if err := os.Chmod(file.path, info.Mode().Perm()&0o700); err != nil {
			f.log.Warn("other users may read the store: its permissions cannot be changed; "+
				"run chmod 600 as the owner of the file",
				"mode", info.Mode().String(), "err", err)
			continue
		}
		f.log.Info("other users can no longer read the store", "file", file.path, "before", info.Mode().String())
	}
}

// fatalErr returns the error of a fault that only a restart can end, or nil.
func (f *openFiles) fatalErr() error {
	if err := f.fatal.Load(); err != nil {
		return *err
	}
	return nil
}

var errReplaced = errors.New("the path leads to another file")

// present returns the sizes of the files, or the fault of one that is no longer at its path.
func (f *openFiles) present() (sizes [3]int64, missing *fault) {
	for i, file := range f.opened {
		id, size, cause := identify(file.path)
		if cause == nil && !file.id.same(id) {
			cause = errReplaced
		}
		if cause != nil {
			next := "move it back, or restart the service to use the file at this path"
			if i == 2 { // programs that have begun meanwhile have another index, and do not see what this one writes
				next = "restart the service"
			}
			gone := cause == errReplaced || errors.Is(cause, fs.ErrNotExist) // and not a disk that fails
			return sizes, &fault{
				path: file.path, what: "was moved, removed or replaced",
				next: fmt.Sprintf("%s (%v)", next, cause), moved: i < 2 || !gone,
			}
		}
		sizes[i] = size
	}
	return sizes, nil
}

// check returns an error if a file that SQLite has open is no longer at its path, or has
// another content.
func (f *openFiles) check() error {
	if err := f.fatalErr(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.record(f.compare())
}

// record logs a fault, if it is a new one, and returns its error. Nil means that there is
// none.
func (f *openFiles) record(found *fault) error {
	before := f.moved
	f.moved = nil
	if found == nil {
		if before != nil {
			f.log.Info("store file is back")
		}
		return nil
	}
	if found.damaged {
		found.next = f.recordDamage(found)
	}
	cause := fmt.Errorf("%s %s while it was open; %s", found.path, found.what, found.next)
	err := fmt.Errorf("sqlite: %w", store.Unavailable(cause))
	if found.moved {
		f.moved = err
		if before == nil {
			f.log.Error("store file moved or removed", "err", err)
		}
	} else if f.fatal.CompareAndSwap(nil, &err) {
		f.log.Error("store file changed", "err", err)
	}
	return err
}

// checkLog runs before each transaction. A transaction would extend a truncated log to its
// old length, and would overwrite the writes of a program that has opened the store after
// the index was removed. checkLog costs a third of check.
func (f *openFiles) checkLog() error {
	f.mu.Lock()
	fine := f.moved == nil && f.fatalErr() == nil && f.walSize > 0
	for _, file := range f.opened[min(1, len(f.opened)):] {
		id, size, err := identify(file.path)
		fine = fine && err == nil && file.id.same(id) && (file.path != f.opened[1].path || size >= f.walSize)
	}
	f.mu.Unlock()
	if fine {
		return nil
	}
	return f.check()
}

// compare returns the fault of a file that is missing or is not what SQLite has written.
func (f *openFiles) compare() *fault {
	if f.database == nil {
		_, missing := f.present()
		return missing
	}
	for range 100 { // until SQLite writes nothing meanwhile
		var before, after walIndex
		var header, head [32]byte // of the database and the log
		err := f.index.begin(before[:])
		sizes, missing := f.present()
		if missing != nil {
			return missing
		}
		err = cmp.Or(err, f.database.begin(header[:]), f.wal.begin(head[:]), f.index.begin(after[:]))
		if err != nil {
			return nil // a disk that fails says nothing about the content
		}
		if before.same(&after) {
			return f.judge(&before, sizes[0], sizes[1], header, head)
		}
	}
	return nil
}

// begin reads the first bytes of a file, or fewer if it is shorter.
func (f *openFile) begin(first []byte) error {
	_, err := f.ReadAt(first, 0)
	if err == io.EOF {
		err = nil
	}
	return err
}

// judge is compare for what was read at one moment.
func (f *openFiles) judge(x *walIndex, size, logSize int64, header, head [32]byte) *fault {
	pageSize := x.pageSize()
	frames, copied, attempted := x.number(16), x.number(96), x.number(128)
	f.pages.Store(frames)
	salts := [8]byte(x[32:40])
	last := checkpointed{salts, copied}
	running := attempted > copied
	// A checkpoint makes the database longer or, after VACUUM, as long as its header says.
	pages := int64(binary.BigEndian.Uint32(header[28:]))
	explained := running || last != f.last && (size > f.size || size == pages*pageSize)
	if [24]byte(header[:24]) != f.begins || size != f.size && !explained {
		return &fault{path: f.database.path, what: "was overwritten or truncated", damaged: true}
	}
	if !running { // or the size is one that the checkpoint has not finished
		f.size, f.last = size, last
	}
	switch {
	case frames == 0 || [8]byte(head[16:24]) == salts && logSize >= 32+frames*(24+pageSize):
		f.walSize = logSize
		return nil
	case running: // the database has a part of what the log had
		return &fault{path: f.wal.path, what: "was truncated during a checkpoint", damaged: true}
	case head != [32]byte{}: // the next start would use what it has
		return &fault{path: f.wal.path, what: "was overwritten or cut short", damaged: true}
	}
	lost := "the writes since the last checkpoint are lost"
	if copied == frames {
		lost = "no write is lost"
	}
	return &fault{path: f.wal.path, what: "was truncated", next: lost + ": restart the service to use what the database has"}
}

// damagedSuffix is the suffix of a file beside the store that says why no program may
// open it any more.
const damagedSuffix = "-damaged"

// recordDamage keeps the next start from using a damaged store, and returns what to do. A
// full check there could miss it: a database from a backup and a log that does not
// belong to it can be a valid file.
func (f *openFiles) recordDamage(found *fault) (next string) {
	next = "stop the service, move " + f.target + "* to another directory, and restore a backup (plantstore restore)"
	text := fmt.Sprintf("%s %s at %s while it was open", found.path, found.what, time.Now().UTC().Format(time.RFC3339))
	if err := atomicfile.Write(f.target+damagedSuffix, []byte(text+"\n"), 0o600); err != nil {
		next += fmt.Sprintf("; the next start may not notice the damage (%v)", err)
	}
	return next
}

// checkDamage returns an error if the store at path was found to be damaged.
func checkDamage(path string) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	text, err := os.ReadFile(path + damagedSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the store may be damaged, and why cannot be read: %w", err)
	}
	return fmt.Errorf("%s; move %s* to another directory, and restore a backup (plantstore restore)",
		strings.TrimSpace(string(text)), path)
}

// note records and logs the first error of SQLite that reports a damaged file.
func (f *openFiles) note(err error) {
	code := sqlite.ErrCode(err).ToPrimary()
	if code != sqlite.ResultCorrupt && code != sqlite.ResultNotADB {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.reported == nil {
		f.reported = err
		f.log.Error("store damaged", "err", err)
	}
}

// damage returns the error that note has recorded, or nil.
func (f *openFiles) damage() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reported
}

// Watch keeps other users from reading the files of the store, and starts to log when
// one is moved, removed, replaced or found to be damaged. It checks once a second, also
// while there are no writes. It must not be called more than once.
func (s *Store) Watch(log *slog.Logger) {
	s.files.mu.Lock()
	s.files.log = log
	s.files.mu.Unlock()
	s.files.makePrivate()
	if s.checkpointAt > 0 {
		// A crash may have interrupted a checkpoint. Until it is complete, its
		// changes cannot be told from those of other programs.
		conn := <-s.writer
		_, _, _, _ = checkpoint(conn, "PASSIVE")
		s.writer <- conn
	}
	s.stopWatch = ticker.Start(context.Background(), checkInterval, func(context.Context) { _ = s.files.check() })
}
