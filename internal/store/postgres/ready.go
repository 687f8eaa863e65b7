package postgres

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Ready returns nil if a server that may write answers and has the schema that
// this program needs. It asks once; connections to a server that is gone, or is
// a standby by now, are dropped, so that the next question finds another one.
// Once an error has shown that prepared statements do not work, the store is not
// ready until it is opened with another URL.
func (s *Store) Ready(ctx context.Context) error {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	var have int
	err = s.on(ctx, func(ctx context.Context, conn *pgx.Conn) (err error) {
		if err := pgconn.ValidateConnectTargetSessionAttrsReadWrite(ctx, conn.PgConn()); err != nil {
			return err
		}
		have, err = number(ctx, conn, versionRow, "")
		return err
	})
	if s.pooled.Load() { // some requests fail, and others do not
		return fmt.Errorf("postgres: %w", errPooled)
	}
	if err != nil {
		s.suspect(err)
		return fmt.Errorf("postgres: %w", err)
	}
	if have < len(names) {
		return fmt.Errorf("postgres: schema %d is older than this program, which needs %d", have, len(names))
	}
	return nil
}
