package operations

import (
	"context"

	"github.com/plantstore/plantstore/cmd/specfirst/bookshelf/gen/server"
	"github.com/plantstore/plantstore/cmd/specfirst/bookshelf/internal/store"
)

// defaultLimit is the default of the parameter limit in the document.
const defaultLimit = 100

// ListBooks implements GET /books. It reads one book more than the page has: there the next page begins.
func (s Service) ListBooks(ctx context.Context, request server.ListBooksRequestObject) (server.ListBooksResponseObject, error) {
	limit, cursor := defaultLimit, ""
	if request.Params.Limit != nil {
		limit = int(*request.Params.Limit)
	}
	if request.Params.Cursor != nil {
		cursor = *request.Params.Cursor
	}
	found, err := s.books.List(ctx, cursor, limit+1)
	if err != nil {
		return nil, err
	}
	page := server.ListBooks200JSONResponse{Books: []server.Book{}}
	if len(found) > limit {
		page.Next = &found[limit].ISBN
		found = found[:limit]
	}
	for _, book := range found {
		page.Books = append(page.Books, toWire(book))
	}
	return page, nil
}

// CreateBook implements POST /books.
func (s Service) CreateBook(ctx context.Context, request server.CreateBookRequestObject) (server.CreateBookResponseObject, error) {
	body := request.Body
	book := store.Book{ISBN: body.Isbn, Title: body.Title, Author: body.Author, Year: body.Year}
	if err := s.books.Create(ctx, book); err != nil {
		return nil, err
	}
	return server.CreateBook201JSONResponse{
		Body:    toWire(book),
		Headers: server.CreateBook201ResponseHeaders{Location: "/books/" + book.ISBN},
	}, nil
}

// GetBook implements GET /books/{isbn}.
func (s Service) GetBook(ctx context.Context, request server.GetBookRequestObject) (server.GetBookResponseObject, error) {
	book, err := s.books.Get(ctx, request.Isbn)
	if err != nil {
		return nil, err
	}
	return server.GetBook200JSONResponse(toWire(book)), nil
}

// ReplaceBook implements PUT /books/{isbn}.
func (s Service) ReplaceBook(ctx context.Context, request server.ReplaceBookRequestObject) (server.ReplaceBookResponseObject, error) {
	body := request.Body
	book := store.Book{ISBN: request.Isbn, Title: body.Title, Author: body.Author, Year: body.Year}
	if err := s.books.Replace(ctx, book); err != nil {
		return nil, err
	}
	return server.ReplaceBook200JSONResponse(toWire(book)), nil
}

// DeleteBook implements DELETE /books/{isbn}.
func (s Service) DeleteBook(ctx context.Context, request server.DeleteBookRequestObject) (server.DeleteBookResponseObject, error) {
	if err := s.books.Delete(ctx, request.Isbn); err != nil {
		return nil, err
	}
	return server.DeleteBook204Response{}, nil
}

func toWire(book store.Book) server.Book {
	return server.Book{Isbn: book.ISBN, Title: book.Title, Author: book.Author, Year: book.Year}
}
