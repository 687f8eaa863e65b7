package sqlite

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"
)

// Ready returns nil if the store accepts writes, has the schema that this
// program needs, and no statement has found the file to be damaged. It runs a
// write that changes nothing: it waits in the queue and for the lock on the
// file, but not for the disk. A read would not be enough, because SQLite may
// read from memory even if the file is gone.
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
			err = fmt.Errorf("sqlite: the file has schema %d, this program needs %d", have, len(names))
		}
		return err
	})
}
