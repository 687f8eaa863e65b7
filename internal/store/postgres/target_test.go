package postgres

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/storetest"
)

func TestCopyTarget(t *testing.T) {
	t.Parallel()
	place := func(t *testing.T) storetest.Place { return placeOf(pgtest.DSN(t)) }
	storetest.Copy(t, place)
	storetest.CopyOfFeed(t, place)
}

func placeOf(dsn string) storetest.Place {
	return storetest.Place{
		Open:   func(ctx context.Context) (store.Store, error) { return Open(ctx, dsn) },
		Target: func(ctx context.Context) (store.Target, error) { return OpenTarget(ctx, dsn) },
	}
}

// While another program holds a lock, such as another copy, a target is refused.
func TestTargetIsLocked(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	s := open(t, dsn)
	conn := pgtest.Connect(t, dsn)
	execute(t, conn, `BEGIN; LOCK TABLE tokens IN SHARE ROW EXCLUSIVE MODE`)
	try := func() error {
		target, err := OpenTarget(t.Context(), dsn)
		if err == nil {
			err = target.Close()
		}
		return err
	}
	expect.Message(t, "OpenTarget", try(), "another program has locked tables in database")
	expect.Error(t, "Create after the target was refused", s.Create(t.Context(), plant.Plant{ID: 1}), nil)
	execute(t, conn, `ROLLBACK`)
	expect.Error(t, "OpenTarget of a store with a plant", try(), store.ErrNotEmpty)
}

// A step of a copy whose connection is lost says so.
func TestCopyLosesConnection(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	admin := pgtest.Connect(t, dsn)
	lose := func(conn *pgx.Conn) {
		execute(t, admin, fmt.Sprintf(`SELECT pg_terminate_backend(%d)`, conn.PgConn().PID()))
	}
	const lost = "the connection to PostgreSQL is lost: "
	expect.Message(t, "Snapshot", open(t, dsn).Snapshot(t.Context(), func(held store.Snapshot) error {
		lose(held.(snapshot).conn)
		_, _, err := held.List(t.Context(), plant.Page{Limit: 1})
		return err
	}), lost)
	to, err := OpenTarget(t.Context(), dsn)
	must.NoError(t, err)
	defer to.Close()
	lose(to.conn)
	row := store.PlantRow{Plant: plant.Plant{ID: 1, CreatedAt: time.UnixMicro(1), UpdatedAt: time.UnixMicro(2)}, Version: 3}
	expect.Message(t, "AddPlants", to.AddPlants(t.Context(), []plant.Plant{row.Stored()}), lost)
}

// Servers that run on the target find it empty until the copy is complete. Their writes fail
// meanwhile, and no position of before is valid afterwards.
func TestTargetOfARunningServer(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	s := open(t, dsn)
	follower := &storetest.Follower{Store: s, Limit: 10}
	follower.Drain(t)
	target, err := OpenTarget(t.Context(), dsn)
	must.NoError(t, err)
	defer target.Close()
	must.NoError(t, s.BeginEpoch(t.Context())) // a server that starts
	_, walked, err := s.Changes(t.Context(), nil, 10)
	must.NoError(t, err)
	row := store.PlantRow{Plant: plant.Plant{ID: 1, Name: "copied", CreatedAt: time.UnixMicro(1), UpdatedAt: time.UnixMicro(2)}, Version: 3}
	must.NoError(t, target.AddPlants(t.Context(), []plant.Plant{row.Stored()}))

	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	expect.Error(t, "Create while a copy runs", s.Create(short, plant.Plant{ID: 2}), plant.ErrUnavailable)
	_, err = s.Get(t.Context(), 1)
	expect.Error(t, "Get while a copy runs", err, plant.ErrNotFound)
	expect.NoError(t, s.Ready(t.Context()))

	must.NoError(t, target.Publish(t.Context()))
	if p, err := s.Get(t.Context(), 1); err != nil || p.Name != "copied" {
		t.Errorf("Get after the copy = %+v, %v", p, err)
	}
	must.NoError(t, s.Create(t.Context(), plant.Plant{ID: 2}))
	for name, position := range map[string]plant.Position{"before": *follower.Position, "meanwhile": walked} {
		_, _, err := s.Changes(t.Context(), &position, 10)
		expect.Error(t, "Changes after a position of "+name, err, plant.ErrPosition)
	}
	follower.Drain(t)
	follower.WantCopy(t)
}
