package sqlite

import (
	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
)

// checkNames returns an error unless the names have keys of this program.
func checkNames(conn *sqlite.Conn) error {
	version, err := number(conn, "SELECT version FROM name_keys")
	if err == nil && version != plant.NameKeyVersion {
		err = store.Unavailable(plant.ErrOtherUnicode)
	}
	return err
}
