package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
)

// A scan has the statements of a search in an order. Their arguments begin with the first place: $1 is what is
// ordered and $2 the ID, NULL if none is left with the same $1. $3 is how many plants are examined, and $4 and $5 are
// the range of tags.
type scan struct{ candidates, candidatesSharded, end string }

// newScan returns the statements for an order: what selects the IDs as at and, as key, what is ordered. NameKey is where the
// keys of the names are: in the order of names the index has them, so that only the candidates are read.
func newScan(selected, order, nameKey string) scan {
	selected += ` ORDER BY ` + order
	examined := `
			SELECT id, name, tag, version, created_at, updated_at, changed_by
			FROM (` + selected + ` LIMIT $3) AS examined `
	candidates := `
			WHERE (position($6::BYTEA IN ` + nameKey + `) > 0 AND position($7::BYTEA IN ` + nameKey + `) > 0
					AND position($8::BYTEA IN ` + nameKey + `) > 0 OR octet_length(` + nameKey + `) >= $9)
				AND ($4::BYTEA IS NULL OR tag >= $4 AND tag < $5) AND (tag IS NULL OR NOT $10)
			ORDER BY ` + order + ` LIMIT $11`
	return scan{
		// OFFSET 0 keeps the planner from another kind of join, which would read all examined plants before it sorts them.
		candidates: examined + `CROSS JOIN LATERAL (
				SELECT id, name, tag, version, created_at, updated_at, changed_by, name_key
				FROM plants WHERE id = examined.at OFFSET 0
			) AS found` + candidates,
		candidatesSharded: examined + `JOIN plants ON id = at` + candidates,
		end:               selected + ` LIMIT 1 OFFSET $3`,
	}
}

// scans are those in ascending and in descending order. The order of IDs has no $1, but PostgreSQL must know its type.
var scans = map[plant.Order][2]scan{
	plant.OrderID: {
		newScan(`SELECT id AS key, id AS at FROM plants WHERE id >= $2 AND $1::BIGINT IS NULL`, "key", "name_key"),
		newScan(`SELECT id AS key, id AS at FROM plants WHERE id <= $2 AND $1::BIGINT IS NULL`, "key DESC", "name_key"),
	},
	plant.OrderName: {
		newScan(`
			SELECT name_key AS key, id AS at FROM plants
			WHERE (name_key, id) >= ($1, $2) AND name_key IS NOT NULL`, "key, at", "key"),
		newScan(`
			SELECT name_key AS key, id AS at FROM plants
			WHERE (name_key, id) <= ($1, $2) AND name_key IS NOT NULL`, "key DESC, at DESC", "key"),
	},
	plant.OrderTag: {
		newScan(`
			SELECT tag AS key, id AS at FROM plants
			WHERE (tag, id) >= ($1, $2) AND tag >= $4 AND tag < $5`, "key, at", "name_key"),
		newScan(`
			SELECT tag AS key, id AS at FROM plants
			WHERE (tag, id) <= ($1, $2) AND tag >= $4 AND tag < $5`, "key DESC, at DESC", "name_key"),
	},
	plant.OrderUpdate: {
		newScan(`
			SELECT updated_at AS key, id AS at FROM plants WHERE (updated_at, id) >= ($1, $2)`, "key, at", "name_key"),
		newScan(`
			SELECT updated_at AS key, id AS at FROM plants WHERE (updated_at, id) <= ($1, $2)`, "key DESC, at DESC", "name_key"),
	},
}

// scanOf returns the statements of a search, and their first five arguments.
func scanOf(search plant.Search, n int) (selected scan, args []any) {
	place, id := search.First()
	args = []any{nil, nil, n, nil, nil}
	if id != nil {
		args[1] = *id
	}
	order := search.Order
	switch {
	case search.IsUntagged():
		order = plant.OrderID
	case order == plant.OrderUpdate:
		args[0] = place.UpdatedAt
	case order != plant.OrderID:
		args[0] = []byte(place.Key)
	}
	if search.Tags != nil || order == plant.OrderTag {
		tags := search.TagRange()
		args[3], args[4] = []byte(tags.From), []byte(tags.Until)
	}
	if search.Descending {
		return scans[order][1], args
	}
	return scans[order][0], args
}

// searchTable implements [store.Table].
type searchTable struct {
	tx      pgx.Tx
	sharded bool
}

func (t searchTable) Candidates(
	ctx context.Context, search plant.Search, n, limit int, found func(plant.Plant) error,
) error {
	selected, args := scanOf(search, n)
	args = append(args, candidateArguments(search, limit)...)
	statement := selected.candidates
	if t.sharded {
		statement = selected.candidatesSharded
	}
	rows, _ := t.tx.Query(ctx, statement, args...) // ForEachRow returns the error
	var row store.PlantRow
	_, err := pgx.ForEachRow(rows, plantTargets(&row), func() error { return found(row.Stored()) })
	return err
}

// candidateArguments returns the arguments that say which of the examined plants are candidates.
func candidateArguments(search plant.Search, limit int) []any {
	longest := search.Parts.InKeys()
	return []any{
		[]byte(longest[0]), []byte(longest[1]), []byte(longest[2]), plant.WholeKey, search.IsUntagged(), limit,
	}
}

func (t searchTable) End(ctx context.Context, search plant.Search, n int) (*plant.Place, error) {
	selected, args := scanOf(search, n-1)
	end := &plant.Place{Untagged: search.IsUntagged()}
	key := any(&end.ID)
	switch {
	case end.Untagged, search.Order == plant.OrderID: // the key is the ID
	case search.Order == plant.OrderUpdate:
		key = &end.UpdatedAt
	default:
		key = (*text)(&end.Key)
	}
	if search.Order != plant.OrderTag || end.Untagged {
		args = args[:3] // the statement has no range of tags
	}
	err := t.tx.QueryRow(ctx, selected.end, args...).Scan(key, &end.ID)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return end, err
}

// inSnapshot implements [store.Searcher].
func (s *Store) inSnapshot(ctx context.Context, search plant.Search, examine func(context.Context, store.Table) error) error {
	return s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		if search.NeedsKeys() {
			if err := checkNames(ctx, conn); err != nil {
				return err
			}
		}
		snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
		return pgx.BeginTxFunc(ctx, conn, snapshot, func(tx pgx.Tx) error { return examine(ctx, searchTable{tx: tx, sharded: s.sharded}) })
	})
}
