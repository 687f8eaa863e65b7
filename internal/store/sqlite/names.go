package sqlite

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
)

// namesVersion is the [plant.NameKeyVersion] of the keys of all names, or 0 if some have no
// key.
const namesVersion = "coalesce((SELECT version FROM name_keys), 0)"

// nameIndexQuery makes the index of the order of names. If the keys are equal, that is the
// order of ids: the id is the rowid, which every entry ends with. A store whose names have no
// keys has no index: made after them, it takes a quarter of the time for a million plants.
const nameIndexQuery = "CREATE INDEX IF NOT EXISTS plants_by_name ON plants (name_key)"

// namedQuery records that every name has a key of this program.
var namedQuery = fmt.Sprint("REPLACE INTO name_keys (id, version) VALUES (1, ", plant.NameKeyVersion, ")")

const indexNameQuery = "UPDATE plants SET name_key = ?2 WHERE id = ?1 AND name_key IS NOT ?2"

// checkNames returns an error unless every name has a key of this program.
func checkNames(conn *sqlite.Conn) error {
	version, err := number(conn, "SELECT "+namesVersion)
	if err == nil && version != plant.NameKeyVersion {
		err = store.Unavailable(plant.ErrNoNames)
	}
	return err
}

// IndexNames gives a key to every name of the store in the file at path, which an earlier
// release created, and calls progress with the number of plants that have one. It can be
// interrupted and run again. It fails if another program has the file open: that may be a
// program that writes no keys.
func IndexNames(ctx context.Context, path string, progress func(plants int)) error {
	return upgrade(ctx, path, "index the names of", "SELECT "+namesVersion+" = "+fmt.Sprint(plant.NameKeyVersion),
		func(conn *sqlite.Conn) error {
			index := func(page plant.Page) (plants []plant.Plant, err error) {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				err = inTransaction(conn, "BEGIN IMMEDIATE", func() (err error) {
					plants, _, err = listPlants(conn, page)
					for i := 0; i < len(plants) && err == nil; i++ {
						err = execute(conn, indexNameQuery, plants[i].ID, plant.NameKey(plants[i].Name))
					}
					return err
				})
				return plants, err
			}
			if err := executeAll(conn, "DELETE FROM name_keys", "DROP INDEX IF EXISTS plants_by_name"); err != nil {
				return err
			}
			if err := store.IndexNames(index, progress); err != nil {
				return err
			}
			return executeAll(conn, nameIndexQuery, namedQuery)
		})
}
