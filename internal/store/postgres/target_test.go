package postgres

import (
	"context"
	"testing"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/storetest"
)

// While another program holds a lock, such as pg_dump, a target is refused.
func TestTargetIsLocked(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	s := open(t, dsn)
	conn := pgtest.Connect(t, dsn)
	execute(t, conn, `BEGIN; LOCK TABLE marks IN ACCESS SHARE MODE`)
	target, err := OpenTarget(t.Context(), dsn, nil)
	if err == nil {
		target.Close()
	}
	const want = "another program has locked tables in database"
	expect.Message(t, "OpenTarget", err, want)
	expect.Error(t, "Create after the target was refused", s.Create(t.Context(), plant.Plant{ID: 1}), nil)
}

func TestCopyTarget(t *testing.T) {
	t.Parallel()
	place := func(t *testing.T) storetest.Place { return placeOf(pgtest.DSN(t)) }
	storetest.Copy(t, place)
	storetest.CopyOfFeed(t, place)
}

func placeOf(dsn string) storetest.Place {
	return storetest.Place{
		Open:   func(ctx context.Context) (store.Store, error) { return Open(ctx, dsn) },
		Target: func(ctx context.Context, source []int64) (store.Target, error) { return OpenTarget(ctx, dsn, source) },
	}
}
