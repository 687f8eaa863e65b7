package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/metricstest"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
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
		must.NoError(t, s.on(t.Context(), func(ctx context.Context, conn *pgx.Conn) error {
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

// While writes fail, a trial fails, too, and WriteFailure says why.
func TestWriteFailure(t *testing.T) {
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
	expect.Error(t, "after an ID that is taken WriteFailure", s.WriteFailure(), nil)
	execute(t, other, `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'full' USING ERRCODE = 'disk_full'; END $$;
		CREATE TRIGGER full_disk BEFORE INSERT ON plants EXECUTE FUNCTION full_disk()`)
	if err := s.Create(soon(), plant.Plant{ID: 2, Name: "n"}); !errors.Is(err, plant.ErrUnavailable) {
		t.Fatalf("Create on a full disk = %v, want %v", err, plant.ErrUnavailable)
	}
	for range 2 {
		if err := s.WriteFailure(); !errors.Is(err, plant.ErrUnavailable) || !errors.Is(err, plant.ErrDiskFull) {
			t.Errorf("WriteFailure = %v, want %v", err, plant.ErrDiskFull)
		}
		expect.Error(t, "TryWrite", s.TryWrite(soon()), plant.ErrUnavailable)
	}
	execute(t, other, `DROP TRIGGER full_disk ON plants`)
	expect.Error(t, "after the fault TryWrite", s.TryWrite(t.Context()), nil)
	expect.Error(t, "after the fault WriteFailure", s.WriteFailure(), nil)
}
