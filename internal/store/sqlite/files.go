package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/store"
)

// checkInterval is the time between two checks of [Store.Watch].
const checkInterval = time.Second

// openFiles are the database file, its write-ahead log and the index of the log, as
// SQLite has opened them, and what is wrong with them. The zero value is for a store in memory.
//
// SQLite continues to write to a file that was moved, removed or replaced.
// Without the check in each commit, the store would acknowledge writes that are
// lost at the next start.
type openFiles struct {
	target string // the path of the database without symbolic links; SQLite has its other files beside it
	opened []openedFile

	mu      sync.Mutex
	log     *slog.Logger // nil before Watch
	moved   error        // nil if each path leads to the open file
	damaged error        // nil if no statement has reported damage
}

type openedFile struct {
	path string
	id   fileID
}

// createFile creates the database file before SQLite opens it, readable only by
// its owner because it contains hashes of tokens. SQLite gives the -wal and -shm
// files the same mode. Errors are ignored: SQLite reports them when it opens the
// file.
func createFile(path string) {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return // opening and closing it would release the locks of other connections
	}
	if f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600); err == nil {
		f.Close()
	}
}

// open records the files that SQLite has just opened.
func (f *openFiles) open(path string) error {
	var err error
	if f.target, err = filepath.EvalSymlinks(path); err != nil {
		return err
	}
	for i, path := range []string{path, f.target + "-wal", f.target + "-shm"} {
		id, err := identify(path)
		if i > 0 && errors.Is(err, fs.ErrNotExist) {
			break // a restored store has no log before the first write; a read-only service makes none
		}
		if err != nil {
			return err
		}
		f.opened = append(f.opened, openedFile{path, id})
	}
	return nil
}

// hide makes the files readable by their owner alone: the database contains hashes of
// tokens, and releases before createFile let every user read it.
func (f *openFiles) hide() {
	for _, file := range f.opened {
		info, err := os.Stat(file.path)
		if err != nil || info.Mode().Perm()&0o077 == 0 || runtime.GOOS == "windows" { // has no such permissions
			continue
		}
		if err := os.Chmod(file.path, info.Mode().Perm()&0o700); err != nil {
			f.log.Warn("other users may read the store: its permissions cannot be changed; run chmod 600 as the owner of the file",
				"mode", info.Mode().String(), "err", err)
			continue
		}
		f.log.Info("other users can no longer read the store", "file", file.path, "before", info.Mode().String())
	}
}

// check returns an error if a file that SQLite has open is no longer at its path.
func (f *openFiles) check() error {
	var err error
	for _, file := range f.opened {
		id, cause := identify(file.path)
		if cause == nil && !file.id.same(id) {
			cause = errors.New("the path leads to another file")
		}
		if cause != nil {
			err = fmt.Errorf("sqlite: %w", store.Unavailable(fmt.Errorf("%s was moved, removed or replaced while it was open; "+
				"move it back, or restart the service to use the file at this path (%w)", file.path, cause)))
			break
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	changed := (err != nil) != (f.moved != nil)
	f.moved = err
	switch {
	case !changed || f.log == nil:
	case err != nil:
		f.log.Error("store file moved or removed", "err", err)
	default:
		f.log.Info("store file is back")
	}
	return err
}

// recheck calls check if the last check failed. Otherwise it returns nil.
func (f *openFiles) recheck() error {
	f.mu.Lock()
	moved := f.moved
	f.mu.Unlock()
	if moved == nil {
		return nil
	}
	return f.check()
}

// note records and logs the first error of SQLite that reports a damaged file.
func (f *openFiles) note(err error) {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultCorrupt, sqlite.ResultNotADB:
	default:
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.damaged != nil {
		return
	}
	f.damaged = err
	if f.log != nil {
		f.log.Error("store damaged", "err", err)
	}
}

// damage returns the error that note has recorded, or nil.
func (f *openFiles) damage() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.damaged
}

// Watch keeps other users from reading the files of the store, and starts to log when
// one is moved, removed, replaced or found to be damaged. It checks once a second, also while there are no writes.
// It must not be called more than once.
func (s *Store) Watch(log *slog.Logger) {
	s.files.mu.Lock()
	s.files.log = log
	s.files.mu.Unlock()
	s.files.hide()
	s.watch.Go(func() {
		tick := time.NewTicker(checkInterval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_ = s.files.check()
			case <-s.closed:
				return
			}
		}
	})
}
