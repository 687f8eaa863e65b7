package sqlite

import (
	"os"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics implements [store.Store].
func (s *Store) Metrics() []prometheus.Collector {
	all := append(s.writes.Metrics(), s.durations)
	if len(s.files.opened) == 0 { // a store in memory
		return all
	}
	database, log := s.files.opened[0].path, s.files.target+"-wal"
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "plantstore_sqlite_" + name, Help: help}, value)
	}
	return append(all,
		gauge("bytes", "Size of the database in bytes, without its write-ahead log.", func() float64 { return size(database) }),
		gauge("wal_bytes", "Size of the write-ahead log in bytes.",
			func() float64 { return size(log) }),
		gauge("last_backup_timestamp_seconds", "Time of the last backup in seconds since 1970, or 0 without a backup.",
			func() float64 { return lastBackup(s.files.target) }))
}

// size returns the size of a file in bytes, or 0 if it does not exist.
func size(path string) float64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return float64(info.Size())
}

// lastBackup returns the time of the last backup of the store at path in seconds
// since 1970, or 0 without a backup.
func lastBackup(path string) float64 {
	info, err := os.Stat(path + markSuffix)
	if err != nil {
		return 0
	}
	return float64(info.ModTime().UnixMilli()) / 1e3
}
