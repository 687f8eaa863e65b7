package sqlite

import (
	"os"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics tells what nobody but the store can count.
func (s *Store) Metrics() []prometheus.Collector {
	all := []prometheus.Collector{s.writes.Sizes()}
	if s.path != Memory {
		all = append(all, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "plantstore_sqlite_wal_bytes",
			Help: "The size of the write-ahead log on the disk. It grows while a stranger keeps an old state in use.",
		}, func() float64 { return size(s.path + "-wal") }))
	}
	return all
}

// size returns the size of a file in bytes, 0 if there is none.
func size(path string) float64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return float64(info.Size())
}
