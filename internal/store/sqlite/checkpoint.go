package sqlite

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"
)

const (
	// checkpointPages is the number of pages in the log (the -wal file) at which
	// a checkpoint copies them to the database file: 4 MiB. A lower number would
	// copy pages that change often too often; a higher one would make the pause
	// longer.
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
	if !s.checkpointMayBeDue() {
		return nil
	}
	_, pages, _, err := checkpoint(conn, "NOOP")
	if err != nil {
		return err
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

// checkpointMayBeDue reports whether the log may have become long, without asking SQLite.
func (s *Store) checkpointMayBeDue() bool {
	if s.checkpointAt > checkpointPages && !s.files.logHas(checkpointPages) {
		s.checkpointAt = checkpointPages // another program has reset the log
	}
	return s.checkpointAt > 0 && s.files.logHas(s.checkpointAt)
}

// logHas reports whether the log may have so many pages: the salts of the last one are those of an
// earlier log if it has fewer.
func (files *openFiles) logHas(pages int) bool {
	if files.wal == nil { // contents are not compared
		return true
	}
	files.mu.Lock()
	defer files.mu.Unlock()
	last := make(frame, frameHeader)
	err := files.wal.read(last, files.frameStart(int64(pages)))
	return err != nil || last.salts() == files.logHeader.salts()
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
	renewed, _ := renewMark(conn)  // an older copy of the log does not have this mark
	witness := files.witness(conn) // first, so that the check finds what was changed before it
	if err := files.checkLocked(conn); err != nil {
		return false, err
	}
	files.copying = true
	conn.SetBusyTimeout(checkpointWait)
	busy, _, _, err := checkpoint(conn, "RESTART")
	conn.SetBusyTimeout(busyTimeout)
	if err != nil {
		return false, err
	}
	files.copying = false
	if files.isGone(conn, witness) {
		files.record(files.damagedDatabase()) // the next write returns the error
	}
	files.noteCopied(witness.logged.last)
	if !busy && renewed != (mark{}) {
		files.mark = renewed // or the next check would read the whole log to see that it belongs to the database
	}
	return !busy, nil
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

// witness has pages of the database that the log does not have, so that no checkpoint writes them.
// If another program changes the database between the check of the files and the end of a checkpoint,
// its header and its mark are right again, because the checkpoint writes them. But:
//
//   - SQLite makes the database as long as its header says. If it was truncated, zeros are where its
//     last page was.
//   - If an older copy was written over it, the pages that were written last are older. If they are
//     not, the copy has every page that the log does not have, and nothing is missing.
type witness struct {
	logged loggedPages
	pages  []storedPage
}

// storedPage is a page of the database, and where it begins.
type storedPage struct {
	start   int64
	content []byte
}

// loggedPages are the pages of the database that the log has.
type loggedPages struct {
	header logHeader // of the log
	frames int64
	copied int64           // frames that the database has, too
	last   map[int64]int64 // by the number of a page, that of its last frame
	end    int64           // how many pages the database has after the last transaction
}

// loggedPages reads which pages the log has.
func (files *openFiles) loggedPages(conn *sqlite.Conn) (logged loggedPages, err error) {
	logged = loggedPages{header: files.logHeader, last: map[int64]int64{}}
	logged.frames, logged.copied, err = askSQLite(conn)
	if err != nil {
		return logged, err
	}
	header := make(frame, frameHeader)
	for number := int64(1); number <= logged.frames; number++ {
		if _, err := files.wal.ReadAt(header, files.frameStart(number)); err != nil {
			return logged, err
		}
		logged.last[header.number()] = number
		logged.end = header.databasePages()
	}
	return logged, nil
}

// hasAll reports whether the log has each page of the database.
func (logged *loggedPages) hasAll(pageSize int64) bool {
	unused := 1<<30/pageSize + 1 // SQLite locks this page, and does not use it
	for page := int64(1); page <= logged.end; page++ {
		if page != unused && logged.last[page] == 0 {
			return false
		}
	}
	return logged.end > 0
}

// writtenLast is how many of the pages that were written last are witnesses: SQLite may write a page
// that has not changed.
const writtenLast = 16

// witness returns the pages, or fewer if there are none or they cannot be read.
func (files *openFiles) witness(conn *sqlite.Conn) (found witness) {
	if files.wal == nil {
		return witness{}
	}
	logged, err := files.loggedPages(conn)
	if err != nil {
		return witness{}
	}
	found.logged = logged
	last := min(logged.end, files.database.least/files.first.pageSize())
	for page := last; page > 0 && len(found.pages) < 1; page-- {
		files.testify(&found, page)
	}
	for i := len(files.copied) - 1; i >= 0 && len(found.pages) < 1+writtenLast; i-- {
		files.testify(&found, files.copied[i])
	}
	return found
}

// testify adds a page to a witness, unless the checkpoint writes it or cuts it off, or it is empty:
// SQLite does not write every page that it takes.
func (files *openFiles) testify(to *witness, page int64) {
	if to.logged.last[page] > 0 || page > to.logged.end {
		return
	}
	pageSize := files.first.pageSize()
	stored := storedPage{(page - 1) * pageSize, make([]byte, pageSize)}
	err := files.database.read(stored.content, stored.start)
	if err == nil && !isEmpty(stored.content) {
		to.pages = append(to.pages, stored)
	}
}

func isEmpty(page []byte) bool { return bytes.Count(page, []byte{0}) == len(page) }

// maxCopied is how many pages [openFiles] remembers: more than a log usually has.
const maxCopied = 8 * checkpointPages

// noteCopied remembers the pages of a log that was copied, in the order in which they were written last.
func (files *openFiles) noteCopied(logged map[int64]int64) {
	older := slices.DeleteFunc(files.copied, func(page int64) bool { return logged[page] > 0 })
	newer := slices.SortedFunc(maps.Keys(logged), func(a, b int64) int { return cmp.Compare(logged[a], logged[b]) })
	pages := append(older, newer...)
	files.copied = pages[max(0, len(pages)-maxCopied):]
}

// isGone reports whether another program has truncated or overwritten the database before a
// checkpoint ended. It is false if that is not known, or if the log is another one, which may have the pages.
func (files *openFiles) isGone(conn *sqlite.Conn, before witness) bool {
	if !slices.ContainsFunc(before.pages, files.hasChanged) {
		return false
	}
	var header logHeader
	frames, _, err := askSQLite(conn)
	err = cmp.Or(err, files.wal.read(header[:], 0))
	return err == nil && header == before.logged.header && frames == before.logged.frames
}

// hasChanged reports whether a page of the database is another one now.
func (files *openFiles) hasChanged(page storedPage) bool {
	content := make([]byte, len(page.content))
	err := files.database.read(content, page.start)
	return err == nil && !bytes.Equal(content, page.content) // a disk that fails says nothing about the content
}
