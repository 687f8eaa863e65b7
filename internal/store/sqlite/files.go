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
	"github.com/plantstore/plantstore/internal/ticker"
)

// checkInterval is the time between two checks of [Store.Watch].
const checkInterval = time.Second

// openFiles are the database file, its write-ahead log and the index of the log, as
// SQLite has opened them, and what is wrong with them. The zero value is for a store in
// memory.
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
	// target is the path of the database without symbolic links. SQLite has its other files
	// beside it.
	target string

	opened               []*openFile           // fewer than three if there is no log yet
	database, wal, index *openFile             // of opened; nil unless contents are compared
	found                atomic.Pointer[fault] // nil if nothing is wrong
	suspected            atomic.Bool           // a statement has reported damage; see settle

	mu  sync.Mutex
	log *slog.Logger

	begins   [24]byte  // of the database: these never change while it is open
	size     int64     // of the database
	modified time.Time // the database; used while there is no log
	last     checkpointed

	pages atomic.Int64 // in the log at the last check; the maximum if contents are not compared
}

// openFile is a file and what SQLite has opened at its path. The locks of a process end
// when it closes any descriptor of a file (POSIX). So these are opened once, and closed
// after the connections.
type openFile struct {
	path     string
	id       fileID
	least    int64 // the size that the log or its index has at least
	*os.File       // nil on Windows, which does not let SQLite remove files that are open here
}

// checkpointed is what the index says about the last checkpoint that is complete.
type checkpointed struct {
	salts  [8]byte // of the log; new when it begins again
	copied int64   // pages of the log
}

// fault is what is wrong with a file, and what to do about it.
type fault struct {
	path, what, next string
	passing          bool  // it ends when the file is back, or can be read; other faults end with a restart
	unknown          bool  // the file cannot be read, so it may be as it should be
	damaged          bool  // the next start must refuse the store
	err              error // every call returns it
}

// unreadable is the fault of a file that cannot be read: a disk that fails says nothing about
// the content.
func unreadable(path string, cause error) *fault {
	return &fault{
		path: path, what: "could not be read", next: fmt.Sprintf("see the log of the operating system (%v)", cause),
		passing: true, unknown: true,
	}
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
		_ = atomicfile.SyncFolder(resolve(path))
	}
}

// open records the files that SQLite has just opened. A restored store has no log before the
// first write; a read-only service makes none.
func (f *openFiles) open(path string) error {
	f.target = resolve(path)
	f.pages.Store(math.MaxInt64)
	all := []string{path, f.target + "-wal", f.target + "-shm"}
	for _, path := range all {
		id, size, err := identify(path)
		if errors.Is(err, fs.ErrNotExist) && len(f.opened) > 0 {
			break
		}
		file := &openFile{path: path, id: id, least: size}
		if err == nil && runtime.GOOS != "windows" {
			file.File, err = os.Open(path)
		}
		if err != nil {
			return err
		}
		f.opened = append(f.opened, file)
	}
	if runtime.GOOS == "windows" {
		return nil
	}
	f.database = f.opened[0]
	if len(f.opened) == len(all) {
		f.wal, f.index = f.opened[1], f.opened[2]
	}
	info, err := f.database.Stat()
	if err != nil {
		return err
	}
	f.size, f.modified = info.Size(), info.ModTime()
	_, err = f.database.ReadAt(f.begins[:], 0)
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

// err returns the error of what the last check has found.
func (f *openFiles) err() error {
	if found := f.found.Load(); found != nil {
		return found.err
	}
	return nil
}

// final reports whether something was found that only a restart ends.
func (f *openFiles) final() bool {
	found := f.found.Load()
	return found != nil && !found.passing
}

var errReplaced = errors.New("the path leads to another file")

// present returns the sizes of the files, or the fault of one that is no longer at its path.
func (f *openFiles) present() (sizes [3]int64, missing *fault) {
	for i, file := range f.opened {
		id, size, cause := identify(file.path)
		switch {
		case cause == nil && file.id.same(id):
			sizes[i] = size
			continue
		case cause == nil:
			cause = errReplaced
		case !errors.Is(cause, fs.ErrNotExist):
			return sizes, unreadable(file.path, cause)
		}
		next := "move it back; to use another file at this path, stop the service, run " + withoutLog(f.target) +
			" and start it again"
		if i == 2 { // programs that have begun meanwhile have another index, and do not see what this one writes
			next = "restart the service"
		}
		return sizes, &fault{
			path: file.path, what: "was moved, removed or replaced",
			next: fmt.Sprintf("%s (%v)", next, cause), passing: i < 2,
		}
	}
	return sizes, nil
}

// check returns an error if a file that SQLite has open is no longer at its path, or has
// another content. While the files cannot be read, it returns nil, because they may be as
// they should be, and err returns why.
func (f *openFiles) check() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.final() {
		f.record(f.compare())
	}
	if found := f.found.Load(); found != nil && !found.unknown {
		return found.err
	}
	return nil
}

// record stores a fault, and logs it if it is new. Nil means that there is none.
func (f *openFiles) record(found *fault) {
	if found != nil {
		if found.damaged {
			found.next = f.recordDamage(found)
		}
		found.err = unavailable(fmt.Errorf("%s %s while it was open; %s", found.path, found.what, found.next))
	}
	before := f.found.Swap(found)
	switch {
	case found == nil && before != nil:
		f.log.Info("store files can be used again")
	case found != nil && (before == nil || !found.passing):
		f.log.Error("store files cannot be used", "err", found.err)
	}
}

// checkLog runs before each transaction. A transaction would extend a truncated log to its
// old length, and would overwrite the writes of a program that has opened the store after
// the index was removed. checkLog costs a third of check.
func (f *openFiles) checkLog() error {
	f.mu.Lock()
	fine := f.found.Load() == nil && f.wal != nil
	for _, file := range f.opened[min(1, len(f.opened)):] {
		id, size, err := identify(file.path)
		fine = fine && err == nil && file.id.same(id) && size >= file.least
	}
	f.mu.Unlock()
	if fine {
		return nil
	}
	return cmp.Or(f.check(), f.err())
}

// compare returns the fault of a file that is missing or is not what SQLite has written.
func (f *openFiles) compare() *fault {
	if f.index == nil {
		return f.compareAlone()
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
			return unreadable(f.target, err)
		}
		if sizes[2] < f.index.least { // SQLite only makes it longer
			return &fault{path: f.index.path, what: "was truncated", next: "restart the service"}
		}
		f.index.least = sizes[2]
		if before.same(&after) {
			return f.judge(&before, sizes[0], sizes[1], header, head)
		}
	}
	return nil
}

// compareAlone is compare while there is no log. No program may write to the database then: a
// service that does not write either cannot compare what the other one writes.
func (f *openFiles) compareAlone() *fault {
	_, missing := f.present()
	if missing != nil || f.database == nil {
		return missing
	}
	info, err := f.database.Stat()
	switch {
	case err != nil:
		return unreadable(f.target, err)
	case info.ModTime().Equal(f.modified):
		return nil
	}
	return &fault{
		path: f.database.path, what: "was changed by another program", next: "restart the service to use what it has now",
	}
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
		f.wal.least = logSize
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

// resolve returns the absolute path without symbolic links of a file. SQLite has its other files
// beside it, and explains an error.
func resolve(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if absolute, err := filepath.Abs(path); err == nil {
		return absolute
	}
	return path
}

// checkDamage returns an error if the store at path was found to be damaged.
func checkDamage(path string) error {
	path = resolve(path)
	text, err := os.ReadFile(path + damagedSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if errors.Is(err, fs.ErrPermission) {
		return errors.New("permission denied: run the command as the user that the store belongs to")
	}
	if err != nil {
		return fmt.Errorf("the store may be damaged, and why cannot be read: %w", err)
	}
	return fmt.Errorf("%s; move %s* to another directory, and restore a backup (plantstore restore)",
		strings.TrimSpace(string(text)), path)
}

// note records that a statement has reported damage.
func (f *openFiles) note(err error) {
	if isDamage(err) && f.suspected.CompareAndSwap(false, true) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.log.Warn("a statement has failed because the disk cannot be read or the file is damaged", "err", err)
	}
}

func isDamage(err error) bool {
	code := sqlite.ErrCode(err).ToPrimary()
	return code == sqlite.ResultCorrupt || code == sqlite.ResultNotADB || errors.Is(err, errDamaged)
}

// settle decides what a statement has reported: SQLite has the same error for a disk that
// cannot be read for a moment and for a damaged file. The file is damaged if two checks in a
// row find damage, and all of it can be read after each. Then every call fails for ever. If
// that is not so, the next report begins again.
func (s *Store) settle(ctx context.Context) {
	f := &s.files
	if !f.suspected.Load() || f.err() != nil {
		return
	}
	defer f.suspected.Store(false)
	var damage error
	for range 2 {
		damage = s.readMany(ctx, checkIntegrity)
		if !isDamage(damage) || !f.readable() {
			return
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	what := strings.Join(strings.Fields(damage.Error()), " ")
	f.record(&fault{path: f.target, what: fmt.Sprintf("was found damaged (%s)", what), damaged: true})
}

// readable reports whether the files can be read to the end. It is false on Windows, where they are
// not open here: damage is reported there, but not proved.
func (f *openFiles) readable() bool {
	for _, file := range f.opened {
		if _, err := io.Copy(io.Discard, io.NewSectionReader(file, 0, math.MaxInt64)); err != nil {
			return false
		}
	}
	return true
}

// Watch keeps other users from reading the files of the store, and starts to log when
// one is moved, removed, replaced or found to be damaged. It checks once a second, also
// while there are no writes. It must not be called more than once.
func (s *Store) Watch(log *slog.Logger) {
	s.files.mu.Lock()
	s.files.log = log
	s.files.mu.Unlock()
	s.files.makePrivate()
	if s.incomplete > 0 {
		log.Warn("the -wal file ended with an incomplete transaction, which is ignored: a power cut or damage has cut "+
			"it short", "bytes", s.incomplete)
	}
	if s.checkpointAt > 0 {
		// A crash may have interrupted a checkpoint. Until it is complete, its
		// changes cannot be told from those of other programs.
		conn := <-s.writer
		_, _, _, _ = checkpoint(conn, "PASSIVE")
		s.writer <- conn
	}
	s.stopWatch = ticker.Start(context.Background(), checkInterval, func(ctx context.Context) {
		_ = s.files.check()
		s.settle(ctx) // may take minutes; meanwhile each write and Ready check the files
	})
}
