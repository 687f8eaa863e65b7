package postgres

import (
	"math"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
)

// whole as the size up to which a plant is read means that it is always read.
const whole = math.MaxInt64

var (
	selectStored = storedStatement("")
	lockStored   = storedStatement("FOR UPDATE OF plants")
)

// storedStatement returns the statement that reads the plants with the IDs in $1 by
// ascending ID. The text lock is empty or locks their rows.
//
// The texts of a plant are read only if they have at most as many bytes as its
// element of $2: a create compares them with its own, and longer texts cannot be
// equal. Plants with the size $4, which is whole, are read until they have $3
// bytes together; the others are read in the next transaction. Without these
// bounds, small writes to large plants would fill the memory. The last column
// says whether the texts were read.
func storedStatement(lock string) string {
	var names []string
	for _, c := range storedColumns {
		if isText(c) {
			names = append(names, "CASE WHEN read THEN "+c.Name+" END")
		} else {
			names = append(names, c.Name)
		}
	}
	return `
		SELECT ` + strings.Join(names, ", ") + `, read FROM (
			SELECT *, CASE WHEN max_size < $4 THEN size <= max_size
				ELSE sum(CASE WHEN max_size < $4 THEN 0 ELSE size END) OVER (ORDER BY id) - size < $3
				END AS read
			FROM (
				SELECT ` + storedColumns.each("plants.NAME", ", ") + `, max_size, ` + plantSize + ` AS size
				FROM plants JOIN unnest($1::BIGINT[], $2::BIGINT[]) AS wanted (id, max_size) ON wanted.id = plants.id
				WHERE plants.id = ANY($1) ORDER BY plants.id ` + lock + `
			) AS found
		) AS measured ORDER BY id`
}

// storedArgs returns the arguments of selectStored and lockStored. The map has the size up to
// which each plant is read.
func storedArgs(sizes map[int64]int64) []any {
	var ids, maxSizes []int64
	for id, size := range sizes {
		ids, maxSizes = append(ids, id), append(maxSizes, size)
	}
	return []any{ids, maxSizes, int64(maxGroupBytes), int64(whole)}
}

// scanStored reads the rows of selectStored or lockStored and calls found with
// each.
func scanStored(rows pgx.Rows, found func(p *plant.Plant, read bool)) error {
	var row store.PlantRow
	var read bool
	_, err := pgx.ForEachRow(rows, storedColumns.targets(&row, &read), func() error {
		found(new(row.Stored()), read)
		return nil
	})
	return err
}
