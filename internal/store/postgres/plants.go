package postgres

import (
	"context"
	"crypto/sha256"
	"errors"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
)

// The columns of the table plants: those that are read, and those that are written.
var (
	storedColumns = columns[store.PlantRow](store.PlantColumns)
	plantColumns  = append(storedColumns[:len(storedColumns):len(storedColumns)],
		store.Column[store.PlantRow]{Name: "tag_hash", Field: func(r *store.PlantRow) any { return tagHash(r.Tag) }})
)

// The statements about plants, with [selectStored] and [lockStored].
var (
	selectPlant = `SELECT ` + storedColumns.names() + ` FROM plants WHERE id = $1`

	insertPlants = `INSERT INTO plants (` + plantColumns.names() + `) SELECT * FROM ` + plantColumns.unnest()

	updatePlants = `UPDATE plants SET ` + plantColumns.without("id").each("NAME = new.NAME", ", ") + `
		FROM ` + plantColumns.unnest() + ` WHERE plants.id = new.id`

	selectPlants       = selectPage(`id >= $1`)
	selectPlantsTagged = selectPage(`id >= $1 AND tag_hash = $4 AND tag = $5`)

	// createPlants inserts the plants whose IDs are free, and a mark with these IDs. If
	// there are any, it then locks the feed of changes: count needs all of inserted.
	createPlants = `
		WITH inserted AS (` + insertPlants + ` ON CONFLICT (id) DO NOTHING RETURNING id),
		locked AS (SELECT id FROM feed WHERE id = 1 AND (SELECT count(*) FROM inserted) > 0 FOR UPDATE)
		INSERT INTO marks (id, done, inserted, at, feeds)
		SELECT ` + plantColumns.next(1) + `, true, array_agg(id), ` + plantColumns.next(2) + `, true FROM inserted
		HAVING (SELECT count(*) FROM locked) >= 0
		RETURNING inserted`
)

// selectPage returns the statement that reads a page of at most $2 plants that
// ends early once it has $3 bytes of texts, and how many plants there were before
// that. The arguments of where are $1 and those from $4 on.
func selectPage(where string) string {
	names := storedColumns.names()
	return `
		SELECT ` + names + `, found FROM (
			SELECT *, sum(size) OVER (ORDER BY id) - size AS bytes_before, count(*) OVER () AS found FROM (
				SELECT ` + names + `, ` + plantSize + ` AS size FROM plants WHERE ` + where + ` ORDER BY id LIMIT $2
			) AS page
		) AS sized
		WHERE bytes_before < $3 ORDER BY id`
}

// tagHash is what the index of tags contains: an entry of an index has a maximum
// length, and a tag has none.
func tagHash(tag *string) *[sha256.Size]byte {
	if tag == nil {
		return new([sha256.Size]byte) // NULL
	}
	return new(sha256.Sum256([]byte(*tag)))
}

// plantSize is [plant.Plant.Size] in SQL. PostgreSQL knows the length of a text
// without reading it.
var plantSize = storedColumns.where(isText[store.PlantRow]).each("coalesce(octet_length(plants.NAME), 0)", " + ")

// Create implements [plant.Store].
func (s *Store) Create(ctx context.Context, p plant.Plant) error {
	return s.write(ctx, &write{create: []plant.Plant{p}, size: sizeOf(p)})
}

// CreateAll implements [plant.Store].
func (s *Store) CreateAll(ctx context.Context, plants []plant.Plant) (created int, err error) {
	if len(plants) == 0 {
		return 0, ctx.Err()
	}
	w := &write{create: plants, batch: true, size: sizeOf(plants...)}
	err = s.write(ctx, w)
	return w.inserted, err
}

// Put implements [plant.Store].
func (s *Store) Put(ctx context.Context, p plant.Plant, condition plant.Precondition) (plant.Plant, bool, error) {
	w := &write{id: p.ID, size: sizeOf(p), change: func(current *plant.Plant) (*plant.Plant, error) {
		return &p, condition.Check(current)
	}}
	err := s.write(ctx, w)
	return w.stored, w.created, err
}

// Patch implements [plant.Store].
func (s *Store) Patch(ctx context.Context, id int64, change plant.Patch, condition plant.Precondition) (plant.Plant, error) {
	w := &write{id: id, size: sizeOf(change.Apply(plant.Plant{})), change: func(current *plant.Plant) (*plant.Plant, error) {
		if current == nil {
			return nil, plant.ErrNotFound
		}
		p := change.Apply(*current)
		return &p, condition.Check(current)
	}}
	err := s.write(ctx, w)
	return w.stored, err
}

// Delete implements [plant.Store].
func (s *Store) Delete(ctx context.Context, id int64, condition plant.Precondition) error {
	return s.write(ctx, &write{id: id, size: sizeOf(plant.Plant{}), change: func(current *plant.Plant) (*plant.Plant, error) {
		if current == nil {
			return nil, plant.ErrNotFound
		}
		return nil, condition.Check(current)
	}})
}

// Get implements [plant.Store].
func (s *Store) Get(ctx context.Context, id int64) (p plant.Plant, err error) {
	err = s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		var row store.PlantRow
		err := conn.QueryRow(ctx, selectPlant, id).Scan(storedColumns.targets(&row)...)
		if errors.Is(err, pgx.ErrNoRows) {
			return permanent{plant.ErrNotFound}
		}
		p = row.Stored()
		return err
	})
	return p, err
}

// List implements [plant.Store]. The server ends the page at
// [plant.MaxPageBytes]: if this program did, by reading no further, the server
// would send the other rows all the same.
func (s *Store) List(ctx context.Context, page plant.Page) (plants []plant.Plant, more bool, err error) {
	err = s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		query, args := selectPageOf(page)
		rows, _ := conn.Query(ctx, query, args...) // scanPage returns the error
		plants, more, err = scanPage(rows, page.Limit)
		return err
	})
	return plants, more, err
}

// selectPageOf returns the statement of a page and its arguments.
func selectPageOf(page plant.Page) (query string, args []any) {
	from, limit := int64(math.MinInt64), int64(page.Limit)+1
	if page.After != nil && *page.After == math.MaxInt64 {
		limit = 0 // no ID is greater
	} else if page.After != nil {
		from = *page.After + 1
	}
	query, args = selectPlants, []any{from, limit, int64(plant.MaxPageBytes)}
	if page.Tag != nil {
		query, args = selectPlantsTagged, append(args, tagHash(page.Tag)[:], []byte(*page.Tag))
	}
	return query, args
}

// scanPage reads the rows of selectPageOf.
func scanPage(rows pgx.Rows, limit int) (plants []plant.Plant, more bool, err error) {
	var row store.PlantRow
	found := 0
	_, err = pgx.ForEachRow(rows, storedColumns.targets(&row, &found), func() error {
		plants = append(plants, row.Stored())
		return nil
	})
	plants = plants[:min(len(plants), limit)]
	return plants, found > len(plants), err
}
