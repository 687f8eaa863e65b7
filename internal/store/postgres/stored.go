package postgres

import (
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/plant"
)

// whole is the size up to which a plant is read that is read whatever its size.
const whole = math.MaxInt64

// readStored returns the statement that reads the plants with the IDs in $1, and
// with lock locks them, by ID.
//
// It reads a name and a tag only if they have at most as many bytes together as
// $2 says: a create compares them with its own, and larger ones cannot be equal.
// Those that a change needs whole are read until they have $3 bytes; the rest
// waits for the next transaction. Otherwise small writes about large plants would
// fill the memory. The last column says whether the plant was read.
func readStored(lock string) string {
	return `
		SELECT id, CASE WHEN read THEN name END, CASE WHEN read THEN tag END, version, created_at, updated_at, read FROM (
			SELECT *, CASE WHEN most < 9223372036854775807 THEN size <= most
				ELSE sum(CASE WHEN most < 9223372036854775807 THEN 0 ELSE size END) OVER (ORDER BY id) - size < $3
				END AS read
			FROM (
				SELECT plants.id, name, tag, version, created_at, updated_at, most,
					octet_length(name) + coalesce(octet_length(tag), 0) AS size
				FROM plants JOIN unnest($1::BIGINT[], $2::BIGINT[]) AS wanted (id, most) ON wanted.id = plants.id
				WHERE plants.id = ANY($1) ORDER BY plants.id ` + lock + `
			) AS found
		) AS measured ORDER BY id`
}

// storedArgs are the arguments of readStored for the most bytes to read of each
// plant.
func storedArgs(most map[int64]int64) []any {
	ids, sizes := make(int64s, 0, len(most)), make(int64s, 0, len(most))
	for id, size := range most {
		ids, sizes = append(ids, id), append(sizes, size)
	}
	return []any{ids, sizes, int64(maxGroupBytes)}
}

// scanStored reads the rows of readStored and calls found with each.
func scanStored(rows pgx.Rows, found func(p *plant.Plant, read bool)) error {
	_, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (none struct{}, err error) {
		var read bool
		p, err := scanPlantAnd(row, &read)
		if err == nil {
			found(&p, read)
		}
		return none, err
	})
	return err
}
