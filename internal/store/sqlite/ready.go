package sqlite

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"
)

// Ready returns nil if the store takes writes, has the schema that this program
// needs, and no statement has found the file damaged. It is a write that changes nothing: it waits for its turn and
// for the lock on the file, but not for the disk. A read would say little, for
// SQLite may answer it from memory whatever has become of the file.
func (s *Store) Ready(ctx context.Context) error {
	if err := s.files.damage(); err != nil {
		return err
	}
	names, err := migrationNames()
	if err != nil {
		return err
	}
	return s.write(ctx, func(conn *sqlite.Conn) error {
		have, err := pragma(conn, "user_version")
		if err == nil && have < int64(len(names)) {
			err = fmt.Errorf("sqlite: schema %d is older than this program, which needs %d", have, len(names))
		}
		return err
	})
}
