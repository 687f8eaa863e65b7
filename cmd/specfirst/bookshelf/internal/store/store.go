// Package store keeps books in a SQLite file. A write is on the disk when its method returns.
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
	ErrNotFound = errors.New("there is no such book")
	ErrExists   = errors.New("another book has this ISBN")
)

// Book is a book. A text that is absent is not an empty one, so optional ones are pointers.
type Book struct {
	ISBN, Title string
	Author      *string
	Year        *int32
}

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
	return s.with(ctx, func(conn *sqlite.Conn) error { return sqlitex.Execute(conn, "SELECT 1 FROM books LIMIT 1", nil) })
}

// Create adds a book, or returns [ErrExists].
func (s *Store) Create(ctx context.Context, book Book) error {
	return s.write(ctx, ErrExists, `INSERT INTO books (isbn, title, author, year) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		book.ISBN, book.Title, nullable(book.Author), nullable(book.Year))
}

// Replace replaces a book, or returns [ErrNotFound].
func (s *Store) Replace(ctx context.Context, book Book) error {
	return s.write(ctx, ErrNotFound, `UPDATE books SET title = ?, author = ?, year = ? WHERE isbn = ?`,
		book.Title, nullable(book.Author), nullable(book.Year), book.ISBN)
}

// Delete deletes a book, or returns [ErrNotFound].
func (s *Store) Delete(ctx context.Context, isbn string) error {
	return s.write(ctx, ErrNotFound, `DELETE FROM books WHERE isbn = ?`, isbn)
}

// Get returns a book, or [ErrNotFound].
func (s *Store) Get(ctx context.Context, isbn string) (Book, error) {
	found, err := s.read(ctx, `SELECT isbn, title, author, year FROM books WHERE isbn = ?`, isbn)
	if err == nil && len(found) == 0 {
		err = ErrNotFound
	}
	return append(found, Book{})[0], err
}

// List returns at most limit books in the order of their ISBN, from the given one on.
func (s *Store) List(ctx context.Context, from string, limit int) ([]Book, error) {
	return s.read(ctx, `SELECT isbn, title, author, year FROM books WHERE isbn >= ? ORDER BY isbn LIMIT ?`, from, limit)
}

func (s *Store) read(ctx context.Context, query string, args ...any) (found []Book, err error) {
	err = s.with(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, query, &sqlitex.ExecOptions{Args: args, ResultFunc: func(row *sqlite.Stmt) error {
			book := Book{ISBN: row.ColumnText(0), Title: row.ColumnText(1)}
			if !row.ColumnIsNull(2) {
				book.Author = new(row.ColumnText(2))
			}
			if !row.ColumnIsNull(3) {
				book.Year = new(row.ColumnInt32(3))
			}
			found = append(found, book)
			return nil
		}})
	})
	return found, err
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
