package sqlite

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"zombiezen.com/go/sqlite"
)

// untouchedPages are pages of the database that the log does not have, so that no checkpoint writes them.
// If another program changes the database between the check of the files and the end of a checkpoint,
// its header and its mark are right again, because the checkpoint writes them. What still shows it:
//
//   - SQLite makes the database as long as its header says. If it was truncated, zeros are where its
//     last page was.
//   - If an older copy was written over it, the pages that were written last are older. If they are
//     not, the copy has every page that the log does not have, and nothing is missing.
type untouchedPages struct {
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

// loggedPages reads which pages the log has: the headers of its frames, which takes a third of the time of the
// whole log.
func (files *openFiles) loggedPages(conn *sqlite.Conn) (logged loggedPages, err error) {
	logged.last = map[int64]int64{}
	logged.frames, logged.copied, err = askSQLite(conn)
	if err != nil {
		return logged, err
	}
	if _, err := files.wal.ReadAt(logged.header[:], 0); err != nil { // or there is an empty log
		return logged, err
	}
	current := make(frame, frameHeader)
	for number := int64(1); number <= logged.frames; number++ {
		if _, err := files.wal.ReadAt(current, files.frameStart(number)); err != nil {
			return logged, err
		}
		logged.last[current.number()] = number
		logged.end = current.databasePages()
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

// writtenLast is how many of the pages that were written last are compared: SQLite may write a page
// that has not changed.
const writtenLast = 4

// untouched returns the last page and those that were written last, or fewer if there are none or they
// cannot be read.
func (files *openFiles) untouched(conn *sqlite.Conn) (found untouchedPages) {
	if files.wal == nil {
		return untouchedPages{}
	}
	logged, err := files.loggedPages(conn)
	if err != nil {
		return untouchedPages{}
	}
	found.logged = logged
	files.addLastPage(&found)
	for i := len(files.copied) - 1; i >= 0 && len(found.pages) <= writtenLast; i-- {
		files.addPage(&found, files.copied[i])
	}
	return found
}

func (files *openFiles) addLastPage(to *untouchedPages) {
	page := min(to.logged.end, files.database.least/files.first.pageSize())
	for ; page > 0 && len(to.pages) == 0; page-- {
		files.addPage(to, page)
	}
}

// addPage adds a page, unless the checkpoint writes it or cuts it off, or it is empty:
// SQLite does not write every page that it takes.
func (files *openFiles) addPage(to *untouchedPages, page int64) {
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

// wasOverwritten reports whether another program has truncated or overwritten the database before a
// checkpoint ended. It is false if that is not known, or if the log is another one, which may have the pages.
func (files *openFiles) wasOverwritten(conn *sqlite.Conn, before untouchedPages) bool {
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
