package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/shell"
)

// Litestream copies the log to object storage while a service runs. For that it has two
// tables of its own in the file. `litestream restore` makes a file with these tables, too.

const (
	litestreamTables = "SELECT count(*) FROM sqlite_schema WHERE name GLOB '_litestream_*'"

	// newQuery reads whether a file is empty, or has only the tables of Litestream, which may open an
	// empty file before this program does. A program has used a file whose tables are all deleted.
	newQuery = `
		SELECT application_id = 0 AND (schema_version = 0 OR
			(SELECT count(*) > 0 AND min(name GLOB '_litestream_*') = 1 FROM sqlite_schema))
		FROM pragma_application_id, pragma_schema_version`
)

// dropLitestream removes the tables of Litestream from a copy: nothing has copied it yet.
func dropLitestream(conn *sqlite.Conn) error {
	return executeAll(conn, "DROP TABLE IF EXISTS _litestream_seq", "DROP TABLE IF EXISTS _litestream_lock")
}

// unused reports whether no program has used the database at path here since it was put
// there: there is neither a log nor the directory that Litestream makes beside it.
func unused(path string) bool {
	info, err := os.Stat(path)
	if err != nil || info.Size() == 0 {
		return false
	}
	return nothingBeside(path) && nothingBeside(resolve(path))
}

// nothingBeside reports whether a database has neither a log nor the directory of Litestream.
func nothingBeside(path string) bool {
	_, logErr := os.Lstat(path + "-wal")
	_, directoryErr := os.Lstat(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"-litestream"))
	return errors.Is(logErr, os.ErrNotExist) && errors.Is(directoryErr, os.ErrNotExist)
}

// checkRestored returns an error if the file at path, which was unused, comes from
// Litestream and not from [Copy]: nothing has checked its content.
func checkRestored(conn *sqlite.Conn, path string) error {
	tables, err := number(conn, litestreamTables)
	if err != nil {
		return err
	}
	if tables > 0 {
		return fmt.Errorf("this file comes from Litestream and was not checked; give it another name, such as "+
			"%s.replica, and run plantstore restore --store %s %s", path, shell.Quote(path), shell.Quote(path+".replica"))
	}
	return nil
}
