package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/metricstest"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/storetest"
	"github.com/plantstore/plantstore/internal/token"
)

func TestReady(t *testing.T) {
	p := newProxy(t, pgtest.DSN(t))
	s := open(t, p.dsn)
	ready := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		return s.Ready(ctx)
	}
	if err := ready(); err != nil {
		t.Fatalf("Ready = %v", err)
	}
	onIts := func(statement string) { // on the connection of the store
		t.Helper()
		must.NoError(t, s.withConnection(t.Context(), func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, statement)
			return err
		}))
	}

	p.stop()
	if err := ready(); err == nil {
		t.Error("Ready = nil while the server is stopped")
	}
	p.start()
	expect.Error(t, "Ready after the server is started again", ready(), nil)

	// A connection to a server that became a standby, and then one to the primary.
	onIts(`SET default_transaction_read_only = on`)
	expect.Message(t, "Ready with a read-only server", ready(), "read only")
	expect.Error(t, "Ready with a new connection", ready(), nil)

	onIts(`UPDATE plantstore_schema SET version = 0`)
	expect.Message(t, "Ready with an old schema", ready(), "schema 0 of the database is older than this program")
	onIts(`UPDATE plantstore_schema SET version = 99`) // a rolling upgrade
	expect.Error(t, "Ready with a newer schema", ready(), nil)
	onIts(`DROP TABLE plantstore_schema`)
	if err := ready(); err == nil {
		t.Error("Ready = nil without tables")
	}
}

// The signals and the responses say the same when a table cannot be used: Ready fails if a read
// does, Writable if a read or a write does, and then these calls are 503.
func TestSignalsAgree(t *testing.T) {
	all := append([]string{"plantstore_schema"}, tables...)
	t.Run("a privilege is revoked", func(t *testing.T) {
		r := newRoles(t)
		r.run(t, r.statements[0])
		open(t, r.owner)
		s, admin := open(t, r.user), pgtest.Connect(t, r.dsn)
		for _, table := range all {
			for _, privilege := range []string{"SELECT", "INSERT", "UPDATE", "DELETE"} {
				on := privilege + " ON " + table
				signalsAgree(t, s, admin, "REVOKE "+on+" FROM "+r.name, "GRANT "+on+" TO "+r.name)
			}
		}
	})
	t.Run("a row is deleted", func(t *testing.T) {
		dsn := pgtest.DSN(t)
		s, admin := open(t, dsn), pgtest.Connect(t, dsn)
		for _, table := range []string{"feed", "epochs"} {
			signalsAgree(t, s, admin, "CREATE TABLE kept AS TABLE "+table+"; DELETE FROM "+table,
				"INSERT INTO "+table+" TABLE kept ON CONFLICT DO NOTHING; DROP TABLE kept")
		}
	})
	t.Run("a table is renamed", func(t *testing.T) {
		dsn := pgtest.DSN(t)
		s, admin := open(t, dsn), pgtest.Connect(t, dsn)
		for _, table := range all {
			signalsAgree(t, s, admin, "ALTER TABLE "+table+" RENAME TO other", "ALTER TABLE other RENAME TO "+table)
		}
	})
	t.Run("a table is locked", func(t *testing.T) {
		var cases sync.WaitGroup
		for _, table := range all {
			for _, mode := range []string{"ACCESS EXCLUSIVE", "EXCLUSIVE"} {
				dsn := pgtest.DSN(t)
				s, admin := open(t, dsn+"&pool_max_conns=16"), pgtest.Connect(t, dsn)
				cases.Go(func() { signalsAgree(t, s, admin, "BEGIN; LOCK TABLE "+table+" IN "+mode+" MODE", "ROLLBACK") })
			}
		}
		cases.Wait()
	})
}

// A row of the feed of changes that was deleted makes the store not ready. The next start restores
// it, and begins an epoch. A position is valid afterwards unless the epochs are gone.
func TestDeletedRowsOfFeed(t *testing.T) {
	for statement, keepsPositions := range map[string]bool{
		`DELETE FROM feed`:                     true,
		`DELETE FROM epochs`:                   false,
		`DELETE FROM feed; DELETE FROM epochs`: false,
		`TRUNCATE feed, epochs, changes`:       false,
	} {
		for _, forgotten := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, forgotten %v", statement, forgotten), func(t *testing.T) {
				dsn := pgtest.DSN(t)
				s := open(t, dsn)
				must.NoError(t, s.BeginEpoch(t.Context()))
				put := func(s *Store, from, to int64) {
					t.Helper()
					for id := from; id < to; id++ {
						must.NoError(t, s.Create(t.Context(), plant.Plant{ID: id, Name: "n"}))
					}
				}
				put(s, 0, 5)
				old := &storetest.Follower{Store: s, Limit: 100}
				old.Drain(t)
				put(s, 5, 10)
				f := &storetest.Follower{Store: s, Limit: 100}
				f.Drain(t)
				if forgotten {
					must.NoError(t, s.ForgetChanges(t.Context(), time.Now().Add(time.Minute)))
				}
				epoch := f.Position.Epoch
				execute(t, pgtest.Connect(t, dsn), statement)
				expect.Message(t, "Ready", s.Ready(t.Context()), "restart plantstore, which restores it")
				_, _, err := s.Changes(t.Context(), nil, 1)
				expect.Error(t, "Changes", err, plant.ErrUnavailable)
				put(s, 10, 12) // as a server that goes on does

				restarted := open(t, dsn)
				must.NoError(t, restarted.BeginEpoch(t.Context()))
				expect.Error(t, "Ready after the start", restarted.Ready(t.Context()), nil)
				expect.Error(t, "Ready of the other server", s.Ready(t.Context()), nil)
				put(restarted, 12, 15)
				for _, f := range []*storetest.Follower{old, f} {
					f.Store = restarted
					f.Drain(t)
					f.WantCopy(t)
				}
				if restarts, valid := f.Restarts, keepsPositions; (restarts == 0) != valid {
					t.Errorf("the follower has begun again %d times, and its position is valid: %v", restarts, valid)
				}
				if (old.Restarts > 0) != (forgotten || !keepsPositions) {
					t.Errorf("the old follower has begun again %d times", old.Restarts)
				}
				if f.Position.Epoch == epoch {
					t.Errorf("after the start the epoch is still %d", epoch)
				}
			})
		}
	}
}

// signalsAgree fails the test if the signals and the calls of requests differ between two statements of
// an operator, the second of which ends what the first one has begun.
func signalsAgree(t *testing.T, s *Store, operator *pgx.Conn, begin, end string) {
	limited := func(call func(ctx context.Context) error) error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // of a load balancer, for instance
		defer cancel()
		return call(ctx)
	}
	anything := plant.Precondition{}
	reads := map[string]func(ctx context.Context) error{
		"Get":   func(ctx context.Context) error { _, err := s.Get(ctx, 1); return err },
		"List":  func(ctx context.Context) error { _, _, err := s.List(ctx, plant.Page{Limit: 1}); return err },
		"Count": func(ctx context.Context) error { _, _, err := s.Count(ctx, plant.Page{Limit: 1}); return err },
		"List by name": func(ctx context.Context) error {
			_, _, err := s.List(ctx, plant.Page{Limit: 1, ByName: &plant.ByName{}})
			return err
		},
		"Tags":    func(ctx context.Context) error { _, _, err := s.Tags(ctx, plant.TagPage{Limit: 1}); return err },
		"Changes": func(ctx context.Context) error { _, _, err := s.Changes(ctx, nil, 1); return err },
		"History": func(ctx context.Context) error {
			_, _, err := s.History(ctx, 1, plant.HistoryPage{Limit: 1})
			return err
		},
		"Token": func(ctx context.Context) error {
			_, err := s.Token(ctx, "unknown")
			if errors.Is(err, token.ErrNotFound) {
				return nil
			}
			return err
		},
	}
	writes := map[string]func(ctx context.Context) error{
		"Create": func(ctx context.Context) error { return s.Create(ctx, plant.Plant{ID: 2}) },
		"CreateAll": func(ctx context.Context) error {
			_, err := s.CreateAll(ctx, []plant.Plant{{ID: 3}, {ID: 4}})
			return err
		},
		"Put": func(ctx context.Context) error { _, _, err := s.Put(ctx, plant.Plant{ID: 1}, anything); return err },
		"Patch": func(ctx context.Context) error {
			_, err := s.Patch(ctx, 5, plant.Patch{SetTag: true}, anything)
			return err
		},
		"Delete": func(ctx context.Context) error { return s.Delete(ctx, 6, "", anything) },
	}
	do := func(statement string) {
		_, err := operator.Exec(t.Context(), statement)
		expect.Error(t, statement, err, nil)
	}
	failing := func(calls map[string]func(ctx context.Context) error) (failed []string) {
		var running sync.WaitGroup
		var mu sync.Mutex
		for name, call := range calls {
			running.Go(func() {
				err := limited(call)
				if err == nil {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, name)
				if !errors.Is(err, plant.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: %s = %v, want %v", begin, name, err, plant.ErrUnavailable)
				}
			})
		}
		running.Wait()
		return failed
	}
	for id := range int64(7) { // so that each write changes something
		_, _, err := s.Put(t.Context(), plant.Plant{ID: id, Name: begin, Tag: new("")}, anything)
		expect.NoError(t, err)
		if 2 <= id && id <= 4 {
			expect.NoError(t, s.Delete(t.Context(), id, "", anything))
		}
	}
	expect.NoError(t, s.BeginEpoch(t.Context()))
	do(begin)
	s.confirmed.Store(nil) // another server has changed a plant, so Changes confirms the last position
	ready, writable := limited(s.Ready), limited(s.Writable)
	failedReads, failedWrites := failing(reads), failing(writes)
	writableLater := limited(s.Writable)
	do(end)
	if (ready == nil) != (len(failedReads) == 0) {
		t.Errorf("%s: Ready = %v, and the reads that fail are %v", begin, ready, failedReads)
	}
	for _, err := range []error{cmp.Or(ready, writable), cmp.Or(ready, writableLater)} {
		if (err == nil) != (len(failedReads)+len(failedWrites) == 0) {
			t.Errorf("%s: Writable = %v, and the calls that fail are %v and %v", begin, err, failedReads, failedWrites)
		}
	}
	expect.Error(t, "after "+begin, errors.Join(s.Writable(t.Context()), s.Ready(t.Context())), nil)
}

func TestMetrics(t *testing.T) {
	s := open(t, pgtest.DSN(t))
	must.NoError(t, s.Create(t.Context(), plant.Plant{ID: 1}))
	got := metricstest.Of(t, s.Metrics())
	connections := 0.0
	for _, state := range []string{"acquired", "idle", "constructing"} {
		connections += got[`plantstore_pgx_pool_connections{state="`+state+`"}`]
	}
	if got["plantstore_store_group_size_count"] != 1 || connections < 1 ||
		got["plantstore_pgx_pool_connections_max"] < connections || got["plantstore_pgx_pool_acquires_total"] < 1 {
		t.Errorf("after a create the metrics are %v", got)
	}
	if _, ok := got["plantstore_pgx_pool_wait_seconds_total"]; !ok {
		t.Error("plantstore_pgx_pool_wait_seconds_total is missing")
	}
}

// After a write that has failed, Writable needs space on the disk, and says why writes fail.
func TestWritableOnAFullDisk(t *testing.T) {
	dsn := pgtest.DSN(t)
	s := open(t, dsn)
	other := pgtest.Connect(t, dsn)
	soon := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		t.Cleanup(cancel)
		return ctx
	}
	must.NoError(t, s.Create(t.Context(), plant.Plant{ID: 1, Name: "n"}))
	if err := s.Create(t.Context(), plant.Plant{ID: 1, Name: "other"}); !errors.Is(err, plant.ErrExists) {
		t.Fatal(err)
	}
	expect.Error(t, "after an ID that is taken Writable", s.Writable(t.Context()), nil)
	execute(t, other, `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'full' USING ERRCODE = 'disk_full'; END $$;
		CREATE TRIGGER full_disk BEFORE INSERT ON plants EXECUTE FUNCTION full_disk()`)
	if err := s.Create(soon(), plant.Plant{ID: 2, Name: "n"}); !errors.Is(err, plant.ErrUnavailable) {
		t.Fatalf("Create on a full disk = %v, want %v", err, plant.ErrUnavailable)
	}
	for range 2 {
		if err := s.Writable(t.Context()); !errors.Is(err, plant.ErrUnavailable) || !errors.Is(err, plant.ErrDiskFull) {
			t.Errorf("Writable = %v, want %v", err, plant.ErrDiskFull)
		}
	}
	execute(t, other, `DROP TRIGGER full_disk ON plants`)
	for range 2 {
		expect.Error(t, "after the fault Writable", s.Writable(t.Context()), nil)
	}
}

// A write whose last attempt runs into its deadline has the error of the attempt before.
func TestDeadlineKeepsCause(t *testing.T) {
	dsn := pgtest.DSN(t)
	s := open(t, dsn)
	execute(t, pgtest.Connect(t, dsn), `CREATE SEQUENCE attempts;
		CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF nextval('attempts') = 1 THEN RAISE EXCEPTION 'full' USING ERRCODE = 'disk_full'; END IF;
			PERFORM pg_sleep(60);
			RETURN NEW;
		END $$;
		CREATE TRIGGER full_disk BEFORE INSERT ON plants EXECUTE FUNCTION full_disk()`)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	expect.Error(t, "Create", s.Create(ctx, plant.Plant{ID: 1, Name: "n"}), plant.ErrDiskFull)
}
