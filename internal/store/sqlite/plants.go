package sqlite

import (
	"context"
	"errors"
	"math"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
)

var plantColumns = columns[store.PlantRow](store.PlantColumns)

var (
	copyPlantQuery   = plantColumns.insert("plants")
	insertPlantQuery = copyPlantQuery + " ON CONFLICT (id) DO NOTHING"
	updatePlantQuery = plantColumns.update("plants")
	selectPlants     = "SELECT " + plantColumns.names("") + " FROM plants WHERE "
	getPlantQuery    = selectPlants + "id = ?"
	listAllQuery     = selectPlants + "id >= ? ORDER BY id"
	listTaggedQuery  = selectPlants + "id >= ? AND tag = ? ORDER BY id"
)

// Create implements [plant.Store].
func (s *Store) Create(ctx context.Context, p plant.Plant) error {
	return s.write(ctx, func(conn *sqlite.Conn) error {
		_, err := s.createPlant(conn, p)
		return err
	})
}

// CreateAll implements [plant.Store].
func (s *Store) CreateAll(ctx context.Context, plants []plant.Plant) (created int, err error) {
	err = s.write(ctx, func(conn *sqlite.Conn) error {
		created = 0 // the function may run twice
		for i, p := range plants {
			inserted, err := s.createPlant(conn, p)
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
	err = s.readMany(ctx, func(conn *sqlite.Conn) error {
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
			row, _, err := insertPlant(conn, p)
			if err == nil {
				s.changed.add(p.ID)
			}
			stored = row.Stored()
			return err
		}
		if err != nil {
			return err
		}
		stored, err = s.updatePlant(conn, current, p, condition)
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
		stored, err = s.updatePlant(conn, current, change.Apply(current), condition)
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
		if err := deletePlant(conn, id); err != nil {
			return err
		}
		s.changed.add(id)
		return nil
	})
}

func deletePlant(conn *sqlite.Conn, id int64) error {
	return execute(conn, "DELETE FROM plants WHERE id = ?", id)
}

// createPlant inserts p unless the same plant is stored already, and reports
// whether it did. If another plant has the ID it returns [plant.ErrExists].
func (s *Store) createPlant(conn *sqlite.Conn, p plant.Plant) (inserted bool, err error) {
	_, inserted, err = insertPlant(conn, p)
	if inserted {
		s.changed.add(p.ID)
	}
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

// insertPlant stores p unless its ID is taken, and reports whether it did.
func insertPlant(conn *sqlite.Conn, p plant.Plant) (row store.PlantRow, inserted bool, err error) {
	row = store.NewPlantRow(p, nil)
	if err := plantColumns.write(conn, insertPlantQuery, &row); err != nil {
		return row, false, err
	}
	return row, conn.Changes() == 1, nil
}

// updatePlant replaces current with p if the precondition holds, and returns
// what is stored then.
func (s *Store) updatePlant(conn *sqlite.Conn, current, p plant.Plant, condition plant.Precondition) (plant.Plant, error) {
	if err := condition.Check(&current); err != nil || current.Same(p) {
		return current, err
	}
	row := store.NewPlantRow(p, &current)
	if err := plantColumns.write(conn, updatePlantQuery, &row); err != nil {
		return plant.Plant{}, err
	}
	s.changed.add(p.ID)
	return row.Stored(), nil
}

// getPlant returns the plant with the given ID, or [plant.ErrNotFound].
func getPlant(conn *sqlite.Conn, id int64) (plant.Plant, error) {
	stmt, err := conn.Prepare(getPlantQuery)
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
	var row store.PlantRow
	err = plantColumns.scan(stmt, 0, &row)
	return row.Stored(), err
}

func listPlants(conn *sqlite.Conn, page plant.Page) (plants []plant.Plant, more bool, err error) {
	from := int64(math.MinInt64)
	if page.After != nil {
		if *page.After == math.MaxInt64 {
			return nil, false, nil // no ID is greater
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
	var row store.PlantRow
	for size := 0; ; {
		found, err := stmt.Step()
		if err != nil || !found {
			return plants, false, err
		}
		if len(plants) == page.Limit || size >= plant.MaxPageBytes {
			return plants, true, nil
		}
		if err := plantColumns.scan(stmt, 0, &row); err != nil {
			return nil, false, err
		}
		plants = append(plants, row.Stored())
		size += row.Size()
	}
}

// listQuery returns the statement of a page. Its parameters are the lowest ID
// and, if the page has one, the tag.
func listQuery(page plant.Page) string {
	if page.Tag != nil {
		return listTaggedQuery
	}
	return listAllQuery
}

// run executes a statement that returns no rows, and resets it.
func run(stmt *sqlite.Stmt) error {
	_, err := stmt.Step()
	if resetErr := stmt.Reset(); err == nil {
		err = resetErr
	}
	return err
}
