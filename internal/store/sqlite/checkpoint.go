package sqlite

import (
	"time"

	"zombiezen.com/go/sqlite"
)

const (
	// checkpointPages is how long the log (the -wal file) grows before its pages
	// are moved to the main file, 4 MiB. Less would write pages that change
	// often too often; more would make the pause longer.
	checkpointPages = 1000

	// checkpointWait is how long a checkpoint waits for readers who began
	// before the last commit. A read of ours takes far less; for one that takes
	// minutes, a backup, no write is held up longer than by a commit.
	checkpointWait = 10 * time.Millisecond

	// logKept is how much room the log keeps on the disk after it has been
	// longer, in bytes. Room is kept because overwriting is faster than growing.
	logKept = 64 << 20
)

// walLog keeps the write-ahead log short. Left alone, SQLite can begin the log
// anew only if no reader happens to look at it at the moment of a commit. Under
// constant load that moment never comes, and from then on every commit makes a
// checkpoint and the log only grows.
type walLog struct {
	due int // pages at which the next checkpoint is due; 0: there is no log
}

// bound makes a checkpoint if the log has become long. What fails here fails no
// write, for those are durable in the log: the next checkpoint makes it good.
func (l *walLog) bound(conn *sqlite.Conn) {
	if l.due == 0 {
		return
	}
	if _, pages, err := checkpoint(conn, "PRAGMA wal_checkpoint(NOOP)"); err != nil || pages < l.due {
		return
	}
	conn.SetBusyTimeout(checkpointWait)
	defer conn.SetBusyTimeout(busyTimeout)
	// RESTART waits for those who still read an older state, so that the next
	// commit can begin the log anew. Those who come meanwhile need not wait:
	// they find everything in the main file.
	busy, pages, err := checkpoint(conn, "PRAGMA wal_checkpoint(RESTART)")
	if err == nil && !busy {
		l.due = checkpointPages
		return
	}
	// A long read keeps its part of the log. Asking again at every commit would
	// make each of them wait in vain.
	l.due = 2 * max(pages, l.due)
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
