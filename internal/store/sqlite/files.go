package sqlite

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/atomicfile"
	"github.com/plantstore/plantstore/internal/store/sqlite/wal"
	"github.com/plantstore/plantstore/internal/ticker"
)

// checkInterval is the time between two checks of [Store.Watch].
const checkInterval = time.Second

// openFiles are the database file, its write-ahead log and the index of the log, as
// SQLite has opened them, and what is wrong with them. The zero value is for a store in
// memory.
//
// SQLite continues to write to a file that was moved, removed or replaced, and reads its
// caches if another program has overwritten or truncated one. So each commit looks at who the files
// are and how long: the log and its index before the write, because a write would make a truncated log
// long again, and all three after it, because nothing may be acknowledged into a file that is gone.
// What is in them is compared once a second, before each checkpoint of this program, at the first commit in
// a new log, at the start and at the stop: the first bytes of the database and of the log, the mark of the
// database, and where the index says that the log ends. fault.go decides what a difference means. That
// takes six system calls in a commit; to compare what is in the files in each one took nine.
//
// On Windows nothing is compared: no program can move or remove a file that SQLite has opened, and
// SQLite could not remove one that is open here.
type openFiles struct {
	// target is the path of the database without symbolic links. SQLite has its other files
	// beside it.
	target string

	opened               []*openFile           // only the database if there is no log yet
	database, wal, index *openFile             // of opened, or nil
	found                atomic.Pointer[fault] // nil if nothing is wrong
	suspected            atomic.Bool           // a statement has reported damage; see settle

	mu  sync.Mutex
	log *slog.Logger

	first    databaseHeader    // when the database was opened
	modified time.Time         // the database; used while there is no log
	mark     wal.Mark          // of the database at the last check
	earlier  map[wal.Mark]bool // that the database had before
	markPage int64             // which has the mark
	logSalts wal.Salts         // of the log at the last check
	watched  wal.Index         // at the last check
	logIndex wal.Index         // after the last commit, or at a later check
	logged   *wal.Content      // when the log was last read
	copied   []int64           // pages that checkpoints have copied, the one that was written last at the end
	copying  atomic.Bool       // a checkpoint has not ended, so the database may have a part of the log; a test waits for it
}

// openFile is a file and what SQLite has opened at its path. The locks of a process end
// when it closes any descriptor of a file (POSIX). So these are opened once, and closed
// after the connections.
type openFile struct {
	path  string
	id    fileID
	size  int64 // at the last look
	least int64 // the size that it has unless SQLite has made it shorter
	*os.File
	isReadOnly bool // this user cannot write it
}

// databaseHeader is the beginning of the database; see https://sqlite.org/fileformat.html.
type databaseHeader [32]byte

func (header *databaseHeader) pageSize() int64 { return int64(firstPage(header[:]).size()) }

// size returns how long the database is, unless a checkpoint is running.
func (header *databaseHeader) size() int64 {
	return int64(firstPage(header[:]).databasePages()) * header.pageSize()
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
func (files *openFiles) open(path string, conn *sqlite.Conn) (err error) {
	files.target = resolve(path)
	if runtime.GOOS == "windows" {
		return nil
	}
	if files.markPage, err = number(conn, "SELECT rootpage FROM sqlite_schema WHERE name = 'log_mark'"); err != nil {
		return err
	}
	paths := []string{path, files.target + "-wal", files.target + "-shm"}
	for _, path := range paths {
		file, err := openOne(path)
		if errors.Is(err, fs.ErrNotExist) && len(files.opened) > 0 {
			break
		}
		if err != nil {
			return err
		}
		files.opened = append(files.opened, file)
	}
	database := files.opened[0]
	info, err := database.Stat()
	if err != nil {
		return err
	}
	files.modified = info.ModTime()
	if _, err = database.ReadAt(files.first[:], 0); err != nil {
		return err
	}
	if len(files.opened) == len(paths) {
		files.wal, files.index = files.opened[1], files.opened[2]
	}
	files.database = database // last: a part of this must not be compared
	return nil
}

func openOne(path string) (*openFile, error) {
	id, size, err := identify(path)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		return &openFile{path: path, id: id, least: size, File: file}, nil
	}
	file, err = os.Open(path)
	return &openFile{path: path, id: id, least: size, File: file, isReadOnly: true}, err
}

func (files *openFiles) close() {
	for _, file := range files.opened {
		file.Close()
	}
}

func (file *openFile) read(content []byte, start int64) error {
	return readAvailable(file, content, start)
}

// readAvailable reads bytes of a file, or fewer if it ends before.
func readAvailable(file io.ReaderAt, content []byte, start int64) error {
	_, err := file.ReadAt(content, start)
	if err == io.EOF {
		return nil
	}
	return err
}

var errReplaced = errors.New("the path leads to another file")

// findAgain reads the size of a file. It returns an error if the path leads to no file or to another one.
func (file *openFile) findAgain() error {
	id, size, err := identify(file.path)
	if err != nil {
		return err
	}
	file.size = size
	if !file.id.same(id) {
		return errReplaced
	}
	return nil
}

// unchanged reports whether a file is at its path and is not shorter than it was.
func (file *openFile) unchanged() bool { return file.findAgain() == nil && file.size >= file.least }

// check returns an error if a file that SQLite has open is no longer at its path, or has
// another content. While the files cannot be read, it returns nil, because they may be as
// they should be, and err returns why.
func (files *openFiles) check() error {
	files.mu.Lock()
	defer files.mu.Unlock()
	return files.checkLocked()
}

func (files *openFiles) checkLocked() error {
	if !files.final() {
		files.record(files.findFault(files.compare))
	}
	found := files.found.Load()
	if found == nil || found.unknown {
		return nil
	}
	return found.err
}

// usableLocked is checkLocked, and returns an error also while the files cannot be read.
func (files *openFiles) usableLocked() error {
	if err := files.checkLocked(); err != nil {
		return err
	}
	return files.err()
}

// checkBeforeWrite runs before each transaction. A transaction would extend a truncated log to
// its old length, and would overwrite the writes of a program that has opened the store after
// the index was removed.
func (files *openFiles) checkBeforeWrite() error {
	files.mu.Lock()
	defer files.mu.Unlock()
	isWatched := files.found.Load() == nil && files.wal != nil
	if isWatched && files.wal.unchanged() && files.index.unchanged() {
		return nil
	}
	return files.usableLocked()
}

// checkAfterWrite runs after each transaction. Unless the log is the one that has a mark of this store, it is check:
// the mark must not be given to the log of another database.
func (files *openFiles) checkAfterWrite(marked wal.Salts) error {
	files.mu.Lock()
	defer files.mu.Unlock()
	isWatched := files.found.Load() == nil && files.index != nil
	if !isWatched || files.logSalts != marked {
		return files.checkLocked()
	}
	if files.lookAtPaths() && files.lookAtIndex() {
		return nil
	}
	return files.checkLocked()
}

// lookAtPaths reports whether all files are at their paths, and none is shorter than it was.
func (files *openFiles) lookAtPaths() bool {
	for _, file := range files.opened {
		if !file.unchanged() {
			return false
		}
		file.least = file.size
	}
	return true
}

// lookAtIndex reports whether the log goes on, and has not begun anew since the last check.
func (files *openFiles) lookAtIndex() bool {
	index, err := files.readIndex()
	if err != nil || index.Salts() != files.logSalts {
		return false
	}
	isCountedAnew := index.Changes() < files.logIndex.Changes() // or it is older, which the check decides
	if isCountedAnew || index.IsOlder(&files.logIndex) {
		return false
	}
	files.logIndex = index
	return true
}

// salts returns those of the log at the last check.
func (files *openFiles) salts() wal.Salts {
	files.mu.Lock()
	defer files.mu.Unlock()
	return files.logSalts
}

// noteWrite looks at the index after a transaction that no check follows.
func (files *openFiles) noteWrite() {
	files.mu.Lock()
	defer files.mu.Unlock()
	_ = files.index != nil && files.lookAtIndex()
}

// resolve returns the absolute path without symbolic links of a file. SQLite has its other files
// beside it, and explains an error. Of a link to a file that does not exist it is the path at which SQLite
// creates the file.
func resolve(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	} else if target, linkErr := os.Readlink(path); linkErr == nil && errors.Is(err, fs.ErrNotExist) {
		if !filepath.IsAbs(target) {
			target = filepath.Join(resolve(filepath.Dir(path)), target)
		}
		return resolve(target)
	}
	if absolute, err := filepath.Abs(path); err == nil {
		return absolute
	}
	return path
}

// Watch starts to log when a file of the store is moved, removed, replaced or found to be
// damaged. It checks once a second, also while there are no writes. It must not be called
// more than once.
func (s *Store) Watch(log *slog.Logger) {
	s.files.mu.Lock()
	s.files.log = log
	s.files.mu.Unlock()
	if s.incomplete > 0 {
		log.Warn("the -wal file ended with an incomplete transaction, which is ignored: a power cut or damage has cut "+
			"it short", "bytes", s.incomplete)
	}
	if s.checkpointAt > 0 {
		// A crash may have interrupted a checkpoint. Until it is complete, the database is of
		// no use without the log. This also gives the database a new mark. A copy that was made while the
		// store was closed does not have it, so the next start refuses that copy with the new log.
		conn := <-s.writer
		_, _ = s.files.copyLog(conn)
		s.writer <- conn
	}
	stopFiles := ticker.Start(context.Background(), checkInterval, func(context.Context) {
		_ = s.files.check() // the next call returns what it has found
	})
	// These wait for reads, and settle may take minutes.
	stopReads := ticker.Start(context.Background(), checkInterval, func(ctx context.Context) {
		_ = s.read(ctx, s.checkNames)
		s.settle(ctx)
	})
	s.stopWatch = func() {
		stopReads()
		stopFiles()
	}
}
