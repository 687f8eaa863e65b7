package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
)

// While writes fail, a trial fails, too, and WriteFailure says why.
func TestWriteFailure(t *testing.T) {
	dsn := pgtest.DSN(t)
	s := open(t, dsn)
	other := pgtest.Connect(t, dsn)
	execute := func(statement string) {
		t.Helper()
		if _, err := other.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	soon := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		t.Cleanup(cancel)
		return ctx
	}
	if err := s.Create(t.Context(), plant.Plant{ID: 1, Name: "n"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Create(t.Context(), plant.Plant{ID: 1, Name: "other"}); !errors.Is(err, plant.ErrExists) {
		t.Fatal(err)
	}
	if err := s.WriteFailure(); err != nil {
		t.Errorf("after an ID that is taken WriteFailure = %v, want nil", err)
	}
	execute(`CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'full' USING ERRCODE = 'disk_full'; END $$;
		CREATE TRIGGER full_disk BEFORE INSERT ON plants EXECUTE FUNCTION full_disk()`)
	if err := s.Create(soon(), plant.Plant{ID: 2, Name: "n"}); !errors.Is(err, plant.ErrUnavailable) {
		t.Fatalf("Create on a full disk = %v, want %v", err, plant.ErrUnavailable)
	}
	for range 2 {
		if err := s.WriteFailure(); !errors.Is(err, plant.ErrUnavailable) || !errors.Is(err, plant.ErrDiskFull) {
			t.Errorf("WriteFailure = %v, want %v", err, plant.ErrDiskFull)
		}
		if err := s.TryWrite(soon()); !errors.Is(err, plant.ErrUnavailable) {
			t.Errorf("TryWrite = %v, want %v", err, plant.ErrUnavailable)
		}
	}
	execute(`DROP TRIGGER full_disk ON plants`)
	if err := s.TryWrite(t.Context()); err != nil {
		t.Errorf("after the fault TryWrite = %v", err)
	}
	if err := s.WriteFailure(); err != nil {
		t.Errorf("after the fault WriteFailure = %v", err)
	}
}
