package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/store"
)

// OpenSource opens the database with the given URL as the source of a copy. It writes
// nothing.
func OpenSource(ctx context.Context, dsn string) (store.Source, error) {
	config, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	return connect(ctx, config, checkSource)
}

// checkSource returns an error unless the database has a complete store with the schema
// of this program.
func checkSource(ctx context.Context, conn *pgx.Conn) error {
	have, err := number(ctx, conn, versionRow, "")
	switch {
	case code(err) == undefinedTable, errors.Is(err, pgx.ErrNoRows), err == nil && have == 0:
		return fmt.Errorf("database %s has no tables of plantstore: check the name of the database", conn.Config().Database)
	case err != nil:
		return err
	case have < known:
		return store.OldSchema(have, known)
	}
	if err := checkComplete(ctx, conn); err != nil {
		return err
	}
	if have > known {
		return checkOldest(ctx, conn, have)
	}
	return nil
}

// Same reports whether two URLs lead to the same tables: to one schema of one database of
// one server or of its replicas. If the server does not tell, Same reports false.
func Same(ctx context.Context, one, other string) (bool, error) {
	first, err := place(ctx, one)
	if err != nil || first == "" {
		return false, err
	}
	second, err := place(ctx, other)
	return first == second, err
}

// place returns a text that identifies the tables of a URL in the world, or "".
func place(ctx context.Context, dsn string) (text string, err error) {
	config, err := parse(dsn)
	if err != nil {
		return "", err
	}
	s, err := connect(ctx, config, func(ctx context.Context, conn *pgx.Conn) error {
		err := conn.QueryRow(ctx, `
			SELECT concat_ws(' ', system_identifier, oid, current_schema())
			FROM pg_control_system(), pg_database WHERE datname = current_database()`).Scan(&text)
		if code(err) == undefinedFunction || code(err) == undefinedTable || code(err) == notAllowed {
			return nil // not PostgreSQL, but compatible with it
		}
		return err
	})
	if err != nil {
		return "", err
	}
	return text, s.Close()
}
