package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
)

// checkNames returns an error if a page is in the order of names, unless the names have keys
// of this program.
func checkNames(ctx context.Context, conn *pgx.Conn, page plant.Page) error {
	if page.ByName == nil {
		return nil
	}
	version, err := number(ctx, conn, namesRow, "")
	if err == nil && int64(version) != plant.NameKeyVersion {
		err = permanent{store.Unavailable(plant.ErrOtherUnicode)}
	}
	return err
}
