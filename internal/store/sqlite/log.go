package sqlite

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/shell"
)

// SQLite applies any log to the database beside it, up to the first frame that is damaged.
// So a database that was replaced by an older one would be mixed with a newer log, and a
// flipped bit in the log would lose every later commit, both without an error. This file
// reads the log before SQLite does; see https://sqlite.org/walformat.html.
//
// A mark says which database a log belongs to. The table log_mark has one random mark, and the
// one before. The store renews it in each new log before it acknowledges a write in it, and
// before it copies a log to the database. So the log has the mark of its database, as the
// present one or an earlier one. The log of an older or a newer database has not. The salts of
// the log would not do: the database would have to know those of the next log.

// renewMarkQuery gives the database and its log a new mark.
const renewMarkQuery = "UPDATE log_mark SET before = mark, restored = mark, mark = randomblob(8) RETURNING mark"

// renewMark gives the database and its log a new mark, and returns it.
func renewMark(conn *sqlite.Conn) (renewed mark, err error) {
	err = query(conn, renewMarkQuery, func(row *sqlite.Stmt) error {
		row.ColumnBytes(0, renewed[:])
		return nil
	})
	return renewed, err
}

// markNewLogQuery is renewMarkQuery at the beginning of a log. The parameter is the mark that the file
// had just before. It is another one than that of the table if .restore of sqlite3 has begun the log,
// or if another program has copied the log meanwhile.
const markNewLogQuery = "UPDATE log_mark SET before = mark, restored = coalesce(nullif(?, zeroblob(8)), mark), mark = randomblob(8)"

// markNewLog renews the mark if the log has begun anew since the last call, as the check of the
// files has seen. If that fails, the next call tries again: it must not fail writes that are durable.
func (s *Store) markNewLog(conn *sqlite.Conn) {
	salts := s.files.salts()
	if salts == s.marked {
		return
	}
	before, err := readMark(s.files.database, s.files.markPage, s.files.first.pageSize())
	if err == nil && execute(conn, markNewLogQuery, before[:]) == nil {
		s.marked = salts
	}
}

// salts returns those of the log at the last check.
func (files *openFiles) salts() [8]byte {
	files.mu.Lock()
	defer files.mu.Unlock()
	return files.logHeader.salts()
}

// mark is a value of a column of log_mark. An empty database has the mark 0.
type mark [8]byte

// markCell is what precedes the marks in the only row of log_mark: the length of the
// record, the rowid, and the header of the record with the types of three blobs of 8 bytes.
var markCell = []byte{28, 1, 4, 28, 28, 28}

// marksIn returns the marks, the present one first, if a page of the database is that of log_mark. No
// other table has records of this form. The only row of a table is always at the end of its page.
func marksIn(page []byte) (marks [3]mark, found bool) {
	const tableLeaf, rows = 13, 1
	start := len(page) - len(markCell) - len(marks)*len(mark{})
	oneRow := page[0] == tableLeaf && binary.BigEndian.Uint16(page[3:]) == rows
	atTheEnd := binary.BigEndian.Uint16(page[5:]) == uint16(start)
	if !oneRow || !atTheEnd || !bytes.HasPrefix(page[start:], markCell) {
		return marks, false
	}
	cells := page[start+len(markCell):]
	for i := range marks {
		marks[i] = mark(cells[i*len(mark{}):])
	}
	return marks, true
}

// logHeader is the beginning of the log.
type logHeader [32]byte

func (header *logHeader) salts() [8]byte { return [8]byte(header[16:24]) }

// pageSize returns the size of a page, or 0 if SQLite ignores the log because its header is
// damaged.
func (header *logHeader) pageSize() int64 {
	if header.checksum(0, header[:24]) != binary.BigEndian.Uint64(header[24:]) {
		return 0
	}
	return int64(binary.BigEndian.Uint32(header[8:]))
}

// checksum returns a checksum of the log after more data.
func (header *logHeader) checksum(sum uint64, data []byte) uint64 {
	order := binary.ByteOrder(binary.LittleEndian)
	if header[3]&1 == 1 { // of the magic number
		order = binary.BigEndian
	}
	first, second := uint32(sum>>32), uint32(sum)
	for ; len(data) >= 8; data = data[8:] {
		first += order.Uint32(data) + second
		second += order.Uint32(data[4:]) + first
	}
	return uint64(first)<<32 | uint64(second)
}

// logContent is what a log has.
type logContent struct {
	header   logHeader
	pageSize int64

	used int64 // frames that SQLite uses: up to the last commit before a damaged frame
	all  int64 // frames up to the last one of this log
	lost int   // commits that SQLite does not use

	commits int // that SQLite uses

	// explained is how many commits a power cut may have lost. Of the last transaction, which
	// was not acknowledged then, any page may be missing while its commit is there. SQLite
	// syncs a header before it writes a frame.
	explained int

	marks    map[mark]bool // that the database may have
	markPage int64         // of the database

	firstPage firstPage // of the database after the last commit that SQLite uses, if the log has it
	pending   firstPage // after that, perhaps without a commit
}

// end is where a number of frames ends in the file.
func (logged *logContent) end(frames int64) int64 {
	return int64(len(logged.header)) + frames*(frameHeader+logged.pageSize)
}

// frame is a frame of the log: a header of 24 bytes, and a page.
type frame []byte

const frameHeader = 24

func (f frame) page() []byte     { return f[frameHeader:] }
func (f frame) number() int64    { return int64(binary.BigEndian.Uint32(f)) }
func (f frame) commits() bool    { return f.databasePages() != 0 }
func (f frame) salts() [8]byte   { return [8]byte(f[8:]) }
func (f frame) checksum() uint64 { return binary.BigEndian.Uint64(f[16:]) }

// databasePages is how long the database is after a transaction; 0 unless the frame is its last.
func (f frame) databasePages() int64 { return int64(binary.BigEndian.Uint32(f[4:])) }

// isOf reports whether a frame is of the log with these salts. One half is enough, because
// the other one may be damaged. Both are new in each log.
func (f frame) isOf(salts [8]byte) bool {
	return bytes.Equal(f[8:12], salts[:4]) || bytes.Equal(f[12:16], salts[4:])
}

// readLog reads the log of the database at path. It is empty if there is none, or if it cannot be
// read, which SQLite explains.
func readLog(path string) *logContent {
	file, err := os.Open(path + "-wal")
	if err != nil {
		return &logContent{}
	}
	defer file.Close()
	return readLogFrom(file)
}

func readLogFrom(file io.Reader) *logContent {
	logged := &logContent{marks: map[mark]bool{}}
	reader := bufio.NewReaderSize(file, 1<<20)
	_, err := io.ReadFull(reader, logged.header[:])
	if err == nil {
		err = logged.readFrames(reader)
	}
	if atEnd := err == io.EOF || err == io.ErrUnexpectedEOF; !atEnd {
		return &logContent{}
	}
	return logged
}

// readFrames reads frames until there is an error, such as the end of the file. If the header
// is damaged, the frames tell what is lost.
func (logged *logContent) readFrames(reader io.Reader) error {
	salts := logged.header.salts()
	logged.pageSize = logged.header.pageSize()
	intact := logged.pageSize > 0
	if intact {
		logged.explained = 1
	} else {
		const usual = 4096
		salts, logged.pageSize = [8]byte{}, usual
	}
	current := make(frame, frameHeader+logged.pageSize)
	lost := lostCommits{pages: map[int64]bool{}}
	// A frame may be whole behind a damaged one: its checksum follows from the one that the frame before states or,
	// if only that is damaged, has.
	whole, stated := true, binary.BigEndian.Uint64(logged.header[24:])
	before := stated
	for number := int64(1); ; number++ {
		if _, err := io.ReadFull(reader, current); err != nil {
			logged.lost = lost.count + lost.doubtful
			return err
		}
		if salts == [8]byte{} {
			salts = current.salts()
		}
		wholeBefore := whole
		whole = false
		if current.salts() == salts {
			computed := logged.checksum(stated, current)
			whole = computed == current.checksum() || logged.checksum(before, current) == current.checksum()
			before = computed
		}
		intact = intact && whole
		stated = current.checksum()
		if !current.isOf(salts) {
			if current.salts() == [8]byte{} {
				logged.all = number // a frame that is lost: one of an earlier log has salts
			}
			continue
		}
		logged.all = number
		if intact {
			logged.add(current, number)
		}
		switch {
		case whole:
			lost.add(current, intact)
		case logged.mayBeMixed(number):
			lost.addMixed(current, wholeBefore)
		default:
			lost.doubtful = 0 // more is damaged, as by a power cut
			lost.add(current, false)
		}
	}
}

// checksum returns the checksum of a frame after that of the frame before.
func (logged *logContent) checksum(before uint64, current frame) uint64 {
	return logged.header.checksum(logged.header.checksum(before, current[:8]), current.page())
}

// add adds a frame that is not damaged.
func (logged *logContent) add(intact frame, number int64) {
	if intact.number() == 1 {
		logged.pending = slices.Clone(intact.page())
	}
	if intact.commits() {
		logged.used, logged.firstPage = number, logged.pending
		logged.commits++
	}
	if marks, found := marksIn(intact.page()); found {
		for _, mark := range marks {
			logged.marks[mark] = true
		}
		logged.markPage = intact.number()
	}
}

// belongsToFile reports whether the log is of the database at path.
func (logged *logContent) belongsToFile(path string) bool {
	database, err := os.Open(path)
	if err != nil {
		return true // SQLite explains the error
	}
	defer database.Close()
	return logged.belongsTo(database)
}

// belongsTo reports whether the log is of a database. That is not known of a log without a mark:
// only other programs have written to it.
func (logged *logContent) belongsTo(database io.ReaderAt) bool {
	if logged.used == 0 || len(logged.marks) == 0 {
		return true
	}
	var header [20]byte
	if _, err := database.ReadAt(header[:], 0); err != nil {
		return true
	}
	if inWALMode := header[18] == 2; !inWALMode {
		return false // VACUUM INTO or a backup has made it, perhaps while this log was in use
	}
	now, err := readMark(database, logged.markPage, logged.pageSize)
	return err != nil || logged.marks[now]
}

// readMark reads the mark of a database.
func readMark(database io.ReaderAt, number, pageSize int64) (now mark, err error) {
	page := make([]byte, pageSize)
	err = readAvailable(database, page, (number-1)*pageSize)
	marks, _ := marksIn(page)
	return marks[0], err
}

// incomplete returns the size of the incomplete transaction at the end of the log.
func (logged *logContent) incomplete() int64 { return logged.end(logged.all) - logged.end(logged.used) }

func (logged *logContent) check(path string) error {
	const stop = "stop every program that uses these files, and run"
	switch {
	case logged.lost > logged.explained:
		log, kept := shell.Quote(path+"-wal"), shell.Quote(path+"-wal.damaged")
		return fmt.Errorf("%[1]s-wal is damaged, and commits (%[2]d) are behind the damage; nothing was changed; "+
			"move %[1]s* to another directory, and restore a backup (plantstore restore); or, to go on without these "+
			"commits, %[3]s cp -p %[4]s %[5]s && truncate -s %[6]d %[4]s", path, logged.lost, stop, log, kept, logged.end(logged.used))
	case !logged.belongsToFile(path):
		return fmt.Errorf("%[1]s-wal is the log of another database than %[1]s, perhaps an older or newer one; nothing "+
			"was changed; put back the database of this log; or, to use %[1]s without it, %[2]s %[3]s",
			path, stop, without(path, "-wal"))
	}
	return nil
}

// without returns the command that takes a file from the database at path.
func without(path, suffix string) string {
	return fmt.Sprintf("mv %s %s", shell.Quote(path+suffix), shell.Quote(path+suffix+".other"))
}
