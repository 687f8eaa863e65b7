package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/token"
)

// checkInterval is how often [Store.Watch] looks at the files.
const checkInterval = time.Second

// openFiles are the database and its log, as SQLite has opened them, and what is
// wrong with them. The zero value is for a store in memory.
//
// SQLite goes on writing to a file that was moved, removed or replaced. Without
// the check that each commit makes, the store would acknowledge writes that are
// gone at the next start.
type openFiles struct {
	opened []openedFile

	mu      sync.Mutex
	log     *slog.Logger // nil before Watch
	moved   error        // nil: each path leads to the file that is open
	damaged error        // nil: no statement has reported damage
}

type openedFile struct {
	path string
	info os.FileInfo
}

// createFile creates the database that SQLite is about to open, readable by its
// owner alone because it holds the hashes of tokens. SQLite gives the log and
// its index the mode of the database. The errors are left to SQLite to find.
func createFile(path string) {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return // to open and close it would release the locks of another connection
	}
	if f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600); err == nil {
		f.Close()
	}
}

// open remembers the files that SQLite has just opened.
func (f *openFiles) open(path string) error {
	// SQLite keeps the log beside the file that a symbolic link leads to.
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	for _, path := range []string{path, target + "-wal"} {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		f.opened = append(f.opened, openedFile{path, info})
	}
	return nil
}

// check returns an error if a path leads to another file than the one that
// SQLite has open, or to none.
func (f *openFiles) check() error {
	var err error
	for _, file := range f.opened {
		info, cause := os.Stat(file.path)
		if cause == nil && !os.SameFile(file.info, info) {
			cause = errors.New("another file is there")
		}
		if cause != nil {
			err = fmt.Errorf("sqlite: %w: %w: %s was moved, removed or replaced while it was open: "+
				"move it back, or restart the service to use what is there now (%w)",
				plant.ErrUnavailable, token.ErrUnavailable, file.path, cause)
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

// recheck is check if the last one has failed, and nil otherwise.
func (f *openFiles) recheck() error {
	f.mu.Lock()
	moved := f.moved
	f.mu.Unlock()
	if moved == nil {
		return nil
	}
	return f.check()
}

// note remembers an error of SQLite that says that the file is damaged.
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

func (f *openFiles) damage() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.damaged
}

// Watch logs from now on when the files of the store were moved, removed,
// replaced or damaged, and looks for that once a second also while nobody
// writes. It is called once at most.
func (s *Store) Watch(log *slog.Logger) {
	s.files.mu.Lock()
	s.files.log = log
	s.files.mu.Unlock()
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
