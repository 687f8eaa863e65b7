package sqlite

import (
	"os"
	"strings"

	"github.com/plantstore/plantstore/internal/metrics"
)

// Metrics is a [metrics.Source]: what nobody but the store can count.
func (s *Store) Metrics(w *metrics.Writer) {
	s.writes.Metrics(w)
	if len(s.files.opened) > 0 { // not in memory
		database, log := s.files.opened[0].path, s.files.opened[1].path
		w.Gauge("plantstore_sqlite_bytes", "The size of the database on the disk, without its write-ahead log.")
		w.Sample(size(database))
		w.Gauge("plantstore_sqlite_wal_bytes", "The size of the write-ahead log on the disk. It grows while a stranger keeps an old state in use.")
		w.Sample(size(log))
		w.Gauge("plantstore_sqlite_last_backup_timestamp_seconds", "The time of the last backup in seconds since 1970, 0 if there is none.")
		w.Sample(lastBackup(strings.TrimSuffix(log, "-wal")))
	}
}

// size returns the size of a file in bytes, 0 if there is none.
func size(path string) float64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return float64(info.Size())
}

// lastBackup returns the time of the last backup of the store at path, 0 if
// there is none.
func lastBackup(path string) float64 {
	info, err := os.Stat(path + markSuffix)
	if err != nil {
		return 0
	}
	return float64(info.ModTime().UnixMilli()) / 1e3
}
