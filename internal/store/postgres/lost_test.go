package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/metricstest"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/wait"
	"github.com/plantstore/plantstore/internal/token"
)

// newToken is a token with everything that the columns require.
var newToken = token.Token{ID: "new", SecretHash: [32]byte{1}, CreatedAt: time.Now()}

// If the connection is lost during the commit of a write, the write succeeds
// exactly once, whether or not the server received the commit, and even if another
// client changes the plant in between.
func TestLostConnection(t *testing.T) {
	lostConnection(t, func(t *testing.T) string { return pgtest.DSN(t) })
}

// lostConnection is TestLostConnection in databases whose URLs newDSN returns.
func lostConnection(t *testing.T, newDSN func(t *testing.T) string) {
	// What a server says before it closes a connection (pg_terminate_backend, a shutdown, a
	// crash of another session). It does not tell whether a commit in progress succeeded.
	fatal, err := (&pgproto3.ErrorResponse{
		Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: "57P01",
		Message: "terminating connection due to administrator command",
	}).Encode(nil)
	must.NoError(t, err)
	base := plant.Plant{ID: 1, Name: "base"}
	p := plant.Plant{ID: 2, Name: "n", Tag: new("t")}
	ctx := t.Context()
	isCreated := func(s *Store) bool { got, _ := s.Get(ctx, 2); return got.Same(p) }
	for name, c := range map[string]struct {
		write   func(s *Store, etag string) error
		carried func(s *Store) bool
	}{
		"create": {func(s *Store, _ string) error { return s.Create(ctx, p) }, isCreated},
		"batch": {func(s *Store, _ string) error {
			created, err := s.CreateAll(ctx, []plant.Plant{p})
			if err == nil && created != 1 {
				return fmt.Errorf("CreateAll = %d, want 1", created)
			}
			return err
		}, isCreated},
		"put": {func(s *Store, _ string) error {
			_, created, err := s.Put(ctx, p, plant.Precondition{IfNoneMatch: &plant.ETags{Any: true}})
			if err == nil && !created {
				return errors.New("put = created false, want true")
			}
			return err
		}, isCreated},
		"patch": {func(s *Store, etag string) error {
			_, err := s.Patch(ctx, 1, plant.Patch{Name: new("changed")}, plant.Precondition{IfMatch: &plant.ETags{List: []string{etag}}})
			return err
		}, func(s *Store) bool { got, _ := s.Get(ctx, 1); return got.Name == "changed" }},
		"delete": {
			func(s *Store, _ string) error { return s.Delete(ctx, 1, "", plant.Precondition{}) },
			func(s *Store) bool { _, err := s.Get(ctx, 1); return errors.Is(err, plant.ErrNotFound) },
		},
		"new token": {
			func(s *Store, _ string) error { return s.CreateToken(ctx, newToken) },
			func(s *Store) bool { _, err := s.Token(ctx, "new"); return err == nil },
		},
	} {
		for _, lost := range []struct {
			name      string
			responded bool
			says      []byte
		}{
			{"committed", true, nil},
			{"committed, and the server says FATAL", true, fatal},
			{"not committed", false, nil},
			{"not committed, and the server says FATAL", false, fatal},
		} {
			t.Run(name+", "+lost.name, func(t *testing.T) {
				dsn := newDSN(t)
				other := open(t, dsn)
				must.NoError(t, other.Create(t.Context(), base))
				before, err := other.Get(t.Context(), 1)
				must.NoError(t, err)
				proxy := newProxy(t, dsn)
				store := open(t, proxy.dsn)
				_, err = store.Get(t.Context(), 1) // there is a connection
				must.NoError(t, err)
				proxy.cutCommit(lost.responded, lost.says, func() {})
				expect.Error(t, "the write", c.write(store, before.ETag), nil)
				if !c.carried(other) {
					t.Error("the write was acknowledged and is not stored")
				}
				want := 2 // rows in the feed of changes: of the base plant and of the write
				if name == "new token" {
					want = 1
				}
				if rows := value[int](t, other.pool, `SELECT count(*) FROM changes`); rows != want && !other.sharded {
					t.Errorf("%d transactions have changed plants, want %d", rows, want)
				}
				if cuts := proxy.count(); cuts != 1 {
					t.Errorf("the connection was cut %d times, want once", cuts)
				}
			})
		}
	}

	for name, changeIt := range map[string]func(ctx context.Context, other *Store) error{
		"deletes": func(ctx context.Context, other *Store) error { return other.Delete(ctx, 2, "", plant.Precondition{}) },
		"changes": func(ctx context.Context, other *Store) error {
			_, err := other.Patch(ctx, 2, plant.Patch{Name: new("another")}, plant.Precondition{})
			return err
		},
	} {
		t.Run("another client "+name+" the plant before the create returns", func(t *testing.T) {
			dsn := newDSN(t)
			other := open(t, dsn)
			proxy := newProxy(t, dsn)
			store := open(t, proxy.dsn)
			var after plant.Plant
			var afterErr error
			changed := make(chan struct{})
			proxy.cutCommit(true, nil, func() {
				expect.NoError(t, changeIt(context.Background(), other))
				after, afterErr = other.Get(context.Background(), 2)
				close(changed)
			})
			expect.Error(t, "Create", store.Create(t.Context(), p), nil)
			wait.For(t, "the cut of the connection at the commit of the create", changed)
			got, err := other.Get(t.Context(), 2)
			if got.ETag != after.ETag || !errors.Is(err, afterErr) {
				t.Errorf("the plant was created twice: Get = %+v, %v, want %+v, %v", got, err, after, afterErr)
			}
		})
	}
}

// While a transaction may still be committed, settle waits; a transaction that it
// reports as not committed never is.
func TestCommitOfUnknownOutcome(t *testing.T) {
	dsn := pgtest.DSN(t)
	store := open(t, dsn)
	conn := pgtest.Connect(t, dsn)
	for _, end := range []string{"COMMIT", "ROLLBACK"} {
		id := time.Now().UnixNano()
		execute(t, conn, "BEGIN")
		execute(t, conn, insertMark, id, id/1000, true)
		settled := make(chan bool, 1)
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), callTime)
			defer cancel()
			done, err := store.settle(ctx, id)
			expect.NoError(t, err)
			settled <- done
		}()
		waitUntilBlocked(t, conn) // so settle has not returned yet
		execute(t, conn, end)
		if done := wait.For(t, "settle to return after "+end, settled); done != (end == "COMMIT") {
			t.Errorf("after %s settle = done %v", end, done)
		}
		if done, err := store.settle(t.Context(), id); err != nil || done != (end == "COMMIT") {
			t.Errorf("after %s a second settle = done %v, %v", end, done, err)
		}
		if _, err := conn.Exec(t.Context(), insertMark, id, id/1000, true); code(err) != uniqueViolation {
			t.Errorf("after settle the transaction can insert its mark: %v", err)
		}
	}
}

// waitUntilBlocked waits until another session waits for a lock of conn.
func waitUntilBlocked(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	wait.Until(t, "another session waits for a lock of this one", func() bool {
		var blocked bool
		const query = `SELECT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid)))`
		must.NoError(t, conn.QueryRow(t.Context(), query).Scan(&blocked))
		return blocked
	})
}

// A write returns at its deadline, even if other writes of its transaction are
// retried for longer.
func TestDeadlineOfAWrite(t *testing.T) {
	proxy := newProxy(t, pgtest.DSN(t))
	store := open(t, proxy.dsn)
	proxy.stop()
	create := func(id int64, limit time.Duration) <-chan error {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		t.Cleanup(cancel)
		done := make(chan error, 1)
		go func() { done <- store.Create(ctx, plant.Plant{ID: id}) }()
		return done
	}
	groups := func() float64 { return metricstest.Of(t, store.writes.Metrics())["plantstore_store_group_size_count"] }
	first := create(1, 2*time.Second) // the others are queued meanwhile
	wait.Until(t, "the first write runs", func() bool { return groups() == 1 })
	short, long := create(2, 4*time.Second), create(3, callTime)
	expect.Error(t, "the first write", wait.For(t, "the end of the first write", first), plant.ErrUnavailable)
	wait.Until(t, "the others run", func() bool { return groups() == 2 })
	err := wait.For(t, "the end of the write with a short deadline", short)
	if !errors.Is(err, plant.ErrUnavailable) || !strings.Contains(err.Error(), "connect") {
		t.Errorf("the write with a short deadline = %v, want %v and why", err, plant.ErrUnavailable)
	}
	select {
	case err := <-long:
		t.Errorf("the write with a long deadline = %v at the end of the short one", err)
	default:
	}
	proxy.start()
	expect.Error(t, "the write with a long deadline", wait.For(t, "the end of that write", long), nil)
	_, err = store.Get(t.Context(), 2)
	expect.Error(t, "a read of the plant with a short deadline", err, plant.ErrNotFound)
}

// A transaction of creates takes one round trip, however many they are. One that reads
// first takes two, after the one that finds a plant stored.
func TestRoundTrips(t *testing.T) {
	proxy := newProxy(t, pgtest.DSN(t))
	s := open(t, proxy.dsn)
	must.NoError(t, s.Create(t.Context(), plant.Plant{ID: 0})) // there is a connection
	for name, c := range map[string]struct {
		send func(w store.Writer)
		want int
	}{
		"creates": {func(w store.Writer) {
			for i := range 100 {
				_ = w.Create(t.Context(), plant.Plant{ID: int64(i/2 + 1), Name: fmt.Sprint(i % 3)})
			}
		}, 1},
		"a batch": {func(w store.Writer) {
			_, _ = w.CreateAll(t.Context(), []plant.Plant{{ID: 1001}, {ID: 1002}})
		}, 1},
		"a put": {func(w store.Writer) {
			_, _, _ = w.Put(t.Context(), plant.Plant{ID: 0, Name: "new"}, plant.Precondition{})
		}, 2},
		"a create of a taken id": {func(w store.Writer) {
			_ = w.Create(t.Context(), plant.Plant{ID: 0, Name: "another"})
		}, 3},
	} {
		before := proxy.roundTrips()
		s.runAll(writesOf(c.send), &lane{})
		if n := proxy.roundTrips() - before; n != c.want {
			t.Errorf("%s took %d round trips, want %d", name, n, c.want)
		}
	}
}

// If a host accepts a connection and sends nothing, the next host is tried after
// connectTime.
func TestHostThatDoesNotRespond(t *testing.T) {
	dsn := pgtest.DSN(t)
	proxy := newProxy(t, dsn)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	must.NoError(t, err)
	defer silent.Close()
	store := open(t, strings.Replace(proxy.dsn, proxy.address, silent.Addr().String()+","+proxy.address, 1))
	expect.NoError(t, store.Create(t.Context(), plant.Plant{ID: 1}))
}

// A server that stops responding while connections are prepared does not take their
// places in the pool for ever.
func TestFrozenServerCostsNoConnection(t *testing.T) {
	proxy := newProxy(t, pgtest.DSN(t)) // two connections
	s := open(t, proxy.dsn)
	proxy.swallow("enable_seqscan")
	s.pool.Reset() // as after a lost connection
	var reads sync.WaitGroup
	for range 2 {
		reads.Go(func() {
			_, err := s.Get(t.Context(), 1)
			expect.Error(t, "while the server is frozen Get", err, plant.ErrUnavailable)
		})
	}
	reads.Wait()
	proxy.swallow("")
	_, err := s.Get(t.Context(), 1)
	expect.Error(t, "afterwards Get", err, plant.ErrNotFound)
}
