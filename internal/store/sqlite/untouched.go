package sqlite

import (
	"bytes"
	"cmp"

	"zombiezen.com/go/sqlite"
)

// untouchedPages are pages of the database that the log does not have, so that a checkpoint does not
// write them. If another program changes the database while a checkpoint runs, its header and its mark
// are right again, because the checkpoint writes them. These pages show it: the last one is empty if the
// database was truncated, because SQLite makes it as long as its header says, and those of the last
// checkpoint are older if an older copy was written over it.
type untouchedPages struct {
	log    logHeader
	frames int64            // of the log
	pages  map[int64][]byte // by where they begin
}

// maxUntouched is how many pages are compared: SQLite may write a page that has not changed.
const maxUntouched = 5

// prepareCheckpoint returns an error if the files are not as SQLite has written them. The checks look at
// all that a checkpoint reads.
func (files *openFiles) prepareCheckpoint(conn *sqlite.Conn) (untouched untouchedPages, err error) {
	if err := files.checkLocked(conn); err != nil || files.wal == nil {
		return untouched, err
	}
	var logged *logContent
	files.record(files.findFault(func() (found *fault) {
		logged, found = files.judgeFrames(conn)
		return found
	}))
	if err := files.err(); err != nil {
		return untouched, err
	}
	untouched = untouchedPages{logged.header, logged.used, map[int64][]byte{}}
	last := min(logged.databasePages, files.database.least/files.first.pageSize())
	for page := last; page > 0 && len(untouched.pages) == 0; page-- {
		files.addUntouched(&untouched, logged, page)
	}
	for page := range files.copied {
		files.addUntouched(&untouched, logged, page)
	}
	files.copied = logged.pages
	return untouched, nil
}

// addUntouched adds a page, unless the checkpoint writes it or cuts it off, or it is empty:
// SQLite does not write every page that it takes.
func (files *openFiles) addUntouched(to *untouchedPages, logged *logContent, page int64) {
	isWritten := logged.pages[page] || page > logged.databasePages
	if isWritten || len(to.pages) == maxUntouched {
		return
	}
	content := make([]byte, files.first.pageSize())
	start := (page - 1) * files.first.pageSize()
	err := files.database.read(content, start)
	if err == nil && bytes.Count(content, []byte{0}) < len(content) {
		to.pages[start] = content
	}
}

// wereChanged reports whether another program has truncated or overwritten the database before a
// checkpoint ended. It is false if that is not known, or if the log is another one, which may have the pages.
func (before untouchedPages) wereChanged(files *openFiles, conn *sqlite.Conn) bool {
	for start, content := range before.pages {
		now := make([]byte, len(content))
		err := files.database.read(now, start)
		if err == nil && !bytes.Equal(now, content) {
			return before.hasSameLog(files, conn)
		}
	}
	return false
}

// hasSameLog reports whether no program has written to the log meanwhile.
func (before untouchedPages) hasSameLog(files *openFiles, conn *sqlite.Conn) bool {
	var now logHeader
	frames, _, err := askSQLite(conn)
	err = cmp.Or(err, files.wal.read(now[:], 0))
	return err == nil && now == before.log && frames == before.frames
}
