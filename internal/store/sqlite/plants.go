package sqlite

import (
	"context"
	"math/rand/v2"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/plant"
)

// Create implements [plant.Store].
func (s *Store) Create(ctx context.Context, p plant.Plant) error {
	return s.write(ctx, func(conn *sqlite.Conn) error {
		inserted, err := insertPlant(conn, p, time.Now())
		if err != nil || inserted {
			return err
		}
		stored, err := getPlant(conn, p.ID)
		if err != nil {
			return err
		}
		if !stored.Same(p) {
			return plant.ErrExists
		}
		return nil
	})
}

// Get implements [plant.Store].
func (s *Store) Get(ctx context.Context, id int64) (p plant.Plant, err error) {
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		p, err = getPlant(conn, id)
		return err
	})
	return p, err
}

// insertPlant reports whether it stored p; if not, the ID is taken.
func insertPlant(conn *sqlite.Conn, p plant.Plant, now time.Time) (bool, error) {
	stmt, err := conn.Prepare(`
		INSERT INTO plants (id, name, tag, version, created_at, updated_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?5)
		ON CONFLICT (id) DO NOTHING`)
	if err != nil {
		return false, err
	}
	stmt.BindInt64(1, p.ID)
	stmt.BindText(2, p.Name)
	if p.Tag == nil {
		stmt.BindNull(3)
	} else {
		stmt.BindText(3, *p.Tag)
	}
	stmt.BindInt64(4, int64(rand.Uint64()))
	stmt.BindInt64(5, now.UnixMicro())
	if err := run(stmt); err != nil {
		return false, err
	}
	return conn.Changes() == 1, nil
}

// getPlant returns the plant with the given ID, or [plant.ErrNotFound].
func getPlant(conn *sqlite.Conn, id int64) (plant.Plant, error) {
	stmt, err := conn.Prepare(`SELECT id, name, tag FROM plants WHERE id = ?`)
	if err != nil {
		return plant.Plant{}, err
	}
	defer stmt.Reset()
	stmt.BindInt64(1, id)
	switch found, err := stmt.Step(); {
	case err != nil:
		return plant.Plant{}, err
	case !found:
		return plant.Plant{}, plant.ErrNotFound
	}
	p := plant.Plant{ID: stmt.ColumnInt64(0), Name: stmt.ColumnText(1)}
	if !stmt.ColumnIsNull(2) {
		tag := stmt.ColumnText(2)
		p.Tag = &tag
	}
	return p, nil
}

// run executes a statement that returns no rows and makes it ready for the
// next use.
func run(stmt *sqlite.Stmt) error {
	_, err := stmt.Step()
	if resetErr := stmt.Reset(); err == nil {
		err = resetErr
	}
	return err
}
