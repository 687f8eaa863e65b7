// Package operations implements the operations of the document. Those that are not written yet return
// [httpapi.ErrNotWritten], and the contract test lists them.
package operations

import (
	"context"
)

// Statuses is the table of errors: the status that a response has for an error of an operation. Its
// message is that of the error here. Any other error is 500, and only the log has its message.
var Statuses = map[error]int{}

// Service has an exported method for each operation of the document, and no other.
type Service struct{}

// Store is what the operations need, such as a database.
type Store struct{}

// Open opens the store at a path, and returns the operations that use it.
func Open(_ context.Context, _ string) (Service, Store, error) { return Service{}, Store{}, nil }

// Healthy returns an error if the store cannot be used.
func (Store) Healthy(context.Context) error { return nil }

// Close closes what Open has opened.
func (Store) Close() error { return nil }
