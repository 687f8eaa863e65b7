// Package checked serves the shelf with code that oapi-codegen makes with the templates of this project.
package checked

import (
	"context"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/plantstore/plantstore/internal/testing/shelf/shelfapi"
)

// Serve returns the service, behind a middleware that checks requests.
func Serve(check func(http.Handler) http.Handler) http.Handler {
	router := chi.NewRouter()
	router.Group(func(r chi.Router) {
		r.Use(check)
		HandlerFromMux(NewStrictHandler(books{}), r)
	})
	return router
}

// books implements the operations. It keeps nothing.
type books struct{}

var _ StrictServerInterface = books{}

// ListBooks implements [StrictServerInterface].
func (books) ListBooks(_ context.Context, request ListBooksRequestObject) (ListBooksResponseObject, error) {
	return ListBooks200JSONResponse{{Shelf: request.Shelf, Title: "Walden", Weight: request.Params.MinWeight}}, nil
}

// AddBook implements [StrictServerInterface].
func (books) AddBook(_ context.Context, request AddBookRequestObject) (AddBookResponseObject, error) {
	if request.TextBody != nil {
		return AddBook200JSONResponse{Shelf: request.Shelf, Title: *request.TextBody}, nil
	}
	return AddBook200JSONResponse{Shelf: request.Shelf, Title: request.JSONBody.Title, Weight: &request.JSONBody.Weight}, nil
}

// GetEdition implements [StrictServerInterface].
func (books) GetEdition(_ context.Context, request GetEditionRequestObject) (GetEditionResponseObject, error) {
	return GetEdition200JSONResponse{Shelf: shelfapi.Upper, Title: request.Isbn}, nil
}

// ListRatings implements [StrictServerInterface].
func (books) ListRatings(_ context.Context, _ ListRatingsRequestObject) (ListRatingsResponseObject, error) {
	return ListRatings200JSONResponse{}, nil
}
