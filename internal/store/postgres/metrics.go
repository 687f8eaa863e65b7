package postgres

import (
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
)

// Metrics tells what nobody but the store can count.
func (s *Store) Metrics() []prometheus.Collector {
	return []prometheus.Collector{s.writes.Sizes(), poolCollector{s.pool}}
}

// poolCollector shows the connections of a pool.
type poolCollector struct{ pool *pgxpool.Pool }

var (
	poolConnections = prometheus.NewDesc("plantstore_pgx_pool_connections",
		"Connections to PostgreSQL: acquired are in use, idle wait for use, constructing are being opened.", []string{"state"}, nil)
	poolLimit = prometheus.NewDesc("plantstore_pgx_pool_connections_max",
		"Connections that there may be.", nil, nil)
	poolAcquires = prometheus.NewDesc("plantstore_pgx_pool_acquires_total",
		"How often a connection was asked for and had.", nil, nil)
	poolWaits = prometheus.NewDesc("plantstore_pgx_pool_wait_seconds_total",
		"The time that callers have waited for a connection where none was idle.", nil, nil)
)

// Describe implements [prometheus.Collector].
func (c poolCollector) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{poolConnections, poolLimit, poolAcquires, poolWaits} {
		out <- desc
	}
}

// Collect implements [prometheus.Collector].
func (c poolCollector) Collect(out chan<- prometheus.Metric) {
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	stat := c.pool.Stat()
	out <- prometheus.MustNewConstMetric(poolConnections, gauge, float64(stat.AcquiredConns()), "acquired")
	out <- prometheus.MustNewConstMetric(poolConnections, gauge, float64(stat.IdleConns()), "idle")
	out <- prometheus.MustNewConstMetric(poolConnections, gauge, float64(stat.ConstructingConns()), "constructing")
	out <- prometheus.MustNewConstMetric(poolLimit, gauge, float64(stat.MaxConns()))
	out <- prometheus.MustNewConstMetric(poolAcquires, counter, float64(stat.AcquireCount()))
	out <- prometheus.MustNewConstMetric(poolWaits, counter, stat.EmptyAcquireWaitTime().Seconds())
}
