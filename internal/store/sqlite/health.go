package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/store/groupcommit"
)

// Ready implements [store.Store]. It checks the files, as Watch does, and reads from each
// table that requests read.
func (s *Store) Ready(ctx context.Context) error {
	_ = s.files.check() // the read returns what it has found
	return s.readMany(ctx, func(conn *sqlite.Conn) error {
		return cmp.Or(
			execute(conn, getTokenQuery, ""),
			execute(conn, allPlants.list, 1, math.MinInt64),
			execute(conn, feedStateQuery, 0),
			execute(conn, plantHistoryQuery, 1, 0, 0),
		)
	})
}

// Writable implements [store.Store]. While writes work, it runs a write that changes nothing: it
// waits in the queue and for the lock on the file, but not for the disk.
func (s *Store) Writable(ctx context.Context) error {
	if s.failure.Err() == nil {
		return s.runWrite(ctx, func(*sqlite.Conn) error { return nil })
	}
	if !s.trial.TryLock() { // another call tries it
		return s.failure.Err()
	}
	defer s.trial.Unlock()
	return cmp.Or(ctx.Err(), s.tryWrite())
}

// trialPlants is the number of plants of tryWrite. They take as much space as the
// largest request, so writes do not fail again right after it has succeeded.
const trialPlants = 1000

// tryWrite makes a durable write that needs space. With a small cache, SQLite appends the pages of
// the plants to the log before they are rolled back; later writes then use that part of
// the log. The commit of one more page shows that the disk works.
//
// It does not share a transaction with other writes: if the disk is full, SQLite
// rolls all of it back, and a smaller write might have succeeded.
func (s *Store) tryWrite() error {
	trial := &groupcommit.Call[groupedWrite]{Work: groupedWrite{run: tryPages}}
	s.commit([]*groupcommit.Call[groupedWrite]{trial})
	if trial.Err != nil {
		return s.failure.Note(translate(trial.Err))
	}
	s.failure.End()
	return nil
}

func tryPages(conn *sqlite.Conn) error {
	size, err := number(conn, "PRAGMA cache_size")
	if err != nil {
		return err
	}
	if err := executeAll(conn, "SAVEPOINT trial", "PRAGMA cache_size = 1"); err != nil {
		return err
	}
	err = writePlants(conn, store.Effect{Insert: store.TrialRows(trialPlants)})
	err = errors.Join(err, execute(conn, fmt.Sprint("PRAGMA cache_size = ", size)))
	if err != nil {
		return err
	}
	version, err := number(conn, "PRAGMA user_version")
	if err != nil {
		return err
	}
	return executeAll(conn, "ROLLBACK TO trial", "RELEASE trial", fmt.Sprint("PRAGMA user_version = ", version))
}

// Metrics implements [store.Store].
func (s *Store) Metrics() []prometheus.Collector {
	all := append(s.writes.Metrics(), s.durations)
	if s.path == Memory {
		return all
	}
	gauge := func(name, help, path string, value func(os.FileInfo) float64) prometheus.Collector {
		opts := prometheus.GaugeOpts{Name: "plantstore_sqlite_" + name, Help: help}
		return prometheus.NewGaugeFunc(opts, func() float64 {
			info, err := os.Stat(path)
			if err != nil {
				return 0 // the file does not exist
			}
			return value(info)
		})
	}
	size := func(info os.FileInfo) float64 { return float64(info.Size()) }
	modified := func(info os.FileInfo) float64 { return float64(info.ModTime().UnixMilli()) / 1e3 }
	return append(all,
		gauge("bytes", "Size of the database in bytes, without its write-ahead log.", s.path, size),
		gauge("wal_bytes", "Size of the write-ahead log in bytes.", s.files.target+"-wal", size),
		gauge("last_backup_timestamp_seconds", "Time of the last backup in seconds since 1970, or 0 without a backup.",
			s.files.target+markSuffix, modified))
}
