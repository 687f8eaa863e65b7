package sqlite

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"sync/atomic"
	"time"

	"zombiezen.com/go/sqlite"
)

const (
	// checkpointPages is the number of pages in the log (the -wal file) at which
	// a checkpoint copies them to the database file: 4 MiB. A lower number would
	// copy pages that change often too often; a higher one would make the pause
	// longer.
	checkpointPages = 1000

	// drainWait is how long a checkpoint waits for reads of this program. The
	// longest ones are pages of a list.
	drainWait = time.Second

	// otherProgramWait is how long a checkpoint waits for reads of other programs.
	// It is as short as a commit, because a backup may read for minutes.
	otherProgramWait = 10 * time.Millisecond

	// retryPages is the largest number of pages by which the log grows between two
	// checkpoints while another program reads it. Without a limit, a log that has become
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
func (s *Store) checkpointIfDue(conn *sqlite.Conn) (err error) {
	// The check after the commit has read the length. To ask SQLite takes 7 of the 47 µs of the
	// processor that a commit needs without its fsync.
	logged := s.files.pages.Load()
	if logged < checkpointPages { // another program may have reset the log
		s.checkpointAt = min(s.checkpointAt, checkpointPages)
	}
	if s.checkpointAt == 0 || logged < int64(s.checkpointAt) {
		return nil
	}
	_, pages, _, err := checkpoint(conn, "NOOP")
	if err != nil || pages < s.checkpointAt {
		return err
	}
	_ = execute(conn, renewMarkQuery) // an older copy of the log does not have this mark
	witness := s.files.witness()
	defer func() {
		s.files.checkWitness(witness)
		s.files.checkRefusal(err)
	}()
	conn.SetBusyTimeout(otherProgramWait)
	defer conn.SetBusyTimeout(busyTimeout)
	// SQLite cannot copy a page while a read needs its older version, and cannot
	// reset the log while a read uses it. A read that begins after all pages were
	// copied does not use the log. So the checkpoint waits twice for the reads
	// that are running: before it copies the pages and before it resets the log.
	// Only the next commit has to wait, no read.
	s.reads.drain(drainWait)
	busy, now, copied, err := checkpoint(conn, "PASSIVE")
	if err != nil {
		return err
	}
	// If pages are left, another program reads the log, perhaps for as long as this one
	// runs: Litestream does. It would be in vain to wait for it, too.
	if !busy && copied == now {
		s.reads.drain(drainWait)
		if busy, _, _, err = checkpoint(conn, "RESTART"); err == nil && !busy {
			s.checkpointAt = checkpointPages
			return nil
		}
	}
	// Trying again at every commit would delay each of them.
	s.checkpointAt = pages + min(pages, retryPages)
	return err
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

// reads counts the running reads, so that a checkpoint can wait for those that
// began before it without blocking new ones.
type reads struct {
	phase   atomic.Uint32   // drain begins the next one
	running [2]atomic.Int64 // reads, by the phase in which they began (modulo 2)
}

// begin counts a read. The caller subtracts 1 from the result when the read ends.
func (r *reads) begin() *atomic.Int64 {
	n := &r.running[r.phase.Load()%2]
	n.Add(1)
	return n
}

// drain waits until the reads that began before it have ended, at most for limit.
func (r *reads) drain(limit time.Duration) {
	before := &r.running[(r.phase.Add(1)-1)%2]
	for deadline := time.Now().Add(limit); before.Load() > 0 && time.Now().Before(deadline); {
		time.Sleep(100 * time.Microsecond)
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
	return [copies]byte(x[:copies]) == [copies]byte(x[copies:]) &&
		[marks]byte(x[:marks]) == [marks]byte(other[:marks]) && x.number(128) == other.number(128)
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
func (f *openFiles) witness() (w witness) {
	if f.index == nil {
		return w
	}
	index, err := io.ReadAll(io.NewSectionReader(f.index, 0, math.MaxInt64))
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
	f.mu.Lock()
	defer f.mu.Unlock()
	for page := min(w.index.number(20), f.size/pageSize); page > 0; page-- {
		if logged[page] {
			continue
		}
		w.at = (page - 1) * pageSize
		n, err := f.database.ReadAt(content, w.at)
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

// checkWitness notices after a checkpoint that another program has truncated or
// overwritten the database before it ended.
func (f *openFiles) checkWitness(w witness) {
	if w.content == nil {
		return
	}
	var index walIndex
	content := make([]byte, w.index.pageSize())
	n, err := f.database.ReadAt(content, w.at)
	if err != nil && err != io.EOF || f.index.begin(index[:]) != nil || [48]byte(index[:]) != [48]byte(w.index[:]) {
		return // a disk that fails says nothing about the content, and a page that is in the log now may be another one
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !bytes.Equal(content[:n], w.content) && !f.final() {
		// The next write returns the error.
		f.record(&fault{path: f.database.path, what: "was overwritten or truncated", damaged: true})
	}
}

// checkRefusal notices that SQLite has refused a checkpoint because another program has
// truncated the database before it began. SQLite does not end such a checkpoint, so the size
// of the database would be explained by it for ever.
func (f *openFiles) checkRefusal(err error) {
	if sqlite.ErrCode(err).ToPrimary() != sqlite.ResultCorrupt || f.index == nil {
		return
	}
	_ = f.check() // it may be another file that was changed
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.found.Load() == nil {
		f.record(&fault{path: f.database.path, what: "was overwritten or truncated", damaged: true})
	}
}
