package sqlite

import (
	"cmp"
	"context"
	"math"
	"strconv"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
)

var plantColumns = columns[store.PlantRow](store.PlantColumns)

var (
	insertPlantQuery = plantColumns.insert("plants")
	updatePlantQuery = plantColumns.update("plants")
	selectPlants     = "SELECT " + plantColumns.names("") + " FROM plants WHERE "
	getPlantQuery    = selectPlants + "id = ?"
	getPlantsQuery   = "SELECT " + plantColumns.names("plants.") +
		" FROM json_each(?) CROSS JOIN plants ON plants.id = json_each.value"
	listAllQuery    = selectPlants + "id >= ?2 ORDER BY id LIMIT ?1"
	listTaggedQuery = selectPlants + "id >= ?2 AND tag = ?3 ORDER BY id LIMIT ?1"
)

// Get implements [plant.Store].
func (s *Store) Get(ctx context.Context, id int64) (p plant.Plant, err error) {
	defer s.durations.Since(time.Now(), "get")
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		p, err = getPlant(conn, id)
		return err
	})
	return p, err
}

// List implements [plant.Store].
func (s *Store) List(ctx context.Context, page plant.Page) (plants []plant.Plant, more bool, err error) {
	defer s.durations.Since(time.Now(), "list")
	err = s.readMany(ctx, func(conn *sqlite.Conn) error {
		plants, more, err = listPlants(conn, page)
		return err
	})
	return plants, more, err
}

// insertPlant stores a plant in the transaction of the connection.
func insertPlant(conn *sqlite.Conn, p plant.Plant) error {
	row := store.NewPlantRow(p, nil)
	return plantColumns.write(conn, insertPlantQuery, &row)
}

func deletePlant(conn *sqlite.Conn, id int64) error {
	return execute(conn, "DELETE FROM plants WHERE id = ?", id)
}

// getPlant returns the plant with the given ID, or [plant.ErrNotFound].
func getPlant(conn *sqlite.Conn, id int64) (p plant.Plant, err error) {
	missing := plant.ErrNotFound
	err = plantColumns.query(conn, getPlantQuery, func(row *store.PlantRow) { p, missing = row.Stored(), nil }, id)
	return p, cmp.Or(err, missing)
}

func listPlants(conn *sqlite.Conn, page plant.Page) (plants []plant.Plant, more bool, err error) {
	from := int64(math.MinInt64)
	if page.After != nil {
		if *page.After == math.MaxInt64 {
			return nil, false, nil // no ID is greater
		}
		from = *page.After + 1
	}
	query, args := listAllQuery, []any{page.Limit + 1, from}
	if page.Tag != nil {
		query, args = listTaggedQuery, append(args, *page.Tag)
	}
	err = plantColumns.query(conn, query, func(row *store.PlantRow) { plants = append(plants, row.Stored()) }, args...)
	if len(plants) > page.Limit {
		return plants[:page.Limit], true, err
	}
	return plants, false, err
}

// writePlants writes the effect of a group.
func writePlants(conn *sqlite.Conn, effect store.Effect) error {
	for i := range effect.Insert {
		if err := plantColumns.write(conn, insertPlantQuery, &effect.Insert[i]); err != nil {
			return err
		}
	}
	for i := range effect.Update {
		if err := plantColumns.write(conn, updatePlantQuery, &effect.Update[i]); err != nil {
			return err
		}
	}
	for _, id := range effect.Remove {
		if err := deletePlant(conn, id); err != nil {
			return err
		}
	}
	return nil
}

// jsonOf returns IDs as a JSON array. There must be at least one. encoding/json
// takes three times as long, and would add 1 % to a create.
func jsonOf(ids []int64) string {
	text := append(make([]byte, 0, 21*len(ids)+1), '[')
	for _, id := range ids {
		text = append(strconv.AppendInt(text, id, 10), ',')
	}
	text[len(text)-1] = ']'
	return string(text)
}
