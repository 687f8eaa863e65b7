package sqlite

import (
	"sync/atomic"
	"time"

	"zombiezen.com/go/sqlite"
)

const (
	// checkpointPages is how long the log (the -wal file) grows before its pages
	// are moved to the main file, 4 MiB. Less would move pages that change often
	// too often; more would make the pause longer.
	checkpointPages = 1000

	// drainWait is how long a checkpoint waits for reads of this program, which
	// are pages of a list at most.
	drainWait = time.Second

	// strangerWait is how long it waits for readers in other programs. For one
	// that takes minutes, a backup, no write is held up longer than by a commit.
	strangerWait = 10 * time.Millisecond
)

// walLog keeps the write-ahead log short. Left alone, SQLite can begin the log
// anew only if no reader happens to look at it at the moment of a commit. Under
// constant load that moment never comes, and from then on every commit makes a
// checkpoint and the log only grows.
type walLog struct {
	due   int // pages at which the next checkpoint is due; 0: there is no log
	waits int // how often strangers have been waited for in vain
}

// bound makes a checkpoint if the log has become long. What fails here fails no
// write, for those are durable in the log: the next checkpoint makes it good.
func (l *walLog) bound(conn *sqlite.Conn, own *reads) {
	if l.due == 0 {
		return
	}
	if _, pages, err := checkpoint(conn, "PRAGMA wal_checkpoint(NOOP)"); err != nil || pages < l.due {
		return
	}
	conn.SetBusyTimeout(strangerWait)
	defer conn.SetBusyTimeout(busyTimeout)
	// Pages that somebody needs in an older state cannot be moved, and the log
	// cannot be begun anew while somebody reads any of it. But who begins to
	// read once all pages are moved does not: nobody is kept waiting but the
	// next commit, and that until the reads under way have ended, twice.
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
	// A stranger keeps the log. Asking again at every commit would make each of
	// them wait in vain.
	l.due = 2 * max(pages, l.due)
	l.waits++
}

// checkpoint runs a checkpoint statement and returns whether somebody was in its
// way and how many pages the log has.
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

// reads counts the reads under way, so that a checkpoint can wait for those that
// began before it without keeping others from beginning.
type reads struct {
	turn  atomic.Uint32
	under [2]atomic.Int64 // by the turn in which they began
}

// begin counts a read and returns what it is to be taken from when it ends.
func (r *reads) begin() *atomic.Int64 {
	n := &r.under[r.turn.Load()%2]
	n.Add(1)
	return n
}

// drain returns once the reads that began before it have ended, or limit is over.
func (r *reads) drain(limit time.Duration) {
	before := &r.under[(r.turn.Add(1)-1)%2]
	for deadline := time.Now().Add(limit); before.Load() > 0 && time.Now().Before(deadline); {
		time.Sleep(100 * time.Microsecond)
	}
}
