package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
)

// The columns of the table plants.
var (
	plantColumns   = columns[store.PlantRow](store.PlantColumns)
	writtenColumns = columns[store.PlantRow](store.WrittenColumns)
)

// The statements about plants.
var (
	selectPlants = `SELECT ` + plantColumns.names() + ` FROM plants WHERE `

	selectPlant = selectPlants + `id = $1`

	lockPlants = selectPlants + `id = ANY($1) ORDER BY id FOR UPDATE`

	insertPlants = `INSERT INTO plants (` + writtenColumns.names() + `) SELECT * FROM ` + writtenColumns.unnest()

	// createPlants inserts plants and a mark if none of the given IDs is stored. It locks the
	// feed of changes after the plants and before the mark, because PostgreSQL can count the
	// rows of created only after all inserts.
	createPlants = `
		WITH created AS (` + insertPlants + ` WHERE NOT EXISTS (
			SELECT 1 FROM plants WHERE id = ANY(` + writtenColumns.next(1) + `)) RETURNING id),
		locked AS (SELECT id FROM feed WHERE id = 1 AND (SELECT count(*) FROM created) > 0 FOR UPDATE)
		INSERT INTO marks (id, done, at, feeds)
		SELECT ` + writtenColumns.next(2) + `, true, ` + writtenColumns.next(3) + `, true FROM locked`

	updatePlants = `UPDATE plants SET ` + writtenColumns.without("id").each("NAME = new.NAME", ", ") + `
		FROM ` + writtenColumns.unnest() + ` WHERE plants.id = new.id`
)

// The plants of a page, as they follow selectPlants; see also countOf.
const (
	allPlants    = `id >= $2 ORDER BY id LIMIT $1`
	taggedPlants = `(tag, id) >= ($3, $2) AND tag <= $3 ORDER BY tag, id LIMIT $1`
	plantsByName = `(name_key, id) >= ($2, $3) AND name_key < $4 ORDER BY name_key, id LIMIT $1`

	// selectTags makes one seek for each tag.
	selectTags = `
		WITH RECURSIVE tags (tag) AS (
			SELECT (SELECT tag FROM plants WHERE tag >= $2 AND tag < $3 ORDER BY tag LIMIT 1)
			UNION ALL
			SELECT (SELECT tag FROM plants WHERE tag > tags.tag AND tag < $3 ORDER BY tag LIMIT 1)
			FROM tags WHERE tags.tag IS NOT NULL
		) SELECT tag FROM tags WHERE tag IS NOT NULL LIMIT $1`
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
		plants, more, err = listPlants(ctx, conn, page)
		return err
	})
	return plants, more, err
}

// Count implements [plant.Store].
func (s *Store) Count(ctx context.Context, page plant.Page) (n int, more bool, err error) {
	defer s.durations.Since(time.Now(), "count")
	err = s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		if err := checkNames(ctx, conn, page); err != nil {
			return err
		}
		selected, args := selectionOf(page)
		return conn.QueryRow(ctx, countOf(selected), args...).Scan(&n)
	})
	return min(n, page.Limit), n > page.Limit, err
}

// Tags implements [plant.Store].
func (s *Store) Tags(ctx context.Context, page plant.TagPage) (tags []string, more bool, err error) {
	defer s.durations.Since(time.Now(), "tags")
	read := listTags
	if s.sharded {
		read, page.Limit = listTagsSharded, min(page.Limit, maxTagsSharded)
	}
	err = s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		tags, err = read(ctx, conn, page)
		return err
	})
	rows := plant.Rows[string]{Limit: page.Limit, Size: plant.TagSize}
	for i := 0; i < len(tags) && rows.Add(tags[i]) == nil; i++ {
	}
	return rows.Items, rows.More, err
}

// countOf returns the statement that counts selected plants.
func countOf(selected string) string {
	return `SELECT count(*) FROM (SELECT 1 FROM plants WHERE ` + selected + `) AS selected`
}

// listTags reads a page of tags, and one more if others follow.
func listTags(ctx context.Context, conn *pgx.Conn, page plant.TagPage) ([]string, error) {
	from, until := page.Range()
	rows, _ := conn.Query(ctx, selectTags, page.Limit+1, []byte(from), []byte(until)) // CollectRows returns the error
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (tag string, err error) {
		return tag, row.Scan(scanner{&tag})
	})
}

// listPlants reads a page of plants.
func listPlants(ctx context.Context, conn *pgx.Conn, page plant.Page) ([]plant.Plant, bool, error) {
	if err := checkNames(ctx, conn, page); err != nil {
		return nil, false, err
	}
	selected, args := selectionOf(page)
	rows, _ := conn.Query(ctx, selectPlants+selected, args...) // scanPage returns the error
	return scanPage(rows, page.Limit)
}

// selectionOf returns the plants of a page and their arguments. There is one plant more than
// the page has, if more follow.
func selectionOf(page plant.Page) (selected string, args []any) {
	if page.ByName != nil {
		from, until := page.ByName.Range()
		return plantsByName, []any{page.Limit + 1, []byte(from.Key), from.ID, []byte(until)}
	}
	from, limit := page.From()
	if page.Tag != nil {
		return taggedPlants, []any{limit, from, []byte(*page.Tag)}
	}
	return allPlants, []any{limit, from}
}

// scanPage reads the rows of a page.
func scanPage(rows pgx.Rows, limit int) (plants []plant.Plant, more bool, err error) {
	found := plant.Rows[plant.Plant]{Limit: limit, Size: plant.Plant.JSONSize}
	err = forEachPlant(rows, found.Add)
	return found.Items, found.More, err
}

// forEachPlant calls found with each plant, until that returns [plant.ErrPageEnd].
func forEachPlant(rows pgx.Rows, found func(plant.Plant) error) error {
	var row store.PlantRow
	_, err := pgx.ForEachRow(rows, plantColumns.targets(&row), func() error { return found(row.Stored()) })
	return pageError(err)
}

// pageError returns the error of reading a page.
func pageError(err error) error {
	if errors.Is(err, plant.ErrPageEnd) {
		return nil
	}
	return err
}
