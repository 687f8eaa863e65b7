// Package operations implements the operations of the document: a file for each noun, and here what
// they share.
package operations

import (
	"context"
	"net/http"

	"github.com/plantstore/plantstore/cmd/specfirst/bookshelf/gen/server"
	"github.com/plantstore/plantstore/cmd/specfirst/bookshelf/internal/store"
)

// Statuses is the table of errors: the status that a response has for an error of an operation. Its
// message is that of the error here. Any other error is 500, and only the log has its message.
var Statuses = map[error]int{
	store.ErrNotFound: http.StatusNotFound,
	store.ErrExists:   http.StatusConflict,
}

// defaultLimit is the default of the parameter limit in the document.
const defaultLimit = 100

// Service has an exported method for each operation of the document, and no other.
type Service struct{ store *store.Store }

var _ server.StrictServerInterface = Service{}

// Open opens the store, and returns the operations that use it.
func Open(ctx context.Context, path string) (Service, *store.Store, error) {
	opened, err := store.Open(ctx, path)
	return Service{opened}, opened, err
}
