package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
)

// plantTargets returns where Scan stores the columns of a plant: id, name, tag, version,
// created_at, updated_at, changed_by.
func plantTargets(row *store.PlantRow) []any {
	return []any{
		&row.ID,
		(*text)(&row.Name),
		optionalText{field: &row.Tag},
		&row.Version,
		(*timestamp)(&row.CreatedAt),
		(*timestamp)(&row.UpdatedAt),
		(*text)(&row.ChangedBy),
	}
}

// forEachPlant calls found with each plant, until that returns [plant.ErrPageEnd].
func forEachPlant(rows pgx.Rows, found func(plant.Plant) error) error {
	var row store.PlantRow
	_, err := pgx.ForEachRow(rows, plantTargets(&row), func() error { return found(row.Stored()) })
	return pageError(err)
}

// pageError returns the error of reading a page.
func pageError(err error) error {
	if errors.Is(err, plant.ErrPageEnd) {
		return nil
	}
	return err
}

const selectPlant = `
	SELECT id, name, tag, version, created_at, updated_at, changed_by
	FROM plants WHERE id = $1`

// Get implements [plant.Store].
func (s *Store) Get(ctx context.Context, id int64) (found plant.Plant, err error) {
	defer s.durations.Since(time.Now(), "get")
	err = s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		var row store.PlantRow
		err := conn.QueryRow(ctx, selectPlant, id).Scan(plantTargets(&row)...)
		if errors.Is(err, pgx.ErrNoRows) {
			return permanent{plant.ErrNotFound}
		}
		found = row.Stored()
		return err
	})
	return found, err
}

// A selection has the two statements of a page. $1 is the largest number of rows; the other
// arguments select the plants.
type selection struct{ list, count string }

var allPlants = selection{
	list: `
		SELECT id, name, tag, version, created_at, updated_at, changed_by
		FROM plants WHERE id >= $2 ORDER BY id LIMIT $1`,
	count: `
		SELECT count(*) FROM (SELECT 1 FROM plants WHERE id >= $2 ORDER BY id LIMIT $1) AS selected`,
}

var taggedPlants = selection{
	list: `
		SELECT id, name, tag, version, created_at, updated_at, changed_by
		FROM plants WHERE (tag, id) >= ($3, $2) AND tag <= $3 ORDER BY tag, id LIMIT $1`,
	count: `
		SELECT count(*) FROM (SELECT 1 FROM plants WHERE (tag, id) >= ($3, $2) AND tag <= $3 ORDER BY tag, id LIMIT $1) AS selected`,
}

var plantsByName = selection{
	list: `
		SELECT id, name, tag, version, created_at, updated_at, changed_by
		FROM plants WHERE (name_key, id) >= ($2, $3) AND name_key < $4 ORDER BY name_key, id LIMIT $1`,
	count: `
		SELECT count(*) FROM (SELECT 1 FROM plants WHERE (name_key, id) >= ($2, $3) AND name_key < $4 ORDER BY name_key, id LIMIT $1) AS selected`,
}

// The statements of lists in descending order, which have no count.
const (
	allDescending = `
		SELECT id, name, tag, version, created_at, updated_at, changed_by
		FROM plants WHERE id <= $2 ORDER BY id DESC LIMIT $1`
	taggedDescending = `
		SELECT id, name, tag, version, created_at, updated_at, changed_by
		FROM plants WHERE (tag, id) <= ($3, $2) AND tag >= $3 ORDER BY tag DESC, id DESC LIMIT $1`
	namesDescending = `
		SELECT id, name, tag, version, created_at, updated_at, changed_by
		FROM plants WHERE (name_key, id) < ($2, $3) AND name_key >= $4 ORDER BY name_key DESC, id DESC LIMIT $1`
	updatesDescending = `
		SELECT id, name, tag, version, created_at, updated_at, changed_by
		FROM plants WHERE (updated_at, id) < ($2, $3) ORDER BY updated_at DESC, id DESC LIMIT $1`
)

// selectionOf returns the statements of a page and their arguments. They read one plant more
// than the page has, if more follow.
func selectionOf(page plant.Page) (selected selection, args []any) {
	if page.ByUpdate != nil {
		place := page.ByUpdate.Place()
		return selection{list: updatesDescending}, []any{page.Limit + 1, place.UpdatedAt, place.ID}
	}
	if page.ByName != nil && page.Descending {
		before, from := page.ByName.RangeDescending()
		return selection{list: namesDescending}, []any{page.Limit + 1, []byte(before.Key), before.ID, []byte(from)}
	}
	if page.ByName != nil {
		from, until := page.ByName.Range()
		return plantsByName, []any{page.Limit + 1, []byte(from.Key), from.ID, []byte(until)}
	}
	from, limit := page.From()
	switch {
	case page.Tag != nil && page.Descending:
		return selection{list: taggedDescending}, []any{limit, from, []byte(*page.Tag)}
	case page.Tag != nil:
		return taggedPlants, []any{limit, from, []byte(*page.Tag)}
	case page.Descending:
		return selection{list: allDescending}, []any{limit, from}
	default:
		return allPlants, []any{limit, from}
	}
}

// checkPage returns an error if a page is in the order of names, unless the names have keys
// of this program.
func checkPage(ctx context.Context, conn *pgx.Conn, page plant.Page) error {
	if page.ByName == nil {
		return nil
	}
	return checkNames(ctx, conn)
}

// checkNames returns an error unless the names have keys of this program.
func checkNames(ctx context.Context, conn *pgx.Conn) error {
	version, err := number(ctx, conn, namesRow, "")
	if err == nil && int64(version) != plant.NameKeyVersion {
		err = permanent{store.Unavailable(plant.ErrOtherUnicode)}
	}
	return err
}

// List implements [plant.Store].
func (s *Store) List(ctx context.Context, page plant.Page) (plants []plant.Plant, more bool, err error) {
	defer s.durations.Since(time.Now(), "list")
	err = s.read(ctx, func(ctx context.Context, conn *pgx.Conn) (err error) {
		plants, more, err = listPlants(ctx, conn, page)
		return err
	})
	return plants, more, err
}

// listPlants reads a page.
func listPlants(ctx context.Context, conn *pgx.Conn, page plant.Page) (plants []plant.Plant, more bool, err error) {
	if err := checkPage(ctx, conn, page); err != nil {
		return nil, false, err
	}
	selected, args := selectionOf(page)
	rows, _ := conn.Query(ctx, selected.list, args...) // forEachPlant returns the error
	found := plant.Rows[plant.Plant]{Limit: page.Limit, Size: plant.Plant.JSONSize}
	err = forEachPlant(rows, found.Add)
	return found.Items, found.More, err
}

// Count implements [plant.Store].
func (s *Store) Count(ctx context.Context, page plant.Page) (count int, more bool, err error) {
	defer s.durations.Since(time.Now(), "count")
	err = s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		if err := checkPage(ctx, conn, page); err != nil {
			return err
		}
		selected, args := selectionOf(page)
		return conn.QueryRow(ctx, selected.count, args...).Scan(&count)
	})
	return min(count, page.Limit), count > page.Limit, err
}

// selectTags makes one seek for each tag.
const selectTags = `
	WITH RECURSIVE tags (tag) AS (
		SELECT (SELECT tag FROM plants WHERE tag >= $2 AND tag < $3 ORDER BY tag LIMIT 1)
		UNION ALL
		SELECT (SELECT tag FROM plants WHERE tag > tags.tag AND tag < $3 ORDER BY tag LIMIT 1)
		FROM tags WHERE tags.tag IS NOT NULL
	)
	SELECT tag FROM tags WHERE tag IS NOT NULL LIMIT $1`

// Tags implements [plant.Store].
func (s *Store) Tags(ctx context.Context, page plant.TagPage) (tags []string, more bool, err error) {
	defer s.durations.Since(time.Now(), "tags")
	list := listTags
	if s.sharded {
		list, page.Limit = listTagsSharded, min(page.Limit, maxTagsSharded)
	}
	err = s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		tags, err = list(ctx, conn, page)
		return err
	})
	rows := plant.Rows[string]{Limit: page.Limit, Size: plant.TagSize}
	for _, tag := range tags {
		if rows.Add(tag) != nil {
			break
		}
	}
	return rows.Items, rows.More, err
}

// listTags reads a page of tags, and one more if others follow.
func listTags(ctx context.Context, conn *pgx.Conn, page plant.TagPage) ([]string, error) {
	from, until := page.Range()
	rows, _ := conn.Query(ctx, selectTags, page.Limit+1, []byte(from), []byte(until)) // CollectRows returns the error
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (tag string, err error) {
		err = row.Scan((*text)(&tag))
		return tag, err
	})
}

const lockPlants = `
	SELECT id, name, tag, version, created_at, updated_at, changed_by
	FROM plants WHERE id = ANY($1) ORDER BY id FOR UPDATE`

// storedIDs finds out which plants are stored.
const storedIDs = `SELECT id FROM plants WHERE id = ANY($1) ORDER BY id`

const insertPlants = `
	INSERT INTO plants (id, name, tag, version, created_at, updated_at, name_key, changed_by)
	SELECT * FROM unnest($1::BIGINT[], $2::BYTEA[], $3::BYTEA[], $4::BIGINT[], $5::BIGINT[], $6::BIGINT[], $7::BYTEA[], $8::BYTEA[])`

// createPlants inserts plants and the mark $10 if none of the IDs $9 is stored, and feed has its
// row: there is no mark without it. It locks the feed of changes after the plants and before the
// mark, because PostgreSQL can count the rows of created only after all inserts.
const createPlants = `
	WITH created AS (
		INSERT INTO plants (id, name, tag, version, created_at, updated_at, name_key, changed_by)
		SELECT * FROM unnest($1::BIGINT[], $2::BYTEA[], $3::BYTEA[], $4::BIGINT[], $5::BIGINT[], $6::BIGINT[], $7::BYTEA[], $8::BYTEA[])
		WHERE NOT EXISTS (SELECT 1 FROM plants WHERE id = ANY($9)) AND EXISTS (SELECT 1 FROM feed WHERE id = 1)
		RETURNING id
	),
	locked AS (SELECT id FROM feed WHERE id = 1 AND (SELECT count(*) FROM created) > 0 FOR UPDATE)
	INSERT INTO marks (id, done, at, feeds) SELECT $10, true, $11, true FROM locked`

const updatePlants = `
	UPDATE plants
	SET name = new.name, tag = new.tag, version = new.version, created_at = new.created_at,
		updated_at = new.updated_at, name_key = new.name_key, changed_by = new.changed_by
	FROM unnest($1::BIGINT[], $2::BYTEA[], $3::BYTEA[], $4::BIGINT[], $5::BIGINT[], $6::BIGINT[], $7::BYTEA[], $8::BYTEA[])
		AS new (id, name, tag, version, created_at, updated_at, name_key, changed_by)
	WHERE plants.id = new.id`

// plantArrays returns the first eight arguments of insertPlants, createPlants and updatePlants:
// an array for each column, so that one statement serves any number of rows.
func plantArrays(rows []store.PlantRow) []any {
	ids, versions := make([]int64, len(rows)), make([]int64, len(rows))
	created, updated := make([]int64, len(rows)), make([]int64, len(rows))
	names, tags := make([][]byte, len(rows)), make([][]byte, len(rows))
	keys, actors := make([][]byte, len(rows)), make([][]byte, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
		names[i] = []byte(row.Name)
		tags[i] = optionalBytes(row.Tag)
		versions[i] = row.Version
		created[i] = row.CreatedAt.UnixMicro()
		updated[i] = row.UpdatedAt.UnixMicro()
		keys[i] = []byte(row.NameKey)
		actors[i] = []byte(row.ChangedBy)
	}
	return []any{ids, names, tags, versions, created, updated, keys, actors}
}

// writePlants queues the statements that write plants. A plant that is inserted and removed was not stored,
// and stays locked from its insert on; see claims.
func writePlants(batch *pgx.Batch, effect store.Effect) {
	if len(effect.Update) > 0 {
		batch.Queue(updatePlants, plantArrays(effect.Update)...)
	}
	if len(effect.Insert) > 0 {
		batch.Queue(insertPlants, plantArrays(effect.Insert)...)
	}
	if len(effect.Remove) > 0 {
		batch.Queue(`DELETE FROM plants WHERE id = ANY($1)`, effect.Remove)
	}
	if len(effect.Forget) > 0 {
		batch.Queue(forgetHistoryOf, effect.Forget)
	}
}
