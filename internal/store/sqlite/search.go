package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
)

// A scan has the two queries of a search in an order. Their parameters begin with the first place: ?1 is what is
// ordered and ?2 the ID, NULL if none is left with the same ?1. ?3 is how many plants are examined, and ?4 and ?5 are
// the range of tags.
type scan struct{ candidates, end string }

// newScan returns the queries for an order, which selects what is ordered as key, and the IDs. NameKey is where the keys
// of the names are: in the order of names the index has them, so that only the candidates are read.
//
// The candidates come in the order of the examined plants, because a CROSS JOIN reads these first.
func newScan(order, nameKey string) scan {
	return scan{
		candidates: `
			SELECT plants.id, name, tag, version, created_at, updated_at, changed_by
			FROM (` + order + ` LIMIT ?3) AS examined CROSS JOIN plants ON plants.id = examined.id
			WHERE (instr(` + nameKey + `, ?6) AND instr(` + nameKey + `, ?7) AND instr(` + nameKey + `, ?8)
					OR octet_length(` + nameKey + `) >= ?9)
				AND (?4 IS NULL OR tag >= ?4 AND tag < ?5) AND (tag IS NULL OR NOT ?10)
			LIMIT ?11`,
		end: order + ` LIMIT 1 OFFSET ?3`,
	}
}

// scans are those in ascending and in descending order. They have two parts for the reason that plantsByName has.
var scans = map[plant.Order][2]scan{
	plant.OrderID: {
		newScan(`SELECT 0 AS key, id FROM plants WHERE id >= ?2 ORDER BY id`, "name_key"),
		newScan(`SELECT 0 AS key, id FROM plants WHERE id <= ?2 ORDER BY id DESC`, "name_key"),
	},
	plant.OrderName: {
		newScan(`
			SELECT name_key AS key, id FROM plants WHERE name_key = ?1 AND id >= ?2
			UNION ALL
			SELECT name_key, id FROM plants WHERE name_key > ?1 ORDER BY key, id`, "examined.key"),
		newScan(`
			SELECT name_key AS key, id FROM plants WHERE name_key = ?1 AND id <= ?2
			UNION ALL
			SELECT name_key, id FROM plants WHERE name_key < ?1 ORDER BY key DESC, id DESC`, "examined.key"),
	},
	plant.OrderTag: {
		newScan(`
			SELECT tag AS key, id FROM plants WHERE tag = ?1 AND id >= ?2 AND tag >= ?4 AND tag < ?5
			UNION ALL
			SELECT tag, id FROM plants WHERE tag > ?1 AND tag < ?5 ORDER BY key, id`, "name_key"),
		newScan(`
			SELECT tag AS key, id FROM plants WHERE tag = ?1 AND id <= ?2 AND tag >= ?4 AND tag < ?5
			UNION ALL
			SELECT tag, id FROM plants WHERE tag < ?1 AND tag >= ?4 ORDER BY key DESC, id DESC`, "name_key"),
	},
	plant.OrderUpdate: {
		newScan(`
			SELECT updated_at AS key, id FROM plants WHERE updated_at = ?1 AND id >= ?2
			UNION ALL
			SELECT updated_at, id FROM plants WHERE updated_at > ?1 ORDER BY key, id`, "name_key"),
		newScan(`
			SELECT updated_at AS key, id FROM plants WHERE updated_at = ?1 AND id <= ?2
			UNION ALL
			SELECT updated_at, id FROM plants WHERE updated_at < ?1 ORDER BY key DESC, id DESC`, "name_key"),
	},
}

// scanOf returns the queries of a search and their first five parameters.
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
	default:
		args[0] = place.Key
	}
	if search.Tags != nil || order == plant.OrderTag {
		tags := search.TagRange()
		args[3], args[4] = tags.From, tags.Until
	}
	if search.Descending {
		return scans[order][1], args
	}
	return scans[order][0], args
}

// searchTable implements [store.Table] in a transaction.
type searchTable struct{ conn *sqlite.Conn }

func (t searchTable) Candidates(
	_ context.Context, search plant.Search, n, limit int, found func(plant.Plant) error,
) error {
	selected, args := scanOf(search, n)
	for _, part := range search.Parts.InKeys() {
		args = append(args, part)
	}
	args = append(args, plant.WholeKey, search.IsUntagged(), limit)
	return sqlitex.Execute(t.conn, selected.candidates, &sqlitex.ExecOptions{Args: args, ResultFunc: func(stmt *sqlite.Stmt) error {
		return found(plantFromRow(stmt, 0))
	}})
}

func (t searchTable) End(_ context.Context, search plant.Search, n int) (end *plant.Place, err error) {
	selected, args := scanOf(search, n-1)
	if search.Order != plant.OrderTag || search.IsUntagged() {
		args = args[:3]
	}
	err = query(t.conn, selected.end, func(stmt *sqlite.Stmt) error {
		end = &plant.Place{ID: stmt.ColumnInt64(1), Untagged: search.IsUntagged()}
		if search.Order == plant.OrderUpdate {
			end.UpdatedAt = stmt.ColumnInt64(0)
		} else if search.Order != plant.OrderID && !end.Untagged {
			end.Key = stmt.ColumnText(0)
		}
		return nil
	}, args...)
	return end, err
}

// inSnapshot implements [store.Searcher].
func (s *Store) inSnapshot(
	ctx context.Context, search plant.Search, examine func(context.Context, store.Table) error,
) error {
	if search.NeedsKeys() && s.otherNames.Load() {
		return store.Unavailable(plant.ErrOtherUnicode)
	}
	return s.readMany(ctx, func(conn *sqlite.Conn) error {
		return inTransaction(conn, "BEGIN", func() error { return examine(ctx, searchTable{conn}) })
	})
}
