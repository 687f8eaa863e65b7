package postgres

import "github.com/plantstore/plantstore/internal/metrics"

// Metrics is a [metrics.Source]: what nobody but the store can count.
func (s *Store) Metrics(w *metrics.Writer) {
	s.writes.Metrics(w)
	stat := s.pool.Stat()
	w.Gauge("plantstore_pgx_pool_connections", "Connections to PostgreSQL: acquired are in use, idle wait for use, constructing are being opened.")
	w.Sample(float64(stat.AcquiredConns()), "state", "acquired")
	w.Sample(float64(stat.IdleConns()), "state", "idle")
	w.Sample(float64(stat.ConstructingConns()), "state", "constructing")
	w.Gauge("plantstore_pgx_pool_connections_max", "Connections that there may be.")
	w.Sample(float64(stat.MaxConns()))
	w.Counter("plantstore_pgx_pool_acquires_total", "How often a connection was asked for and had.")
	w.Sample(float64(stat.AcquireCount()))
	w.Counter("plantstore_pgx_pool_wait_seconds_total", "The time that callers have waited for a connection where none was idle.")
	w.Sample(stat.EmptyAcquireWaitTime().Seconds())
}
