package sqlite

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"os"
	"runtime"
)

// contents notices that another program has overwritten or truncated the database, or
// truncated its log. SQLite itself reads its caches then, and writes on.
//
// It compares what costs a few microseconds. A checkpoint, also of another program,
// changes the size of the database, and leaves a trace in the index of the log. Every
// other change of the size is wrong. So is one of the first bytes, which tell a backup
// from a store in use. Other changes that keep the size are not noticed.
//
// The locks of a process end when it closes any descriptor of the file (POSIX). So these
// are opened once, and closed after the connections.
type contents struct {
	database, log, index *os.File // nil if nothing is compared
	begins               [24]byte // of the database: these never change while it is open
	size, logSize        int64    // of the database and its log
	last                 checkpointed
}

// checkpointed is what the index says about the last checkpoint that is complete.
type checkpointed struct {
	salts  [8]byte // of the log; new when it begins again
	copied int64   // pages of the log
}

// open begins to compare. SQLite has the files open.
func (c *contents) open(database, log, index string) (err error) {
	if runtime.GOOS == "windows" { // it does not let SQLite remove files that are open here
		return nil
	}
	for path, file := range map[string]**os.File{database: &c.database, log: &c.log, index: &c.index} {
		if *file, err = os.Open(path); err != nil {
			return err
		}
	}
	if _, err := c.database.ReadAt(c.begins[:], 0); err != nil {
		return err
	}
	info, err := c.database.Stat()
	if err == nil {
		c.size = info.Size()
	}
	return err
}

func (c *contents) close() {
	for _, file := range []*os.File{c.database, c.log, c.index} {
		file.Close() // of nil, too
	}
}

// walIndex is the beginning of the index of the log, in the byte order of the machine;
// see https://sqlite.org/walformat.html#the_wal_index_file_format.
type walIndex [132]byte

func (x *walIndex) number(at int) int64 { return int64(binary.NativeEndian.Uint32(x[at:])) }

func (x *walIndex) pageSize() int64 {
	if size := binary.NativeEndian.Uint16(x[14:]); size != 1 {
		return int64(size)
	}
	return 1 << 16
}

// same reports whether SQLite has written neither x nor other in between.
func (x *walIndex) same(other *walIndex) bool {
	const copies, marks = 48, 100 // two copies of a header, then marks of readers and locks
	return [copies]byte(x[:copies]) == [copies]byte(x[copies:]) && [marks]byte(x[:marks]) == [marks]byte(other[:marks]) &&
		x.number(128) == other.number(128)
}

// witness is a page of the database that the log does not have, so that no checkpoint
// writes it. SQLite ends a checkpoint by making the database as long as its header says:
// if another program has truncated it meanwhile, its size is right again, and zeros are
// where the witness was.
type witness struct {
	index   walIndex // if it is another one later, the log may have the page
	at      int64
	content []byte // nil: there is no witness
}

// witness returns the last page of the database that the log does not have, unless it is
// empty: SQLite does not write every page that it takes.
func (c *contents) witness() (w witness) {
	if c.database == nil {
		return w
	}
	index, err := io.ReadAll(io.NewSectionReader(c.index, 0, math.MaxInt64))
	if err != nil || copy(w.index[:], index) < len(w.index) {
		return w
	}
	logged := map[int64]bool{}
	for frame := range w.index.number(16) {
		n := frame + 34 // after the header; each block of 32 KiB begins with 16 KiB of page numbers
		at := n/4096<<15 + n%4096*4
		if at+4 > int64(len(index)) {
			return w
		}
		logged[int64(binary.NativeEndian.Uint32(index[at:]))] = true
	}
	pageSize := w.index.pageSize()
	content := make([]byte, pageSize)
	for page := min(w.index.number(20), c.size/pageSize); page > 0; page-- {
		if logged[page] {
			continue
		}
		w.at = (page - 1) * pageSize
		n, err := c.database.ReadAt(content, w.at)
		if err != nil && err != io.EOF {
			return w
		}
		if bytes.Count(content, []byte{0}) < n || n < len(content) { // fewer bytes: it was truncated already
			w.content = content[:n]
			return w
		}
	}
	return w
}

// has reports whether the database has the witness.
func (c *contents) has(w witness) bool {
	if w.content == nil {
		return true
	}
	var index walIndex
	content := make([]byte, w.index.pageSize())
	n, err := c.database.ReadAt(content, w.at)
	if err != nil && err != io.EOF {
		return true // a disk that fails says nothing about the content
	}
	if _, err := c.index.ReadAt(index[:], 0); err != nil || [48]byte(index[:]) != [48]byte(w.index[:]) {
		return true
	}
	return bytes.Equal(content[:n], w.content)
}

// compare returns the fault of a file that is missing, by present, or is not what SQLite
// has written. present returns the sizes of the files.
func (c *contents) compare(present func() ([3]int64, *fault)) *fault {
	if c.database == nil {
		_, missing := present()
		return missing
	}
	for range 100 { // until SQLite writes nothing meanwhile
		var before, after walIndex
		var header, head [32]byte // of the database and the log
		_, err := c.index.ReadAt(before[:], 0)
		sizes, missing := present()
		if missing != nil {
			return missing
		}
		for _, read := range []func() (int, error){
			func() (int, error) { return c.database.ReadAt(header[:], 0) },
			func() (int, error) { return c.log.ReadAt(head[:], 0) },
			func() (int, error) { return c.index.ReadAt(after[:], 0) },
		} {
			if _, failed := read(); failed != nil && failed != io.EOF { // fewer bytes if it is shorter
				err = failed
			}
		}
		if err != nil && err != io.EOF {
			return nil // a disk that fails says nothing about the content
		}
		if before.same(&after) {
			return c.judge(&before, sizes[0], sizes[1], header, head)
		}
	}
	return nil
}

// judge is compare for what was read at one moment.
func (c *contents) judge(x *walIndex, size, logSize int64, header, head [32]byte) *fault {
	pageSize := x.pageSize()
	frames, copied, attempted := x.number(16), x.number(96), x.number(128)
	salts := [8]byte(x[32:40])
	last := checkpointed{salts, copied}
	running := attempted > copied
	// A checkpoint makes the database longer or, after VACUUM, as long as its header says.
	pages := int64(binary.BigEndian.Uint32(header[28:]))
	explained := running || last != c.last && (size > c.size || size == pages*pageSize)
	if [24]byte(header[:24]) != c.begins || size != c.size && !explained {
		return &fault{path: c.database.Name(), what: "was overwritten or truncated", damaged: true}
	}
	if !running { // or the size is one that the checkpoint has not finished
		c.size, c.last = size, last
	}
	switch {
	case frames == 0 || [8]byte(head[16:24]) == salts && logSize >= 32+frames*(24+pageSize):
		c.logSize = logSize
		return nil
	case running: // the database has a part of what the log had
		return &fault{path: c.log.Name(), what: "was truncated during a checkpoint", damaged: true}
	case head != [32]byte{}: // the next start would use what it has
		return &fault{path: c.log.Name(), what: "was overwritten or cut short", damaged: true}
	}
	return &fault{path: c.log.Name(), what: "was truncated", next: "the writes in it are lost: restart the service to use what the database has"}
}
