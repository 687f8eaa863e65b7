package sqlite

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"time"

	"zombiezen.com/go/sqlite"
)

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

// damagedDatabase is the fault of a database that was changed.
func (files *openFiles) damagedDatabase() *fault {
	return &fault{path: files.database.path, what: "was overwritten or truncated", damaged: true}
}

// err returns the error of what the last check has found.
func (files *openFiles) err() error {
	if found := files.found.Load(); found != nil {
		return found.err
	}
	return nil
}

// final reports whether something was found that only a restart ends.
func (files *openFiles) final() bool {
	found := files.found.Load()
	return found != nil && !found.passing
}

// record stores a fault, and logs it if it is new. Nil means that there is none.
func (files *openFiles) record(found *fault) {
	if found == nil {
		files.recordNoFault()
		return
	}
	if found.damaged {
		found.next = files.recordDamage(found)
	}
	found.err = unavailable(fmt.Errorf("%s %s while it was open; %s", found.path, found.what, found.next))
	before := files.found.Swap(found)
	if before == nil || !found.passing {
		files.log.Error("store files cannot be used", "err", found.err)
	}
}

func (files *openFiles) recordNoFault() {
	before := files.found.Swap(nil)
	if before != nil {
		files.log.Info("store files can be used again")
	}
}

// findFault returns the fault of a file that is missing or is not what SQLite has written. It must
// last for half a second, because the files look damaged for moments while another program writes or
// makes a checkpoint, and a store that is said to be damaged needs a backup.
func (files *openFiles) findFault(conn *sqlite.Conn) (found *fault) {
	for range 50 {
		found = files.compare(conn)
		if found == nil || found.passing && files.err() != nil {
			return found
		}
		time.Sleep(10 * time.Millisecond)
	}
	return found
}

// compare compares the files once.
func (files *openFiles) compare(conn *sqlite.Conn) *fault {
	if missing := files.missing(); missing != nil {
		return missing
	}
	if files.database == nil { // nothing is compared
		return nil
	}
	if files.index == nil {
		return files.compareWithoutLog()
	}
	if files.index.size < files.index.least { // SQLite only makes it longer
		return &fault{path: files.index.path, what: "was truncated", next: "restart the service"}
	}
	files.index.least = files.index.size
	if found := files.judgeDatabase(conn); found != nil {
		return found
	}
	return files.judgeLog(conn)
}

// missing returns the fault of a file that is no longer at its path.
func (files *openFiles) missing() *fault {
	for _, file := range files.opened {
		if cause := file.findAgain(); cause != nil {
			return files.missingFile(file, cause)
		}
	}
	return nil
}

func (files *openFiles) missingFile(file *openFile, cause error) *fault {
	if cause != errReplaced && !errors.Is(cause, fs.ErrNotExist) {
		return unreadable(file.path, cause)
	}
	found := &fault{path: file.path, what: "was moved, removed or replaced"}
	if file == files.index { // programs that have begun meanwhile have another one, and do not see what this one writes
		found.next = fmt.Sprintf("restart the service (%v)", cause)
		return found
	}
	found.passing = true
	otherwise := "; to use another file at this path, stop the service, run " + without(files.target, "-wal") + " and start it again"
	if file == files.wal && cause != errReplaced { // a command could move no file
		otherwise = ", or stop the service with SIGTERM: the stop writes everything to " + files.target
	}
	found.next = fmt.Sprintf("move it back%s (%v)", otherwise, cause)
	return found
}

// compareWithoutLog is compare while there is no log. No program may write to the database then: a
// service that does not write either cannot compare what the other one writes.
func (files *openFiles) compareWithoutLog() *fault {
	info, err := files.database.Stat()
	if err != nil {
		return unreadable(files.target, err)
	}
	if info.ModTime().Equal(files.modified) {
		return nil
	}
	return &fault{
		path: files.database.path, what: "was changed by another program", next: "restart the service to use what it has now",
	}
}

// judgeDatabase returns the fault of the database. A checkpoint makes it longer or, after VACUUM,
// as long as its header says, which it writes first.
func (files *openFiles) judgeDatabase(conn *sqlite.Conn) *fault {
	var header databaseHeader
	if err := files.database.read(header[:], 0); err != nil {
		return unreadable(files.target, err)
	}
	size := files.database.size
	isReplaced := [24]byte(header[:24]) != [24]byte(files.first[:24]) // constant while it is open, but different in a backup
	isCut := size < files.database.least && size != header.size()
	if isReplaced || isCut {
		return files.damagedDatabase()
	}
	files.database.least = size
	return files.judgeMark(conn)
}

// judgeMark returns the fault of a database that another one was copied over. Its mark is then
// not in the log. That is no fault if .restore of sqlite3 has begun the log.
func (files *openFiles) judgeMark(conn *sqlite.Conn) *fault {
	now, err := readMark(files.database, files.markPage, files.first.pageSize())
	if err != nil {
		return unreadable(files.target, err)
	}
	if now != files.mark && !files.logBelongsToDatabase() && !files.replacedByLog(conn) {
		return files.damagedDatabase()
	}
	files.mark = now
	return nil
}

func (files *openFiles) logBelongsToDatabase() bool {
	whole := io.NewSectionReader(files.wal, 0, math.MaxInt64)
	return readLogFrom(whole).belongsTo(files.database)
}

// replacedByLog reports whether SQLite reads no page of the database: the log has each, and no
// checkpoint has copied any of them.
func (files *openFiles) replacedByLog(conn *sqlite.Conn) bool {
	logged, err := files.loggedPages(conn)
	return err == nil && logged.copied == 0 && logged.hasAll(files.first.pageSize())
}

// judgeLog returns the fault of the log. A program that begins it anew gives it another header, and
// may make it shorter. To ask SQLite each time would cost 4 of the 70 µs of the processor that a
// commit needs without its fsync.
func (files *openFiles) judgeLog(conn *sqlite.Conn) *fault {
	var header logHeader
	if err := files.wal.read(header[:], 0); err != nil {
		return unreadable(files.wal.path, err)
	}
	if header != files.logHeader || files.wal.size < files.wal.least {
		if found := files.judgeNewLog(conn, header); found != nil {
			return found
		}
	}
	files.logHeader, files.wal.least = header, files.wal.size
	return nil
}

// judgeNewLog returns the fault of a log that does not end as SQLite has written it.
func (files *openFiles) judgeNewLog(conn *sqlite.Conn, header logHeader) *fault {
	frames, copied, err := askSQLite(conn)
	if sqlite.ErrCode(err).ToPrimary() == sqlite.ResultReadOnly {
		return nil // SQLite does not answer a user that cannot write the log
	}
	last := make(frame, frameHeader)
	err = cmp.Or(err, files.wal.read(last, files.frameStart(max(frames, 1))))
	if err != nil { // or another program has locked it
		return unreadable(files.wal.path, err)
	}
	if frames <= 0 {
		return nil
	}
	isWhole := header.pageSize() > 0 && files.wal.size >= files.frameStart(frames+1)
	if isWhole && last.salts() == header.salts() {
		return nil
	}
	return files.truncatedLog(header, copied == frames)
}

// askSQLite returns the number of frames in the log, and how many of them the database has.
func askSQLite(conn *sqlite.Conn) (frames, copied int64, err error) {
	busy, pages, inDatabase, err := checkpoint(conn, "NOOP")
	if busy {
		err = errors.New("another program has locked the log")
	}
	return int64(pages), int64(inDatabase), err
}

// frameStart returns where a frame of the log begins. The first one has the number 1.
func (files *openFiles) frameStart(number int64) int64 {
	return int64(len(files.logHeader)) + (number-1)*(frameHeader+files.first.pageSize())
}

// truncatedLog is the fault of a log that has not what SQLite has written to it.
func (files *openFiles) truncatedLog(header logHeader, copied bool) *fault {
	if files.copying.Load() { // the database has a part of what the log had
		return &fault{path: files.wal.path, what: "was truncated during a checkpoint", damaged: true}
	}
	if header != (logHeader{}) { // the next start would use what it has
		return &fault{path: files.wal.path, what: "was overwritten or cut short", damaged: true}
	}
	loss := "the writes since the last checkpoint are lost"
	if copied {
		loss = "no write is lost"
	}
	return &fault{
		path: files.wal.path, what: "was truncated", next: loss + ": restart the service to use what the database has",
	}
}
