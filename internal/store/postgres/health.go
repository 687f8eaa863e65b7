package postgres

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
)

// Ready implements [store.Store]. It reads from each table that requests read, on a server that
// accepts writes, and asks for the schema that this program needs. It does not retry; after a
// lost connection, or one to a server that became a standby, the idle connections are closed,
// so that the next call connects again. Once an error has shown that prepared statements do not work, the store is
// not ready until it is opened with another URL.
func (s *Store) Ready(ctx context.Context) error {
	var have int
	err := s.ask(ctx, func(ctx context.Context, conn *pgx.Conn) (err error) {
		if err := pgconn.ValidateConnectTargetSessionAttrsReadWrite(ctx, conn.PgConn()); err != nil {
			return err
		}
		if have, err = number(ctx, conn, versionRow, ""); err != nil {
			return err
		}
		var batch pgx.Batch
		batch.Queue(selectToken, []byte{})
		batch.Queue(selectPlant, 0)
		if !s.sharded {
			batch.Queue(plantHistory, 1, 0, 0)
			// confirm inserts a mark. This inserts none, but needs the same privilege.
			batch.Queue(`INSERT INTO marks (id, done, at, feeds) SELECT 0, true, 0, true WHERE false`)
		}
		err = conn.SendBatch(ctx, &batch).Close()
		if err == nil && !s.sharded {
			_, err = readChanges(ctx, conn, nil, 1)
		}
		return err
	})
	if s.pooled.Load() { // then some requests fail and others succeed
		return fmt.Errorf("postgres: %w", errPooled)
	}
	if err == nil && have < len(schema) {
		err = fmt.Errorf("postgres: schema %d of the database is older than this program, which needs schema %d",
			have, len(schema))
	}
	return err
}

// ask calls question once, and says what to do if the user lacks a privilege.
func (s *Store) ask(ctx context.Context, question func(context.Context, *pgx.Conn) error) error {
	err := s.withConnection(ctx, question)
	if err != nil {
		s.resetIfLost(err)
		err = fmt.Errorf("postgres: %w", cmp.Or(explainPrivileges(err, s.pool.Config().ConnConfig), err))
	}
	return err
}

// Writable implements [store.Store]. Its write waits in the queue as every other one.
func (s *Store) Writable(ctx context.Context) error {
	return s.submit(ctx, &pendingWrite{deadline: deadlineOf(ctx), isProbe: true})
}

// trialPlants is the number of plants of a probe after a failure. Their rows take a dozen pages,
// and PostgreSQL needs space for one when a write fails.
const trialPlants = 100

// probe runs the statements of a write. After a failure it also makes a durable one: it inserts
// plants and deletes them in the same transaction. It does not retry.
func (s *Store) probe(deadline time.Time) error {
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	failure := s.failure.Err()
	err := s.ask(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		var batch pgx.Batch
		s.tryStatements(&batch)
		if failure != nil {
			rows := store.TrialRows(trialPlants) // their IDs have no gaps
			beginWrite(&batch)
			queueInserts(&batch, rows)
			batch.Queue(`DELETE FROM plants WHERE id BETWEEN $1 AND $2`, rows[0].ID, rows[trialPlants-1].ID)
			batch.Queue(`COMMIT`)
		}
		return conn.SendBatch(ctx, &batch).Close()
	})
	if err == nil && failure != nil {
		s.failure.End()
		return nil
	}
	return cmp.Or(failure, err)
}

// tryStatements queues the statements of a write that creates, replaces and removes a plant, and
// rolls them back.
func (s *Store) tryStatements(batch *pgx.Batch) {
	trial := store.TrialRows(1)
	ids := []int64{trial[0].ID}
	transaction := &group{sharded: s.sharded, changed: ids, content: s.content.Load()}
	beginWrite(batch)
	batch.Queue(lockOne, ids[0])
	history := []plant.HistoryEntry{{Plant: trial[0].Stored()}}
	transaction.store(batch, store.Effect{Insert: trial, Update: trial, Remove: ids, History: history}, int64(rand.Uint64()))
	batch.Queue(`ROLLBACK`)
}

// Metrics implements [store.Store].
func (s *Store) Metrics() []prometheus.Collector {
	return append(s.writes.Metrics(),
		s.durations,
		s.connections("acquired", (*pgxpool.Stat).AcquiredConns),
		s.connections("idle", (*pgxpool.Stat).IdleConns),
		s.connections("constructing", (*pgxpool.Stat).ConstructingConns),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "plantstore_pgx_pool_connections_max",
			Help: "Maximum number of connections to PostgreSQL.",
		}, func() float64 { return float64(s.pool.Stat().MaxConns()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "plantstore_pgx_pool_acquires_total",
			Help: "Connections acquired from the pool.",
		}, func() float64 { return float64(s.pool.Stat().AcquireCount()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "plantstore_pgx_pool_wait_seconds_total",
			Help: "Seconds spent waiting for a connection while none was idle.",
		}, func() float64 { return s.pool.Stat().EmptyAcquireWaitTime().Seconds() }))
}

// connections returns the metric of the connections in a state.
func (s *Store) connections(state string, count func(*pgxpool.Stat) int32) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "plantstore_pgx_pool_connections",
		Help:        "Connections to PostgreSQL by state: acquired (in use), idle, constructing (being opened).",
		ConstLabels: prometheus.Labels{"state": state},
	}, func() float64 { return float64(count(s.pool.Stat())) })
}
