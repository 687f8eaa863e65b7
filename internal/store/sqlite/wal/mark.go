package wal

import (
	"bytes"
	"encoding/binary"
	"io"
)

// Mark is a value of a column of log_mark. An empty database has the mark 0.
//
// A mark says which database a log belongs to. The table log_mark has a random mark, the one
// before, and the one of a content that .restore of sqlite3 has brought. The store renews it in each new log before it acknowledges a write in it, and
// before it copies a log to the database. So the log has the mark of its database, as the
// present one or an earlier one. The log of an older or a newer database has not. The salts of
// the log would not do: the database would have to know those of the next log.
type Mark [8]byte

// markCell is what precedes the marks in the only row of log_mark: the length of the
// record, the rowid, and the header of the record with the types of three blobs of 8 bytes.
var markCell = []byte{28, 1, 4, 28, 28, 28}

// marksIn returns the marks, the present one first, if a page of the database is that of log_mark. No
// other table has records of this form. The only row of a table is always at the end of its page.
func marksIn(page []byte) (marks [3]Mark, found bool) {
	const tableLeaf, rows = 13, 1
	start := len(page) - len(markCell) - len(marks)*len(Mark{})
	oneRow := page[0] == tableLeaf && binary.BigEndian.Uint16(page[3:]) == rows
	atTheEnd := binary.BigEndian.Uint16(page[5:]) == uint16(start)
	if !oneRow || !atTheEnd || !bytes.HasPrefix(page[start:], markCell) {
		return marks, false
	}
	cells := page[start+len(markCell):]
	for i := range marks {
		marks[i] = Mark(cells[i*len(Mark{}):])
	}
	return marks, true
}

// ReadMark reads the mark of a database from the page with this number.
func ReadMark(database io.ReaderAt, number, pageSize int64) (now Mark, err error) {
	page := make([]byte, pageSize)
	_, err = database.ReadAt(page, (number-1)*pageSize)
	if err == io.EOF { // the database is cut short
		err = nil
	}
	marks, _ := marksIn(page)
	return marks[0], err
}
