package sqlite

import (
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
)

// walLog keeps the write-ahead log short. By default SQLite resets the log only
// if no read uses it at the time of a commit. Under constant load there is always
// a read, so the log would grow without limit and every commit would make a
// checkpoint.
type walLog struct {
	due   int // length in pages at which the next checkpoint is due; 0 in memory
	waits int // number of checkpoints that another program has kept from finishing
}

// bound makes a checkpoint if the log has become long. An error here fails no
// write, because the writes are durable in the log. The next checkpoint tries
// again.
func (l *walLog) bound(conn *sqlite.Conn, own *reads, files *openFiles) {
	if l.due == 0 {
		return
	}
	if _, pages, err := checkpoint(conn, "PRAGMA wal_checkpoint(NOOP)"); err != nil || pages < l.due {
		return
	}
	witness := files.witness()
	defer func() { files.checkWitness(witness) }()
	conn.SetBusyTimeout(otherProgramWait)
	defer conn.SetBusyTimeout(busyTimeout)
	// SQLite cannot copy a page while a read needs its older version, and cannot
	// reset the log while a read uses it. A read that begins after all pages were
	// copied does not use the log. So the checkpoint waits twice for the reads
	// that are running: before it copies the pages and before it resets the log.
	// Only the next commit has to wait, no read.
	own.drain(drainWait)
	if _, _, err := checkpoint(conn, "PRAGMA wal_checkpoint(PASSIVE)"); err != nil {
		return
	}
	own.drain(drainWait)
	busy, pages, err := checkpoint(conn, "PRAGMA wal_checkpoint(RESTART)")
	if err == nil && !busy {
		l.due = checkpointPages
		return
	}
	// Another program reads the log. Trying again at every commit would delay
	// each of them.
	l.due = 2 * max(pages, l.due)
	l.waits++
}

// checkpoint runs a checkpoint statement. It returns whether a reader or writer
// kept it from finishing, and the number of pages in the log.
func checkpoint(conn *sqlite.Conn, statement string) (busy bool, pages int, err error) {
	stmt, err := conn.Prepare(statement)
	if err != nil {
		return false, 0, err
	}
	if _, err := stmt.Step(); err != nil {
		return false, 0, err
	}
	busy, pages = stmt.ColumnInt(0) != 0, stmt.ColumnInt(1)
	return busy, pages, stmt.Reset()
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
