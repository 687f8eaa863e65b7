package sqlite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
)

// firstPage is the first page of a database: its header, and rows of sqlite_schema or the way to them;
// see https://sqlite.org/fileformat.html.
type firstPage []byte

var errNoDatabase = errors.New("this is not a SQLite database; give the path of another file")

const (
	magic        = "SQLite format 3\x00"
	smallestPage = 512
	largestPage  = 65536
	modeAt       = 18
	inWALMode    = 2 // the byte at modeAt
)

// readFirstPage reads the first page of the database at path, or less if the file is shorter.
func readFirstPage(path string) (firstPage, error) {
	content, err := readBeginning(path, largestPage)
	page := firstPage(content)
	if page.isDatabase() {
		page = page[:page.size()]
	}
	return page, err
}

// readBeginning reads at most size bytes of a file.
func readBeginning(path string, size int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, size))
}

// isDatabase reports whether SQLite takes a file with this first page for a database.
func (page firstPage) isDatabase() bool {
	hasHeader := bytes.HasPrefix(page, []byte(magic)) && len(page) >= smallestPage
	return hasHeader && page.size() >= smallestPage && len(page) >= page.size()
}

func (page firstPage) size() int {
	if size := int(binary.BigEndian.Uint16(page[16:])); size != 1 {
		return size
	}
	return largestPage
}

func (page firstPage) databasePages() uint32 { return binary.BigEndian.Uint32(page[28:]) }
func (page firstPage) schemaVersion() uint32 { return binary.BigEndian.Uint32(page[40:]) }
func (page firstPage) userVersion() int32    { return int32(binary.BigEndian.Uint32(page[60:])) }
func (page firstPage) applicationID() int32  { return int32(binary.BigEndian.Uint32(page[68:])) }
func (page firstPage) schemaRows() int       { return int(binary.BigEndian.Uint16(page[103:])) }

// isNew reports whether no program has made a table, except for Litestream, which may open a store
// before its first start; see newQuery.
func (page firstPage) isNew() bool {
	if page.applicationID() != 0 || page.userVersion() != 0 {
		return false
	}
	rows := page.schemaRows()
	ofLitestream := bytes.Count(page, []byte("CREATE TABLE _litestream_"))
	return page.schemaVersion() == 0 || rows > 0 && ofLitestream >= rows
}

// isUnfinished reports whether the first start of a store was interrupted: a power cut may leave zeros
// where the first page is to be.
func (page firstPage) isUnfinished() bool {
	const usualPage = 4096
	if len(page) > usualPage {
		return false
	}
	isEmpty := len(page) == bytes.Count(page, []byte{0})
	return isEmpty || page.isDatabase() && page.isNew()
}

// checkOurs returns an error unless a database is a store of this release or an older one, or new.
func (page firstPage) checkOurs() error {
	switch {
	case !page.isDatabase():
		return errNoDatabase
	case page.isNew():
		return nil
	case page.applicationID() != applicationID:
		return errOtherProgram
	}
	return checkVersion(int64(page.userVersion()))
}
