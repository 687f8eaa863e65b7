package sqlite

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/plant"
)

// Create implements [plant.Store].
func (s *Store) Create(ctx context.Context, p plant.Plant) error {
	return s.write(ctx, func(conn *sqlite.Conn) error {
		_, err := createPlant(conn, p)
		return err
	})
}

// CreateAll implements [plant.Store].
func (s *Store) CreateAll(ctx context.Context, plants []plant.Plant) (created int, err error) {
	err = s.write(ctx, func(conn *sqlite.Conn) error {
		created = 0 // it may run again
		for i, p := range plants {
			inserted, err := createPlant(conn, p)
			if errors.Is(err, plant.ErrExists) {
				return plant.ExistsError{Index: i}
			}
			if err != nil {
				return err
			}
			if inserted {
				created++
			}
		}
		return nil
	})
	return created, err
}

// Get implements [plant.Store].
func (s *Store) Get(ctx context.Context, id int64) (p plant.Plant, err error) {
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		p, err = getPlant(conn, id)
		return err
	})
	return p, err
}

// List implements [plant.Store].
func (s *Store) List(ctx context.Context, page plant.Page) (plants []plant.Plant, more bool, err error) {
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		plants, more, err = listPlants(conn, page)
		return err
	})
	return plants, more, err
}

// Put implements [plant.Store].
func (s *Store) Put(ctx context.Context, p plant.Plant, condition plant.Precondition) (stored plant.Plant, created bool, err error) {
	err = s.write(ctx, func(conn *sqlite.Conn) error {
		current, err := getPlant(conn, p.ID)
		created = errors.Is(err, plant.ErrNotFound)
		if created {
			if err := condition.Check(nil); err != nil {
				return err
			}
			stored, _, err = insertPlant(conn, p)
			return err
		}
		if err != nil {
			return err
		}
		stored, err = updatePlant(conn, current, p, condition)
		return err
	})
	return stored, created, err
}

// Patch implements [plant.Store].
func (s *Store) Patch(ctx context.Context, id int64, change plant.Patch, condition plant.Precondition) (stored plant.Plant, err error) {
	err = s.write(ctx, func(conn *sqlite.Conn) error {
		current, err := getPlant(conn, id)
		if err != nil {
			return err
		}
		stored, err = updatePlant(conn, current, change.Apply(current), condition)
		return err
	})
	return stored, err
}

// Delete implements [plant.Store].
func (s *Store) Delete(ctx context.Context, id int64, condition plant.Precondition) error {
	return s.write(ctx, func(conn *sqlite.Conn) error {
		current, err := getPlant(conn, id)
		if err != nil {
			return err
		}
		if err := condition.Check(&current); err != nil {
			return err
		}
		stmt, err := conn.Prepare(`DELETE FROM plants WHERE id = ?`)
		if err != nil {
			return err
		}
		stmt.BindInt64(1, id)
		return run(stmt)
	})
}

// createPlant inserts p unless it is there, and reports whether it did; another
// plant under its ID is [plant.ErrExists].
func createPlant(conn *sqlite.Conn, p plant.Plant) (inserted bool, err error) {
	_, inserted, err = insertPlant(conn, p)
	if err != nil || inserted {
		return inserted, err
	}
	current, err := getPlant(conn, p.ID)
	if err != nil {
		return false, err
	}
	if !current.Same(p) {
		return false, plant.ErrExists
	}
	return false, nil
}

// insertPlant reports whether it stored p; if not, the ID is taken.
func insertPlant(conn *sqlite.Conn, p plant.Plant) (plant.Plant, bool, error) {
	stmt, err := conn.Prepare(`
		INSERT INTO plants (id, name, tag, version, created_at, updated_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?5)
		ON CONFLICT (id) DO NOTHING`)
	if err != nil {
		return p, false, err
	}
	now, version := time.Now().UnixMicro(), int64(rand.Uint64())
	bindPlant(stmt, p, version, now)
	if err := run(stmt); err != nil {
		return p, false, err
	}
	return p.Stamped(version, now, now), conn.Changes() == 1, nil
}

// updatePlant makes current what p says, if the precondition holds, and returns
// what is stored then.
func updatePlant(conn *sqlite.Conn, current, p plant.Plant, condition plant.Precondition) (plant.Plant, error) {
	if err := condition.Check(&current); err != nil || current.Same(p) {
		return current, err
	}
	stmt, err := conn.Prepare(`
		UPDATE plants SET name = ?2, tag = ?3, version = ?4, updated_at = ?5 WHERE id = ?1`)
	if err != nil {
		return plant.Plant{}, err
	}
	// The clock may have been set back.
	now, version := max(time.Now().UnixMicro(), current.UpdatedAt.UnixMicro()), int64(rand.Uint64())
	bindPlant(stmt, p, version, now)
	return p.Stamped(version, current.CreatedAt.UnixMicro(), now), run(stmt)
}

func bindPlant(stmt *sqlite.Stmt, p plant.Plant, version, now int64) {
	stmt.BindInt64(1, p.ID)
	stmt.BindText(2, p.Name)
	if p.Tag == nil {
		stmt.BindNull(3)
	} else {
		stmt.BindText(3, *p.Tag)
	}
	stmt.BindInt64(4, version)
	stmt.BindInt64(5, now)
}

// getPlant returns the plant with the given ID, or [plant.ErrNotFound].
func getPlant(conn *sqlite.Conn, id int64) (plant.Plant, error) {
	stmt, err := conn.Prepare(`
		SELECT id, name, tag, version, created_at, updated_at FROM plants WHERE id = ?`)
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
	return scanPlant(stmt), nil
}

func listPlants(conn *sqlite.Conn, page plant.Page) (plants []plant.Plant, more bool, err error) {
	from := int64(math.MinInt64)
	if page.After != nil {
		if *page.After == math.MaxInt64 {
			return nil, false, nil // nothing can follow
		}
		from = *page.After + 1
	}
	stmt, err := conn.Prepare(listQuery(page))
	if err != nil {
		return nil, false, err
	}
	defer stmt.Reset()
	stmt.BindInt64(1, from)
	if page.Tag != nil {
		stmt.BindText(2, *page.Tag)
	}
	for size := 0; ; {
		found, err := stmt.Step()
		if err != nil || !found {
			return plants, false, err
		}
		if len(plants) == page.Limit || size >= plant.MaxPageBytes {
			return plants, true, nil
		}
		p := scanPlant(stmt)
		plants = append(plants, p)
		size += p.Size()
	}
}

// listQuery returns the statement of a page. Its parameters are the least ID
// and, if the page has one, the tag.
func listQuery(page plant.Page) string {
	if page.Tag != nil {
		return `
		SELECT id, name, tag, version, created_at, updated_at FROM plants
		WHERE id >= ? AND tag = ? ORDER BY id`
	}
	return `
		SELECT id, name, tag, version, created_at, updated_at FROM plants
		WHERE id >= ? ORDER BY id`
}

// scanPlant reads a row of id, name, tag, version, created_at, updated_at.
func scanPlant(stmt *sqlite.Stmt) plant.Plant {
	p := plant.Plant{ID: stmt.ColumnInt64(0), Name: stmt.ColumnText(1)}
	if !stmt.ColumnIsNull(2) {
		tag := stmt.ColumnText(2)
		p.Tag = &tag
	}
	return p.Stamped(stmt.ColumnInt64(3), stmt.ColumnInt64(4), stmt.ColumnInt64(5))
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
