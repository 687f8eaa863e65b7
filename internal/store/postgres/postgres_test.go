package postgres

import (
	"context"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/storetest"
	"github.com/plantstore/plantstore/internal/testing/wait"
	"github.com/plantstore/plantstore/internal/token"
)

func TestStore(t *testing.T) {
	storetest.Plants(t, func(t *testing.T) plant.Store { return open(t, pgtest.DSN(t)) })
	storetest.Tokens(t, func(t *testing.T) token.Store { return open(t, pgtest.DSN(t)) })
}

func TestPageHasWholeBatches(t *testing.T) {
	if parts := storetest.PartsOfBatches(t, open(t, pgtest.DSN(t))); parts > 0 {
		t.Errorf("%d pages had a part of a batch", parts)
	}
}

func TestUpdatedAt(t *testing.T) {
	s := open(t, pgtest.DSN(t))
	storetest.UpdatedAt(t, s, func(t *testing.T, by time.Duration) {
		_, err := s.pool.Exec(t.Context(), `UPDATE plants SET created_at = created_at + $1, updated_at = updated_at + $1`, by.Microseconds())
		must.NoError(t, err)
	})
}

// database is a connection, a pool or a transaction.
type database interface {
	Exec(ctx context.Context, statements string, args ...any) (pgconn.CommandTag, error)
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
}

// execute runs statements, also several if there are no arguments.
func execute(t testing.TB, db database, statements string, args ...any) {
	t.Helper()
	if _, err := db.Exec(t.Context(), statements, args...); err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
}

// value returns the only value of the row that a query returns.
func value[T any](t testing.TB, db database, query string, args ...any) (v T) {
	t.Helper()
	if err := db.QueryRow(t.Context(), query, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}

// wantRefused fails unless Open returns an error with a text.
func wantRefused(t *testing.T, dsn, want string) {
	t.Helper()
	s, err := Open(t.Context(), dsn)
	if err == nil {
		s.Close()
	}
	expect.Message(t, "Open", err, want)
}

func open(t testing.TB, dsn string) *Store {
	t.Helper()
	store, err := Open(t.Context(), dsn)
	must.NoError(t, err)
	t.Cleanup(func() {
		closed := make(chan error, 1)
		go func() { closed <- store.Close() }()
		expect.NoError(t, wait.For(t, "the store to close", closed))
	})
	return store
}

func TestMembers(t *testing.T) { storetest.Members(t, open(t, pgtest.DSN(t))) }

// The statements of a sharded store work without Citus, too, so that a column that they lack is
// found by every run of the tests.
func TestMembersOfShardedStore(t *testing.T) {
	s := open(t, pgtest.DSN(t))
	s.sharded = true
	storetest.Members(t, s)
}

func TestProbes(t *testing.T) {
	s := open(t, pgtest.DSN(t))
	storetest.Probes(t, s, s.failure.Note)
}

func TestDurations(t *testing.T) { storetest.Durations(t, open(t, pgtest.DSN(t))) }

// Two stores on one database keep the promises of one.
func TestStoreOnTwoServers(t *testing.T) {
	storetest.Plants(t, func(t *testing.T) plant.Store { return openPair(t, pgtest.DSN(t)) })
	storetest.Tokens(t, func(t *testing.T) token.Store { return openPair(t, pgtest.DSN(t)) })
	openTwo := func(t *testing.T) (one, two store.Store) {
		dsn := pgtest.DSN(t)
		return open(t, dsn), open(t, dsn)
	}
	storetest.Changes(t, openTwo)
	storetest.History(t, openTwo)
}

// Stores that are opened at the same time create the schema once.
func TestConcurrentOpen(t *testing.T) {
	dsn := pgtest.DSN(t)
	storetest.MigrateAtOnce(t, 8, len(schema), func() (store.Store, error) { return Open(t.Context(), dsn) })
	must.NoError(t, open(t, dsn).Create(t.Context(), plant.Plant{ID: 1}))
}

func TestOpenRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		option string
		want   string
	}{
		"a schema newer than the program": {
			script: `CREATE TABLE plantstore_schema (id INT PRIMARY KEY, version INT NOT NULL); INSERT INTO plantstore_schema (id, version) VALUES (1, 1000)`,
			want:   "use a newer plantstore",
		},
		"a database of another program": {script: `CREATE TABLE plants (x INT)`, want: "give plantstore a database of its own"},
		"a read-only server":            {option: "-cdefault_transaction_read_only=on", want: "no PostgreSQL server that accepts writes responds at"},
	} {
		t.Run(name, func(t *testing.T) {
			dsn := pgtest.DSN(t)
			conn := pgtest.Connect(t, dsn)
			execute(t, conn, c.script)
			if c.option != "" {
				dsn += "&options=" + url.QueryEscape(c.option)
			}
			wantRefused(t, dsn, c.want)
		})
	}
}

// No error of Open contains the password in the URL.
func TestOpenKeepsPasswords(t *testing.T) {
	for _, dsn := range []string{
		"postgres://flora:s3cret@127.0.0.1:1/plants",
		"postgres://flora:s3cret@127.0.0.1:one/plants",
		"postgres://flora:s3cret/plants",
		"postgres://flora:s3c%ret@127.0.0.1/plants",
		"postgres://flora:s3cret@127.0.0.1/plants?sslmode=s3cret",
		"postgres://127.0.0.1:1/plants?user=flora&password=s3cret",
	} {
		store, err := Open(t.Context(), dsn)
		if err == nil {
			store.Close()
			t.Fatalf("Open(%q) = nil, want an error", dsn)
		}
		if strings.Contains(err.Error(), "s3c") {
			t.Errorf("Open = %q", err)
		}
	}
}

// pair is two stores on one database. Writes alternate between them; the first one reads.
type pair struct {
	store.Writer
	*Store
	other *Store
	turn  atomic.Int64
}

func openPair(t testing.TB, dsn string) *pair {
	t.Helper()
	p := &pair{Store: open(t, dsn), other: open(t, dsn)}
	p.Writer.Apply = func(ctx context.Context, c store.Change) error { return p.next().Apply(ctx, c) }
	return p
}

func (p *pair) next() *Store { return []*Store{p.Store, p.other}[p.turn.Add(1)%2] }

func (p *pair) UpdateToken(ctx context.Context, id string, change func(*token.Token) error) error {
	return p.next().UpdateToken(ctx, id, change)
}
