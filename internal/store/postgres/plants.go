package postgres

import (
	"context"
	"errors"
	"math"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/plantstore/plantstore/internal/plant"
)

// plantColumns is what scanPlant reads.
const plantColumns = `id, name, tag, version, created_at, updated_at`

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
		rows, err := conn.Query(ctx, `SELECT `+plantColumns+` FROM plants WHERE id = $1`, id)
		if err != nil {
			return err
		}
		p, err = pgx.CollectExactlyOneRow(rows, scanPlant)
		if errors.Is(err, pgx.ErrNoRows) {
			return answer{plant.ErrNotFound}
		}
		return err
	})
	return p, err
}

// List implements [plant.Store]. The server ends the page where it holds enough
// bytes: a client that stops reading has the rest sent all the same. It knows the
// length of a text without reading it.
func (s *Store) List(ctx context.Context, page plant.Page) (plants []plant.Plant, more bool, err error) {
	from := int64(math.MinInt64)
	if page.After != nil {
		if *page.After == math.MaxInt64 {
			return nil, false, ctx.Err() // nothing can follow
		}
		from = *page.After + 1
	}
	where, args := `id >= $1`, []any{from, int64(page.Limit) + 1, int64(plant.MaxPageBytes)}
	if page.Tag != nil {
		where = `id >= $1 AND tag_hash = $4 AND tag = $5`
		args = append(args, tagHash(page.Tag), []byte(*page.Tag))
	}
	query := `
		SELECT ` + plantColumns + `, found FROM (
			SELECT *, sum(size) OVER (ORDER BY id) - size AS bytes, count(*) OVER () AS found FROM (
				SELECT ` + plantColumns + `, octet_length(name) + coalesce(octet_length(tag), 0) AS size
				FROM plants WHERE ` + where + ` ORDER BY id LIMIT $2
			) AS page
		) AS sized
		WHERE bytes < $3 ORDER BY id`
	err = s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, query, args...)
		if err != nil {
			return err
		}
		found := 0
		plants, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (plant.Plant, error) { return scanPlantAnd(row, &found) })
		if len(plants) > page.Limit {
			plants = plants[:page.Limit]
		}
		more = found > len(plants)
		return err
	})
	return plants, more, err
}

// scanPlant reads a row of plantColumns.
func scanPlant(row pgx.CollectableRow) (plant.Plant, error) { return scanPlantAnd(row) }

// scanPlantAnd reads a row of plantColumns and what follows them.
func scanPlantAnd(row pgx.CollectableRow, rest ...any) (p plant.Plant, err error) {
	var name, tag pgtype.DriverBytes // good until the next row
	var version, createdAt, updatedAt int64
	err = row.Scan(append([]any{&p.ID, &name, &tag, &version, &createdAt, &updatedAt}, rest...)...)
	p.Name = string(name)
	if tag != nil {
		p.Tag = new(string(tag))
	}
	return p.Stamped(version, createdAt, updatedAt), err
}
