package postgres

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Ready returns nil if a server that accepts writes responds and has the schema
// that this program needs. It does not retry; after a lost connection, or one to a
// server that became a standby, the idle connections are closed, so that the next
// call connects again. Once an error has shown that prepared statements do not
// work, the store is not ready until it is opened with another URL.
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
		if have, err = number(ctx, conn, versionRow, ""); err != nil {
			return err
		}
		return checkComplete(ctx, conn)
	})
	if s.pooled.Load() { // then some requests fail and others succeed
		return fmt.Errorf("postgres: %w", errPooled)
	}
	if err != nil {
		s.resetIfLost(err)
		return fmt.Errorf("postgres: %w", err)
	}
	if have < len(names) {
		return fmt.Errorf("postgres: schema %d of the database is older than this program, which needs schema %d", have, len(names))
	}
	return nil
}
