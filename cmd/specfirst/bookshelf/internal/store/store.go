// Package store keeps what the operations work with in a SQLite file: a file for each noun, and here what they share. A write is on
// the disk when its method returns.
package store

import (
	"context"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitemigration"
	"zombiezen.com/go/sqlite/sqlitex"
)

// What can go wrong. The table of internal/operations gives each its status.
var (
	ErrNotFound = errors.New("nothing has this key")
	ErrExists   = errors.New("another one has this key")
)

// schema has the steps that made the tables. A step that has run anywhere is never changed: add another one.
var schema = sqlitemigration.Schema{Migrations: []string{
	`CREATE TABLE books (isbn TEXT PRIMARY KEY, title TEXT NOT NULL, author TEXT, year INTEGER) STRICT, WITHOUT ROWID;`,
}}

// Store is a SQLite file.
type Store struct{ pool *sqlitex.Pool }

// Open opens the file, which is created if there is none, and brings its tables up to date.
func Open(ctx context.Context, path string) (*Store, error) {
	pool, err := sqlitex.NewPool(path, sqlitex.PoolOptions{PrepareConn: func(conn *sqlite.Conn) error {
		// With less, a power cut may lose the last writes.
		return sqlitex.ExecuteTransient(conn, "PRAGMA synchronous = FULL", nil)
	}})
	if err != nil {
		return nil, fmt.Errorf("open the store %s: %w", path, err)
	}
	store := &Store{pool}
	err = store.with(ctx, func(conn *sqlite.Conn) error { return sqlitemigration.Migrate(ctx, conn, schema) })
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the store %s: %w", path, err), pool.Close())
	}
	return store, nil
}

// Close waits for running calls and closes the file.
func (s *Store) Close() error { return s.pool.Close() }

// Healthy returns an error if the file cannot be read.
func (s *Store) Healthy(ctx context.Context) error {
	return s.with(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, "SELECT 1 FROM sqlite_schema LIMIT 1", nil)
	})
}

// write runs a statement that changes one row. If it has changed none, the error is that of unchanged.
func (s *Store) write(ctx context.Context, unchanged error, statement string, args ...any) error {
	return s.with(ctx, func(conn *sqlite.Conn) error {
		if err := sqlitex.Execute(conn, statement, &sqlitex.ExecOptions{Args: args}); err != nil {
			return err
		}
		if conn.Changes() == 0 {
			return unchanged
		}
		return nil
	})
}

// with calls a function with a connection. A write waits while another one runs.
func (s *Store) with(ctx context.Context, call func(*sqlite.Conn) error) error {
	conn, err := s.pool.Take(ctx)
	if err != nil {
		return err
	}
	defer s.pool.Put(conn)
	return call(conn)
}

// nullable returns a value as an argument of a statement, NULL if it is absent.
func nullable[T any](value *T) any {
	if value == nil {
		return nil
	}
	return *value
}
