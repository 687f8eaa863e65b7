package sqlite

import (
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/store/sqlite/wal"
)

const (
	// checkpointPages is the number of pages in the log (the -wal file) at which
	// a checkpoint copies them to the database file: 4 MiB. A lower number would
	// copy pages that change often too often; a higher one makes the pause longer: with
	// 4,000, creates per second were the same (0.99 to 1.1 of it), and of the slowest in a
	// thousand each took 14 in place of 4.6 ms with one client, and 22 in place of 11 with 64.
	checkpointPages = 1000

	// checkpointWait is how long a checkpoint waits for reads. The longest ones of this program
	// are pages of a list. A backup may read for minutes, and Litestream reads all the time.
	checkpointWait = 50 * time.Millisecond

	// retryPages is the largest number of pages by which the log grows between two
	// checkpoints while a long read uses it. Without a limit, a log that has become
	// long would have to double before the next one, also when that program has ended.
	retryPages = 4 * checkpointPages
)

// checkpointIfDue makes a checkpoint if the log has become long. By default SQLite resets
// the log only if no read uses it at the time of a commit. Under constant load there is
// always a read, so the log would grow without limit and every commit would make a
// checkpoint.
//
// It returns an error if the database cannot take what the log has. The writes in the log
// are durable, but the log must not grow without limit.
func (s *Store) checkpointIfDue(conn *sqlite.Conn) error {
	if s.checkpointAt == 0 { // in memory, or only read
		return nil
	}
	pages, err := s.files.logLength(conn)
	if err != nil {
		return err
	}
	if pages < checkpointPages { // another program may have reset a log that had become long
		s.checkpointAt = min(s.checkpointAt, checkpointPages)
	}
	if pages < s.checkpointAt {
		return nil
	}
	complete, err := s.files.copyLog(conn)
	if err != nil {
		return err
	}
	s.checkpointAt = checkpointPages
	if !complete { // trying again at every commit would delay each of them
		s.checkpointAt = pages + min(pages, retryPages)
	}
	return nil
}

// logLength returns how many pages the log has.
func (files *openFiles) logLength(conn *sqlite.Conn) (pages int, err error) {
	files.mu.Lock()
	defer files.mu.Unlock()
	if files.index == nil { // the files are not compared
		_, pages, _, err = checkpoint(conn, "NOOP")
		return pages, err
	}
	return int(files.logIndex.Frames()), nil
}

// copyLog copies what the log has to the database, unless a file was changed. It reports whether
// the next write begins the log anew. A check of the files waits for it.
//
// SQLite cannot copy a page while a read needs its older version, and cannot begin the log anew
// while a read uses it. RESTART waits for such reads. Those that begin meanwhile do not use the
// log once all of it is copied, so they do not wait.
func (files *openFiles) copyLog(conn *sqlite.Conn) (complete bool, err error) {
	files.mu.Lock()
	defer files.mu.Unlock()
	renewed, _ := renewMark(conn) // an older copy of the log does not have this mark; the copy can do without it
	before, err := files.prepareCheckpoint()
	if err != nil {
		return false, err
	}
	files.copying.Store(true)
	busy, err := restartLog(conn)
	if err != nil {
		return false, err // and the database may have a part of the log
	}
	files.copying.Store(false)
	if files.wasOverwritten(before) {
		files.record(files.damagedDatabase()) // the next write returns the error
	}
	if busy {
		return false, nil
	}
	files.noteCopied(before.logged.Pages)
	if renewed != (wal.Mark{}) {
		files.setMark(renewed) // or the next check would read the log to see that it belongs to the database
	}
	return true, nil
}

// prepareCheckpoint looks at all that a checkpoint reads. It returns an error if the files are not as
// SQLite has written them, and the pages by which a later change shows. The check comes after them:
// they must not be those of another database already.
func (files *openFiles) prepareCheckpoint() (untouched untouchedPages, err error) {
	if files.wal == nil { // the files are not compared
		return untouchedPages{logged: &wal.Content{}}, files.checkLocked()
	}
	logged := &wal.Content{}
	read := files.findFault(func() (found *fault) {
		logged, found = files.judgeFrames()
		return found
	})
	if read != nil && read.unknown { // reads go on: they may not need what cannot be read
		return untouched, read.refusal()
	}
	if read != nil {
		files.record(read)
		return untouched, read.err
	}
	return files.untouched(logged), files.usableLocked()
}

// restartLog makes a checkpoint that waits for reads. It tries twice, because SQLite looks at which part of
// the log the reads of a lock use before it waits for the lock. If others take the lock meanwhile, it waits
// for them, too, although they use all of the log, and under load there are always others.
func restartLog(conn *sqlite.Conn) (busy bool, err error) {
	conn.SetBusyTimeout(checkpointWait / 2)
	defer conn.SetBusyTimeout(busyTimeout)
	busy, _, _, err = checkpoint(conn, "RESTART")
	if busy {
		busy, _, _, err = checkpoint(conn, "RESTART")
	}
	return busy, err
}

// checkpoint makes a checkpoint in a mode of SQLite. It returns whether a reader or writer
// kept it from finishing, the number of pages in the log, and how many of them the database
// file has. A reader does not make PASSIVE busy.
func checkpoint(conn *sqlite.Conn, mode string) (busy bool, pages, copied int, err error) {
	err = query(conn, "PRAGMA wal_checkpoint("+mode+")", func(stmt *sqlite.Stmt) error {
		busy, pages, copied = stmt.ColumnInt(0) != 0, stmt.ColumnInt(1), stmt.ColumnInt(2)
		return nil
	})
	if err != nil {
		err = fmt.Errorf("copy the log to the database: %w", err)
	}
	return busy, pages, copied, err
}
