// Package postgres stores plants and tokens in PostgreSQL. Any number of
// `plantstore serve` processes on any number of machines can share a database.
//
// # Writes
//
// Writes that wait at the same time share a transaction ([groupcommit.Queue]); each
// process has one committer. It locks and reads the plants, lets package store decide the
// writes, and stores the effect: two round trips. Creates try one first (writes.go). Writes of
// plants that another program has locked wait in a queue of their own (locked.go). plants.go,
// tokens.go and changes.go each have a table with its statements and rows.
//
// # Fates and marks
//
// A transaction that ends with an error has one of three fates (errors.go): it failed, it
// may be tried again, or its outcome is unknown, because the connection was lost during
// the commit. Therefore every transaction inserts a mark, a row with a random number, into
// the table marks. After a lost connection the program looks for the mark. If the mark is
// there, the transaction was committed. If not, the program inserts the mark itself, and
// the transaction can never commit. So nothing is done twice. Calls are retried for up to
// eight seconds (transact.go).
//
// # Positions and epochs
//
// A transaction that changes plants draws the next position and adds a row with their IDs
// to the table changes. It holds the lock of the table feed until its commit, so the order
// of positions is the order of commits. A standby that becomes the primary may lack the
// last transactions, and draws their positions again. So does a database that was restored
// from a backup. Therefore an epoch begins with every new primary and after a restore:
// positions of an earlier epoch that are beyond its start are not valid (see content).
// A position is returned to a client only after a synchronous standby has it (changes.go).
//
// # Servers
//
// With several hosts in the URL, each server is asked again and again. The primary is the
// one that accepts writes and has the highest timeline, and connections go to it alone
// (servers.go).
//
// # Shards
//
// With the extension Citus the plants are spread over several servers. Such a store has
// statements of its own and no feed of changes (citus.go).
//
// # Schema and copies
//
// The schema is made by migrations, and an old and a new program can share it (migrate.go).
// A copy reads a snapshot (copy.go), and fills a database in one transaction (target.go).
// Errors of opening a store say what to do (explain.go). Operators see
// health.go.
//
// The SQL is limited to what PostgreSQL, YugabyteDB and CockroachDB share: no triggers,
// sequences, advisory locks or PL/pgSQL.
package postgres

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/store/groupcommit"
)

const (
	// startTime is how long Open waits for a server that is starting. An attempt may take
	// longer if connect_timeout in the URL is longer.
	startTime = 5 * time.Second

	// callTime is how long a call is retried. It is longer than a failover by a
	// manager that detects the failure in time, and short enough for a client to
	// wait.
	callTime = 8 * time.Second

	// connectTime is how long connecting to a host may take, unless the URL has
	// connect_timeout. Without it, pgx would wait minutes for a host that does not
	// respond before it tries the next one.
	connectTime = 2 * time.Second

	// pingTime is how long the check of a connection that was idle for a second
	// may take. Without it, a call would wait for a server that is gone.
	pingTime = time.Second
)

// Store stores plants and tokens in a PostgreSQL database.
type Store struct {
	store.Writer
	store.Searcher
	pool      *pgxpool.Pool
	servers   *servers // nil: the URL has one host
	writes    *groupcommit.Queue[*pendingWrite]
	durations store.Durations
	found     int         // the number of migrations before Open
	schema    int         // and after it
	sharded   bool        // see citus.go
	pooled    atomic.Bool // an error has shown that prepared statements do not work

	slowWrites *groupcommit.Queue[*pendingWrite] // of plants that are locked; see locked.go

	committed store.Signal              // a transaction has changed plants
	confirmed atomic.Pointer[confirmed] // see confirm
	content   atomic.Pointer[content]   // nil: BeginEpoch was not called, or the server does not tell

	failure store.WriteFailure
	lastErr atomic.Pointer[error] // of the last attempt of a transaction; nil if it succeeded

	mutex     sync.Mutex
	discarded []int64       // marks that are no longer needed
	slow      map[int64]int // the number of writes in the slow lane of each plant; see locked.go
}

var _ store.Store = (*Store)(nil)

// IsDSN reports whether a text is the URL of a PostgreSQL database.
func IsDSN(text string) bool {
	return strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://")
}

// Open opens the store in the database with the given URL, which has the form that
// libpq accepts, and applies the migrations that the database lacks. Its errors
// contain no password.
func Open(ctx context.Context, dsn string) (*Store, error) {
	config, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	return openConfig(ctx, config)
}

func openConfig(ctx context.Context, config *pgxpool.Config) (*Store, error) {
	found, schema := 0, 0
	s, err := connect(ctx, config, func(ctx context.Context, conn *pgx.Conn) error {
		before, now, err := migrate(ctx, conn)
		if err != nil {
			return err
		}
		if schema == 0 { // else another attempt has applied the migrations
			found = before
		}
		schema = now
		if err := checkPrivileges(ctx, conn); err != nil {
			return err
		}
		_, err = conn.Exec(ctx, sweepMarks, time.Now().Add(-markLife).UnixMicro(), maxSwept)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.found, s.schema = found, schema
	return s, nil
}

// connect returns a Store after prepare has returned nil. It retries for up to startTime
// while the server is starting or becoming the primary.
func connect(
	ctx context.Context, config *pgxpool.Config, prepare func(context.Context, *pgx.Conn) error,
) (*Store, error) {
	servers := newServers(config)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, errNotDSN
	}
	s := &Store{pool: pool, servers: servers, durations: store.NewDurations(), slow: map[int64]int{}}
	s.Writer = store.Writer{Apply: s.apply}
	s.Searcher = store.Searcher{InSnapshot: s.inSnapshot, Durations: s.durations}
	s.writes = groupcommit.New(maxGroup, func(calls []*groupcommit.Call[*pendingWrite]) { s.run(calls, lane{}) })
	s.slowWrites = groupcommit.New(maxGroup, func(calls []*groupcommit.Call[*pendingWrite]) {
		s.run(calls, lane{waits: true, grace: 3 * lockTime})
	})
	if servers != nil {
		servers.watch(pool.Reset)
	}
	limited, cancel := context.WithTimeout(ctx, max(startTime, config.ConnConfig.ConnectTimeout))
	defer cancel()
	began := time.Now()
	var cause error
	for attempts := 1; ; attempts++ {
		err := s.withConnection(limited, func(ctx context.Context, conn *pgx.Conn) (err error) {
			if err := prepare(ctx, conn); err != nil {
				return err
			}
			if s.sharded, err = isSharded(ctx, conn); err != nil || !s.sharded {
				return err
			}
			return checkWorkers(ctx, conn)
		})
		if err == nil {
			return s, nil
		}
		cause = laterCause(cause, err)
		if !transient(code(err)) || time.Since(began) > startTime || !pause(limited, attempts) {
			s.Close()
			return nil, fmt.Errorf("open PostgreSQL: %w", explain(cause, config.ConnConfig))
		}
	}
}

// Check returns an error if dsn is not the URL of a database. It does not connect.
func Check(dsn string) error {
	_, err := parse(dsn)
	return err
}

func parse(dsn string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, explainURL(dsn)
	}
	config.PingTimeout = pingTime
	config.AfterConnect = prepareSession
	c := config.ConnConfig
	c.OnNotice = noteWarning
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, connectTime)
	c.DialFunc = (&net.Dialer{
		Timeout: c.ConnectTimeout,
		// Detects within seconds that the other machine is gone.
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 2 * time.Second, Interval: time.Second, Count: 3},
	}).DialContext
	if c.ValidateConnect == nil {
		// The store needs a server that accepts writes, even if the URL says otherwise.
		c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	if _, ok := c.RuntimeParams["application_name"]; !ok {
		c.RuntimeParams["application_name"] = "plantstore"
	}
	return config, nil
}

// prepareSession sets parameters of a new connection.
//
// The planner must use the indexes, which every frequent query has.
// Otherwise it scans a table sequentially while it is small, and a prepared
// statement keeps that plan while the table grows: until the server analyzes the
// table, a minute later, each group of writes would read all plants. A query
// without an index then has such a high cost that PostgreSQL would spend a tenth
// of a second on JIT compilation, so that is off too.
//
// The server must end the transaction of a program that is gone, because its locks
// keep all others from writing: one that waits for the next statement by the timeout
// for idle transactions, one in the middle of a batch by keepalives of TCP.
//
// The workers of a sharded store must get the limits of locks, too.
//
// ConnectTimeout does not include this function, and a pool waits for it without a
// deadline: a server that stops responding here would cost the pool a connection.
func prepareSession(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, conn.Config().ConnectTimeout)
	defer cancel()
	_, err := conn.Exec(ctx, `SELECT set_config('enable_seqscan', 'off', false), set_config('jit', 'off', false),
		set_config('idle_in_transaction_session_timeout', '5s', false),
		set_config('tcp_keepalives_idle', '5', false), set_config('tcp_keepalives_interval', '2', false),
		set_config('tcp_keepalives_count', '3', false), set_config('citus.propagate_set_commands', 'local', false)`)
	if code(err) != "" {
		return nil // not PostgreSQL, but compatible with it
	}
	return err
}

// Schema implements [store.Store].
func (s *Store) Schema() (found, now int) { return s.found, s.schema }

// Close waits for calls in progress and closes the store. No method may be called
// after it.
func (s *Store) Close() error {
	s.writes.Close()
	s.slowWrites.Close()
	s.mutex.Lock()
	discarded := s.discarded
	s.mutex.Unlock()
	s.deleteMarks(discarded)
	s.pool.Close()
	if s.servers != nil {
		s.servers.close()
	}
	return nil
}

// Watch starts to log which of several servers is the primary, and which one does
// not respond. It must not be called more than once.
func (s *Store) Watch(log *slog.Logger) {
	if s.servers != nil {
		s.servers.log.Store(log)
	}
}
