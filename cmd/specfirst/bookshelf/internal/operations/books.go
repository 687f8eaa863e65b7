package operations

import (
	"context"
	"net/url"

	"github.com/plantstore/plantstore/cmd/specfirst/bookshelf/gen/server"
	"github.com/plantstore/plantstore/cmd/specfirst/bookshelf/internal/store"
)

// ListBooks implements GET /books. It reads one book more than the page has: there the next page begins.
func (s Service) ListBooks(ctx context.Context, request server.ListBooksRequestObject) (server.ListBooksResponseObject, error) {
	limit, cursor := defaultLimit, ""
	if request.Params.Limit != nil {
		limit = int(*request.Params.Limit)
	}
	if request.Params.Cursor != nil {
		cursor = *request.Params.Cursor
	}
	found, err := s.store.ListBooks(ctx, cursor, limit+1)
	if err != nil {
		return nil, err
	}
	page := server.ListBooks200JSONResponse{Books: []server.Book{}}
	if len(found) > limit {
		page.Next = &found[limit].ISBN
		found = found[:limit]
	}
	for _, book := range found {
		page.Books = append(page.Books, wireBook(book))
	}
	return page, nil
}

// CreateBook implements POST /books.
func (s Service) CreateBook(ctx context.Context, request server.CreateBookRequestObject) (server.CreateBookResponseObject, error) {
	body := request.Body
	book := store.Book{ISBN: body.Isbn, Title: body.Title, Author: body.Author, Year: body.Year}
	if err := s.store.CreateBook(ctx, book); err != nil {
		return nil, err
	}
	return server.CreateBook201JSONResponse{
		Body:    wireBook(book),
		Headers: server.CreateBook201ResponseHeaders{Location: "/books/" + url.PathEscape(book.ISBN)},
	}, nil
}

// GetBook implements GET /books/{isbn}.
func (s Service) GetBook(ctx context.Context, request server.GetBookRequestObject) (server.GetBookResponseObject, error) {
	book, err := s.store.GetBook(ctx, request.Isbn)
	if err != nil {
		return nil, err
	}
	return server.GetBook200JSONResponse(wireBook(book)), nil
}

// ReplaceBook implements PUT /books/{isbn}.
func (s Service) ReplaceBook(ctx context.Context, request server.ReplaceBookRequestObject) (server.ReplaceBookResponseObject, error) {
	body := request.Body
	book := store.Book{ISBN: request.Isbn, Title: body.Title, Author: body.Author, Year: body.Year}
	if err := s.store.ReplaceBook(ctx, book); err != nil {
		return nil, err
	}
	return server.ReplaceBook200JSONResponse(wireBook(book)), nil
}

// DeleteBook implements DELETE /books/{isbn}.
func (s Service) DeleteBook(ctx context.Context, request server.DeleteBookRequestObject) (server.DeleteBookResponseObject, error) {
	if err := s.store.DeleteBook(ctx, request.Isbn); err != nil {
		return nil, err
	}
	return server.DeleteBook204Response{}, nil
}

// wireBook returns a book as the document has it.
func wireBook(book store.Book) server.Book {
	return server.Book{Isbn: book.ISBN, Title: book.Title, Author: book.Author, Year: book.Year}
}
