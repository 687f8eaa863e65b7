package sqlite

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/plantstore/plantstore/internal/store/sqlite/wal"
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
	found.err = found.refusal()
	before := files.found.Swap(found)
	if before == nil || !found.passing {
		files.log.Error("store files cannot be used", "err", found.err)
	}
}

// refusal returns the error of calls while there is a fault.
func (found *fault) refusal() error {
	return unavailable(fmt.Errorf("%s %s while it was open; %s", found.path, found.what, found.next))
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
func (files *openFiles) findFault(look func() *fault) *fault {
	const leastTime = 500 * time.Millisecond
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		mayEnd := time.Since(began) >= leastTime // before the look, so that there are two
		found := look()
		isKnown := found != nil && found.passing && files.err() != nil
		if found == nil || isKnown || mayEnd {
			return found
		}
	}
}

// compare compares the files once.
func (files *openFiles) compare() *fault {
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
	if found := files.judgeDatabase(); found != nil {
		return found
	}
	return files.judgeLog()
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
func (files *openFiles) judgeDatabase() *fault {
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
	return files.judgeMark()
}

// judgeMark returns the fault of a database that another one was copied over. Its mark is then
// not in the log. That is no fault if .restore of sqlite3 has begun the log.
func (files *openFiles) judgeMark() *fault {
	now, err := files.readMark()
	if err != nil {
		return unreadable(files.target, err)
	}
	if now == files.mark {
		return nil
	}
	index, err := files.readIndex()
	if err != nil {
		return unreadable(files.index.path, err)
	}
	logged, err := files.readLog(index)
	if err != nil {
		return unreadable(files.wal.path, err)
	}
	belongs := logged.BelongsTo(files.database) && !files.hasReturned(now, logged, index)
	// .restore of sqlite3 is in the log: it has each page, and no checkpoint has copied any of them.
	isRestored := index.Copied() == 0 && logged.HasAllPages()
	if !belongs && !isRestored {
		return files.damagedDatabase()
	}
	files.setMark(now)
	return nil
}

// setMark notes the mark of the database.
func (files *openFiles) setMark(now wal.Mark) {
	files.earlier[files.mark] = true
	delete(files.earlier, now)
	files.mark = now
}

// hasReturned reports whether an older database is at the path: it has a mark again that it had before. In a log
// without a mark nothing else shows it. .restore of sqlite3 also brings an earlier mark, in a transaction of its own.
func (files *openFiles) hasReturned(now wal.Mark, logged *wal.Content, index wal.Index) bool {
	othersWrote := index.Changes()-files.logIndex.Changes() > 1
	return files.earlier[now] && !logged.IsMarked() && !othersWrote
}

// readMark reads the mark of the database.
func (files *openFiles) readMark() (wal.Mark, error) {
	return wal.ReadMark(files.database, files.markPage, files.first.pageSize())
}

// readLog reads the frames of which an index knows. It reads what was written since the last call: while a
// long read keeps checkpoints from finishing, a log of 1 GiB would take 0.3 s before each of them.
func (files *openFiles) readLog(index wal.Index) (*wal.Content, error) {
	logged, err := files.logged.ReadAgain(io.NewSectionReader(files.wal, 0, files.logEnd(index.Frames())))
	files.logged = logged
	return logged, err
}

// readIndex reads the beginning of the index of the log.
func (files *openFiles) readIndex() (index wal.Index, err error) {
	err = files.index.read(index[:], 0)
	return index, err
}

// judgeLog returns the fault of the log. A program that begins it anew gives it another header, and
// may make it shorter; its index says so, too.
func (files *openFiles) judgeLog() *fault {
	index, err := files.readIndex()
	if err != nil {
		return unreadable(files.index.path, err)
	}
	if !index.IsWhole() || files.index.isReadOnly { // SQLite builds another one
		return nil
	}
	var header wal.Header
	if err := files.wal.read(header[:], 0); err != nil {
		return unreadable(files.wal.path, err)
	}
	wasWrittenOver, err := files.wasWrittenOver(index)
	if err != nil {
		return unreadable(files.wal.path, err)
	}
	isOfIndex := header.PageSize() > 0 && header.Salts() == index.Salts()
	isWhole := isOfIndex && files.wal.size >= files.logEnd(index.Frames())
	switch {
	case index.Frames() > 0 && !isWhole:
		return files.truncatedLog(header, index)
	case wasWrittenOver, index.IsOlder(&files.logIndex):
		return &fault{path: files.index.path, what: "was overwritten", damaged: true}
	}
	files.logSalts, files.logIndex, files.watched, files.wal.least = header.Salts(), index, index, files.wal.size
	return nil
}

// wasWrittenOver reports whether a frame that was the last one of the log is another one now.
func (files *openFiles) wasWrittenOver(now wal.Index) (bool, error) {
	for _, before := range []wal.Index{files.watched, files.logIndex} {
		if before.Salts() != now.Salts() {
			continue
		}
		isThere, err := before.HasLastFrame(files.wal, files.first.pageSize())
		if err != nil || !isThere {
			return !isThere, err
		}
	}
	return false, nil
}

// judgeFrames reads all frames of the log before a checkpoint copies them, with their salts and
// checksums. It returns the fault of a log that has fewer than SQLite has written.
func (files *openFiles) judgeFrames() (logged *wal.Content, found *fault) {
	index, err := files.readIndex()
	if err != nil {
		return nil, unreadable(files.index.path, err)
	}
	logged, err = files.readLog(index)
	if err != nil {
		return nil, unreadable(files.wal.path, err)
	}
	if logged.Used < index.Frames() {
		return nil, &fault{path: files.wal.path, what: "was overwritten or cut short", damaged: true}
	}
	return logged, nil
}

// logEnd returns where a number of frames of the log ends.
func (files *openFiles) logEnd(frames int64) int64 {
	return wal.FrameStart(frames+1, files.first.pageSize())
}

// truncatedLog is the fault of a log that has not what SQLite has written to it.
func (files *openFiles) truncatedLog(header wal.Header, index wal.Index) *fault {
	if files.copying.Load() { // the database has a part of what the log had
		return &fault{path: files.wal.path, what: "was truncated during a checkpoint", damaged: true}
	}
	if isEmpty := files.wal.size < int64(len(header)); !isEmpty { // the next start would use what it has
		return &fault{path: files.wal.path, what: "was overwritten or cut short", damaged: true}
	}
	loss := "the writes since the last checkpoint are lost"
	if index.Copied() == index.Frames() {
		loss = "no write is lost"
	}
	return &fault{
		path: files.wal.path, what: "was truncated", next: loss + ": restart the service to use what the database has",
	}
}
