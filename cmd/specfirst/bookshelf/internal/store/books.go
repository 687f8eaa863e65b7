package store

import (
	"context"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// Book is a book. What is absent is not empty or zero, so optional fields are pointers.
type Book struct {
	ISBN   string
	Title  string
	Author *string
	Year   *int64
}

// CreateBook adds a book, or returns [ErrExists].
func (s *Store) CreateBook(ctx context.Context, book Book) error {
	return s.write(ctx, ErrExists, `INSERT INTO books (isbn, title, author, year) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		book.ISBN, book.Title, nullable(book.Author), nullable(book.Year))
}

// ReplaceBook replaces a book, or returns [ErrNotFound].
func (s *Store) ReplaceBook(ctx context.Context, book Book) error {
	return s.write(ctx, ErrNotFound, `UPDATE books SET title = ?, author = ?, year = ? WHERE isbn = ?`,
		book.Title, nullable(book.Author), nullable(book.Year), book.ISBN)
}

// DeleteBook deletes a book, or returns [ErrNotFound].
func (s *Store) DeleteBook(ctx context.Context, isbn string) error {
	return s.write(ctx, ErrNotFound, `DELETE FROM books WHERE isbn = ?`, isbn)
}

// GetBook returns a book, or [ErrNotFound].
func (s *Store) GetBook(ctx context.Context, isbn string) (Book, error) {
	found, err := s.readBooks(ctx, `SELECT isbn, title, author, year FROM books WHERE isbn = ?`, isbn)
	if err == nil && len(found) == 0 {
		err = ErrNotFound
	}
	return append(found, Book{})[0], err
}

// ListBooks returns at most limit books in the order of their ISBN, from the given one on.
func (s *Store) ListBooks(ctx context.Context, from string, limit int) ([]Book, error) {
	return s.readBooks(ctx, `SELECT isbn, title, author, year FROM books WHERE isbn >= ? ORDER BY isbn LIMIT ?`, from, limit)
}

func (s *Store) readBooks(ctx context.Context, query string, args ...any) (found []Book, err error) {
	err = s.with(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, query, &sqlitex.ExecOptions{Args: args, ResultFunc: func(row *sqlite.Stmt) error {
			book := Book{ISBN: row.ColumnText(0), Title: row.ColumnText(1)}
			if !row.ColumnIsNull(2) {
				book.Author = new(row.ColumnText(2))
			}
			if !row.ColumnIsNull(3) {
				book.Year = new(row.ColumnInt64(3))
			}
			found = append(found, book)
			return nil
		}})
	})
	return found, err
}
