package sqlite

import (
	"os"

	"github.com/plantstore/plantstore/internal/metrics"
)

// Metrics is a [metrics.Source]: what nobody but the store can count.
func (s *Store) Metrics(w *metrics.Writer) {
	s.writes.Metrics(w)
	if s.path != Memory {
		w.Gauge("plantstore_sqlite_wal_bytes", "The size of the write-ahead log on the disk. It grows while a stranger keeps an old state in use.")
		w.Sample(size(s.path + "-wal"))
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
