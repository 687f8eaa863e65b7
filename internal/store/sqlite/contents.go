package sqlite

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/plantstore/plantstore/internal/store/sqlite/wal"
)

// When SQLite opens a database, it changes the files before a statement can ask whose they are: it
// deletes the log of an empty file, rolls back any journal, and switches the database of another
// program to WAL mode for good. This file decides from their bytes which files it may open.

// contents are what SQLite would use of the files of a store.
type contents struct {
	page firstPage
	undo *journal // nil: there is none
	log  *wal.Content
}

// checkContents returns an error if the database at path is not a store or new, or if its log or its journal
// is damaged or belongs to another database. This process must have opened no connection to the database:
// closing a file ends the locks of a process (POSIX).
func checkContents(path string) (found contents, err error) {
	path = resolve(path)
	// Other programs may change the files in between. What is wrong is wrong each time.
	const attempts = 5
	for range attempts {
		log := readLog(path) // before the page: a checkpoint writes that before it empties the log
		page, readable := readFirstPage(path)
		if readable != nil {
			return contents{log: log}, nil // SQLite explains the error
		}
		found = contents{page, readJournal(path), log}
		if err := found.checkOurs(); err != nil {
			return found, err // no program changes that
		}
		if err = found.checkBeside(path); err == nil {
			return found, nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return found, err
}

// checkStored is checkContents of a store that must not be new: SQLite would write to it.
func checkStored(path string) (found contents, err error) {
	found, err = checkContents(path)
	if err == nil && found.isNew() {
		err = errOtherProgram
	}
	return found, err
}

// isNew reports whether the file exists, but no first start has ended.
func (found contents) isNew() bool {
	if found.page == nil || found.log.FirstPage != nil {
		return false
	}
	return found.page.isUnfinished()
}

// isFirstStart reports whether SQLite makes the file empty, because the first start was interrupted. The log
// has at most the commit that makes the tables then: the first one that is acknowledged comes later, when the
// journal is gone for good.
func (found contents) isFirstStart() bool {
	if found.undo == nil {
		return len(found.page) == 0
	}
	isInterrupted := found.undo.pages == 0 && found.log.Commits < 2
	return isInterrupted && found.page.isUnfinished()
}

// checkOurs returns an error unless the database is a store of this release or an older one, or new.
func (found contents) checkOurs() error {
	if found.isFirstStart() {
		return nil
	}
	return found.page.checkOurs()
}

// checkBeside returns an error if the log or the journal is of another database.
func (found contents) checkBeside(path string) error {
	if found.undo != nil && !found.isFirstStart() {
		return found.undo.check(path, found.page)
	}
	if found.log.FirstPage != nil {
		if err := firstPage(found.log.FirstPage).checkOurs(); err != nil {
			return err
		}
	}
	return checkLog(found.log, path)
}

// checkNew returns an error if there is no database yet, or an empty file, but a log or another file of a database.
func checkNew(path string) error {
	// First what is beside it: another program may create the file and then its log.
	alone, besideEmpty := cmp.Or(checkAlone(path), checkAlone(resolve(path))), checkBesideEmpty(path)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return alone
	case err == nil && info.Size() == 0:
		return besideEmpty
	}
	return nil
}

// checkBesideEmpty returns an error if the log or the journal beside an empty file was written for a
// database. A first start that is killed leaves a journal of a database without pages.
func checkBesideEmpty(path string) error {
	path = resolve(path)
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		return errOldStore(path + "-wal")
	}
	if undo := readJournal(path); undo != nil && undo.pages > 0 {
		return errOldStore(path + "-journal")
	}
	return nil
}

// errOldStore returns the error of a file that belongs to a database that is not there.
func errOldStore(path string) error {
	return fmt.Errorf("%s belongs to an old store; move it to the directory of that store, or to another one", path)
}
