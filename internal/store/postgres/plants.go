package postgres

import (
	"context"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
)

// plantColumns are the columns of the table plants.
var plantColumns = columns[store.PlantRow](store.PlantColumns)

// The statements about plants.
var (
	selectPlants = `SELECT ` + plantColumns.names() + ` FROM plants WHERE `

	selectPlant = selectPlants + `id = $1`

	lockPlants = selectPlants + `id = ANY($1) ORDER BY id FOR UPDATE`

	insertPlants = `INSERT INTO plants (` + plantColumns.names() + `) SELECT * FROM ` + plantColumns.unnest()

	// createPlants inserts plants and a mark if none of the given IDs is stored. It locks the
	// feed of changes after the plants and before the mark, because PostgreSQL can count the
	// rows of created only after all inserts.
	createPlants = `
		WITH created AS (` + insertPlants + ` WHERE NOT EXISTS (
			SELECT 1 FROM plants WHERE id = ANY(` + plantColumns.next(1) + `)) RETURNING id),
		locked AS (SELECT id FROM feed WHERE id = 1 AND (SELECT count(*) FROM created) > 0 FOR UPDATE)
		INSERT INTO marks (id, done, at, feeds)
		SELECT ` + plantColumns.next(2) + `, true, ` + plantColumns.next(3) + `, true FROM locked`

	updatePlants = `UPDATE plants SET ` + plantColumns.without("id").each("NAME = new.NAME", ", ") + `
		FROM ` + plantColumns.unnest() + ` WHERE plants.id = new.id`

	selectPage       = selectPlants + `id >= $1 ORDER BY id LIMIT $2`
	selectPageTagged = selectPlants + `id >= $1 AND tag = $3 ORDER BY id LIMIT $2`
)

// Get implements [plant.Store].
func (s *Store) Get(ctx context.Context, id int64) (p plant.Plant, err error) {
	defer s.durations.Since(time.Now(), "get")
	err = s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		row, err := plantColumns.one(conn.QueryRow(ctx, selectPlant, id), plant.ErrNotFound)
		p = row.Stored()
		return err
	})
	return p, err
}

// List implements [plant.Store].
func (s *Store) List(ctx context.Context, page plant.Page) (plants []plant.Plant, more bool, err error) {
	defer s.durations.Since(time.Now(), "list")
	err = s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		query, args := selectPageOf(page)
		rows, _ := conn.Query(ctx, query, args...) // scanPage returns the error
		plants, more, err = scanPage(rows, page.Limit)
		return err
	})
	return plants, more, err
}

// selectPageOf returns the statement of a page and its arguments. It reads one plant
// more than the page has, if more follow.
func selectPageOf(page plant.Page) (query string, args []any) {
	from, limit := int64(math.MinInt64), int64(page.Limit)+1
	if page.After != nil && *page.After == math.MaxInt64 {
		limit = 0 // no ID is greater
	} else if page.After != nil {
		from = *page.After + 1
	}
	if page.Tag != nil {
		return selectPageTagged, []any{from, limit, []byte(*page.Tag)}
	}
	return selectPage, []any{from, limit}
}

// scanPage reads the rows of selectPageOf.
func scanPage(rows pgx.Rows, limit int) (plants []plant.Plant, more bool, err error) {
	plants, err = scanPlants(rows)
	more = len(plants) > limit
	return plants[:min(len(plants), limit)], more, err
}

func scanPlants(rows pgx.Rows) (plants []plant.Plant, err error) {
	var row store.PlantRow
	_, err = pgx.ForEachRow(rows, plantColumns.targets(&row), func() error {
		plants = append(plants, row.Stored())
		return nil
	})
	return plants, err
}
