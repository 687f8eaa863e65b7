package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
)

// namesSchema is the lowest schema version whose program writes the keys of names.
const namesSchema = 4

// namesVersion reads the [plant.NameKeyVersion] of the keys of all names, or 0 if some have
// no key.
const namesVersion = `SELECT coalesce((SELECT version FROM plantstore_schema WHERE id = 4), 0)`

// checkNames returns an error if a page is in the order of names, unless every name has a
// key of this program.
func checkNames(ctx context.Context, conn *pgx.Conn, page plant.Page) error {
	if page.ByName == nil {
		return nil
	}
	var version int64
	err := conn.QueryRow(ctx, namesVersion).Scan(&version)
	if err == nil && version != plant.NameKeyVersion {
		err = permanent{store.Unavailable(plant.ErrNoNames)}
	}
	return err
}

// IndexNames gives a key to every name of a database that an earlier release created, and
// calls progress with the number of plants that have one. Programs of this release can
// write meanwhile, those of earlier releases cannot write from then on. It can be
// interrupted and run again.
func IndexNames(ctx context.Context, dsn string, progress func(plants int)) (err error) {
	s, err := Open(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.on(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		var version int64
		err := conn.QueryRow(ctx, namesVersion).Scan(&version)
		if err != nil || version == plant.NameKeyVersion {
			return err
		}
		err = pgx.BeginTxFunc(ctx, conn, readCommitted, func(tx pgx.Tx) error { return requireNames(ctx, tx, 0) })
		if err != nil {
			return explain(schemaError{len(schema), len(schema), err}, conn.Config())
		}
		index := func(page plant.Page) ([]plant.Plant, error) { return indexPage(ctx, conn, page) }
		if err := store.IndexNames(index, progress); err != nil {
			return err
		}
		_, err = conn.Exec(ctx, setNumber, namesRow, plant.NameKeyVersion)
		return err
	})
}

// requireNames keeps out programs that write no keys, and stores the version of the keys.
func requireNames(ctx context.Context, tx pgx.Tx, version int64) error {
	var b pgx.Batch
	requireMark(&b, "named", namesSchema)
	b.Queue(setNumber, namesRow, version)
	return tx.SendBatch(ctx, &b).Close()
}

// storeKey stores the key of a name, unless the plant has changed since it was read.
const storeKey = `UPDATE plants SET name_key = $1 WHERE id = $2 AND version = $3 AND name_key IS DISTINCT FROM $1`

// indexPage stores the keys of a page of plants, and returns the plants.
func indexPage(ctx context.Context, conn *pgx.Conn, page plant.Page) ([]plant.Plant, error) {
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	plants, _, err := listPlants(ctx, conn, page)
	if err != nil {
		return nil, err
	}
	rows, err := store.RowsOf(plants)
	if err != nil {
		return nil, err
	}
	var b pgx.Batch
	b.Queue(beginWrite)
	for _, row := range rows {
		b.Queue(storeKey, []byte(row.NameKey), row.ID, row.Version)
	}
	b.Queue(`COMMIT`)
	return plants, conn.SendBatch(ctx, &b).Close()
}
