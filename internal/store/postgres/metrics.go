package postgres

import (
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
)

// Metrics implements [store.Store].
func (s *Store) Metrics() []prometheus.Collector {
	gauge := func(name, help, state string, value func(*pgxpool.Stat) int32) prometheus.Collector {
		opts := prometheus.GaugeOpts{Name: "plantstore_pgx_pool_" + name, Help: help}
		if state != "" {
			opts.ConstLabels = prometheus.Labels{"state": state}
		}
		return prometheus.NewGaugeFunc(opts, func() float64 { return float64(value(s.pool.Stat())) })
	}
	counter := func(name, help string, value func(*pgxpool.Stat) float64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "plantstore_pgx_pool_" + name, Help: help},
			func() float64 { return value(s.pool.Stat()) })
	}
	const connections = "Connections to PostgreSQL by state: acquired (in use), idle, constructing (being opened)."
	return append(s.writes.Metrics(),
		s.durations,
		gauge("connections", connections, "acquired", (*pgxpool.Stat).AcquiredConns),
		gauge("connections", connections, "idle", (*pgxpool.Stat).IdleConns),
		gauge("connections", connections, "constructing", (*pgxpool.Stat).ConstructingConns),
		gauge("connections_max", "Maximum number of connections to PostgreSQL.", "", (*pgxpool.Stat).MaxConns),
		counter("acquires_total", "Connections acquired from the pool.", func(s *pgxpool.Stat) float64 { return float64(s.AcquireCount()) }),
		counter("wait_seconds_total", "Seconds spent waiting for a connection while none was idle.",
			func(s *pgxpool.Stat) float64 { return s.EmptyAcquireWaitTime().Seconds() }))
}
