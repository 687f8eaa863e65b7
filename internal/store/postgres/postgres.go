// Package postgres keeps plants and tokens in PostgreSQL, so that any number of
// `plantstore serve` on any number of machines are one service.
//
// Writes that wait at the same time share a transaction ([groupcommit.Queue]): one
// committer in each program. What may pass (a serialization failure, a
// fail-over, a restart) is tried again while the caller waits; see [Store.transact].
//
// The SQL is what PostgreSQL, YugabyteDB and CockroachDB have in common: no
// triggers, sequences, advisory locks or PL/pgSQL.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store/groupcommit"
	"github.com/plantstore/plantstore/internal/token"
)

const (
	// startTime is how long Open waits for a server that is about to answer.
	startTime = 5 * time.Second

	// callTime is how long a call goes on trying. It outlasts a fail-over by a
	// manager that notices in time; a caller of a database that stays away has
	// waited long enough.
	callTime = 8 * time.Second

	// connectTime is how long a host may take to answer unless the URL says so
	// (connect_timeout); pgx would wait minutes for one that is gone before it
	// asks the next.
	connectTime = 2 * time.Second

	// pingTime is how long a connection that was idle for a second may take to
	// prove that it works; without it the server on its other end may be gone.
	pingTime = time.Second
)

// Store keeps plants and tokens in a PostgreSQL database.
type Store struct {
	pool   *pgxpool.Pool
	writes *groupcommit.Queue[*write]
	pooled atomic.Bool // an error has shown that errPooled holds

	mu    sync.Mutex
	spent []int64   // marks of transactions whose outcome is known
	swept time.Time // when sweepMarks ran last
}

var (
	_ plant.Store = (*Store)(nil)
	_ token.Store = (*Store)(nil)
)

// IsDSN reports whether a text names a PostgreSQL database.
func IsDSN(text string) bool {
	return strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://")
}

// Open opens the store in the database that a URL names, as libpq reads it, and
// brings its schema up to date where needed. Its errors hold no password.
func Open(ctx context.Context, dsn string) (*Store, error) {
	config, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	return openConfig(ctx, config)
}

func openConfig(ctx context.Context, config *pgxpool.Config) (*Store, error) {
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, errNotDSN
	}
	s := &Store{pool: pool}
	s.writes = groupcommit.New(maxGroup, s.run)
	if err := s.prepare(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("open PostgreSQL: %w", explain(err, config.ConnConfig))
	}
	return s, nil
}

func parse(dsn string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, explainURL(dsn)
	}
	config.PingTimeout = pingTime
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		// For who has default_query_exec_mode=exec in the URL, as pgbouncer may need.
		conn.TypeMap().RegisterDefaultPgType(int64s(nil), "_int8")
		conn.TypeMap().RegisterDefaultPgType(byteas(nil), "_bytea")
		return planByIndex(ctx, conn)
	}
	c := config.ConnConfig
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, connectTime)
	c.DialFunc = (&net.Dialer{
		Timeout: c.ConnectTimeout,
		// Finds out within seconds that the machine on the other end is gone.
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 2 * time.Second, Interval: time.Second, Count: 3},
	}).DialContext
	if c.ValidateConnect == nil {
		// A server that only reads is of no use, whatever the URL says.
		c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	if _, ok := c.RuntimeParams["application_name"]; !ok {
		c.RuntimeParams["application_name"] = "plantstore"
	}
	return config, nil
}

// planByIndex makes the planner use the indexes, which serve every query of
// ours that is asked often. While a table is small it would rather read it
// whole, and a prepared statement keeps that plan while the table grows: until
// the server analyzes it, a minute later, each group of writes would read all
// plants. What has no index then looks so dear that it would be compiled first,
// for a tenth of a second; hence jit.
func planByIndex(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, `SELECT set_config('enable_seqscan', 'off', false), set_config('jit', 'off', false)`)
	if code(err) != "" {
		return nil // not PostgreSQL itself
	}
	return err
}

// prepare checks the server and makes the schema, and waits a little for a
// server that is starting or changing roles.
func (s *Store) prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for wait := newBackoff(); ; {
		err := s.on(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			if err := checkDurable(ctx, conn); err != nil {
				return err
			}
			if err := migrate(ctx, conn); err != nil {
				return err
			}
			_, err := conn.Exec(ctx, sweepMarks, oldestMark(), maxSwept)
			return err
		})
		if err == nil || !passes(code(err)) || !wait.sleep(ctx) {
			return err
		}
	}
}

// checkDurable finds the setting with which a server acknowledges what a crash
// takes back.
func checkDurable(ctx context.Context, conn *pgx.Conn) error {
	var mode string
	err := conn.QueryRow(ctx, `SHOW synchronous_commit`).Scan(&mode)
	if code(err) == undefinedObject {
		return nil // not PostgreSQL itself
	}
	if err == nil && mode == "off" {
		return errors.New("synchronous_commit is off, so a crash of the server would take back what was acknowledged: set it to on")
	}
	return err
}

// Close waits for writes under way and closes the store. No method may be
// called after it.
func (s *Store) Close() error {
	s.writes.Close()
	s.mu.Lock()
	spent := s.spent
	s.mu.Unlock()
	if len(spent) > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		// A sweep removes what this leaves, a day later.
		_, _ = s.pool.Exec(ctx, `DELETE FROM marks WHERE id = ANY($1)`, spent)
	}
	s.pool.Close()
	return nil
}

// on runs fn with a connection of the pool.
func (s *Store) on(ctx context.Context, fn func(context.Context, *pgx.Conn) error) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return notBegun{err}
	}
	defer conn.Release() // closes it if it is broken or still in a transaction
	err = fn(ctx, conn.Conn())
	if isPooled(err) {
		s.pooled.Store(true)
	}
	if err != nil && conn.Conn().PgConn().TxStatus() == 'E' {
		_, _ = conn.Exec(ctx, `ROLLBACK`)
	}
	return err
}

// notBegun is the error of a transaction that did not reach the server.
type notBegun struct{ error }

func (e notBegun) Unwrap() error { return e.error }

// read runs fn, which only reads, with a connection that sees every write
// acknowledged so far, and again if that fails in a way that may pass.
func (s *Store) read(ctx context.Context, fn func(context.Context, *pgx.Conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	for wait := newBackoff(); ; {
		err := s.try(limited, fn)
		switch {
		case err == nil:
			return nil
		case errors.Is(ctx.Err(), context.Canceled): // a caller who hangs up says nothing about the server
			return ctx.Err()
		case fateOf(err) == failed:
			return final(err)
		}
		s.suspect(err)
		if !wait.sleep(limited) {
			return unavailable(err)
		}
	}
}
