package sqlite

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
)

// journal is the part of a rollback journal that says what SQLite would undo with it.
type journal struct {
	changes uint32 // how many pages it would write
	pages   uint32 // how long it would make the database
	first   []byte // the first page that it would write
}

// readJournal reads the journal of the database at path. It returns nil if there is none that SQLite
// would roll back.
func readJournal(path string) *journal {
	const headerSize = 28
	content, err := readBeginning(path+"-journal", 3*largestPage)
	if err != nil || len(content) == 0 || content[0] == 0 {
		return nil // SQLite explains the error, and ignores a journal that begins with zeros
	}
	header := append(slices.Clip(content), make([]byte, headerSize)...)
	found := &journal{changes: binary.BigEndian.Uint32(header[8:]), pages: binary.BigEndian.Uint32(header[16:])}
	firstRecord := uint64(binary.BigEndian.Uint32(header[20:])) // after the sector of the header
	const numberSize = 4
	if begin := firstRecord + numberSize; begin < uint64(len(content)) {
		found.first = content[begin:]
	}
	return found
}

// undoesModeAlone reports whether a journal undoes the change of a database to WAL mode and nothing
// else. The first start of a restored store leaves it if it is killed.
func (undo *journal) undoesModeAlone(now firstPage) bool {
	if undo.changes != 1 || undo.pages != now.databasePages() || len(undo.first) < len(now) {
		return false
	}
	before := slices.Clone(undo.first[:len(now)])
	for _, field := range [][2]int{{modeAt, 20}, {24, 28}, {92, 100}} { // the mode, and a counter in two places
		copy(before[field[0]:field[1]], now[field[0]:field[1]])
	}
	return bytes.Equal(before, now)
}

// check returns an error if SQLite would destroy the database at path, which has this first page, with the
// journal. Nothing tells whether a journal is of this database, but a store needs none: it is in WAL mode
// from its first start on.
func (undo *journal) check(path string, now firstPage) error {
	if undo.undoesModeAlone(now) {
		return nil
	}
	other := "put back the database of this journal"
	if now[modeAt] != inWALMode {
		other += ", or, if another program was killed while it changed this one, open it with that program"
	}
	return fmt.Errorf("%[1]s-journal is the journal of another database than %[1]s, perhaps of an older copy; nothing was "+
		"changed; %[2]s; or, to use %[1]s without it, stop every program that uses these files, and run %[3]s",
		path, other, without(path, "-journal"))
}
