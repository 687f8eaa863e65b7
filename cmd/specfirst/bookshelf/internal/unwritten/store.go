// Package store is where the operations keep what they work with. It keeps nothing yet.
package store

import (
	"context"
	"errors"
)

// What can go wrong. The table of internal/operations gives each its status.
var (
	ErrNotFound = errors.New("nothing has this key")
	ErrExists   = errors.New("another one has this key")
)

// Store is what the operations need, such as a database.
type Store struct{}

// Open opens the store at a path.
func Open(_ context.Context, _ string) (*Store, error) { return &Store{}, nil }

// Close closes what Open has opened.
func (*Store) Close() error { return nil }

// Healthy returns an error if the store cannot be used.
func (*Store) Healthy(context.Context) error { return nil }
