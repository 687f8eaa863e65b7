package store

import (
	"context"
	"errors"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/token"
)

// Snapshot is what a store holds at one moment.
type Snapshot interface {
	// Count returns the number of plants.
	Count(ctx context.Context) (int64, error)

	// List returns a page of plants, as the List of [plant.Store] does.
	List(ctx context.Context, page plant.Page) (plants []plant.Plant, more bool, err error)

	// Tokens returns all tokens, oldest first.
	Tokens(ctx context.Context) ([]token.Token, error)
}

// Target is a store that a copy fills. Until Finish has returned, no other program
// reads or writes what it holds: opening it returns [ErrIncomplete], also after the
// copy was killed, and a server that uses it already is not ready and refuses
// writes. A target that was not finished can be opened as a target again, and holds
// what was stored in it.
//
// If two targets are opened for one store, either the second call fails, or every
// later method of the first one returns [ErrSuperseded].
//
// The methods must not be called at the same time.
type Target interface {
	Snapshot // of what the target holds now

	// Replace deletes the plants with the IDs in remove and then stores plants as
	// they are, with their ETags and times. It does all of it durably, or nothing.
	Replace(ctx context.Context, remove []int64, plants []plant.Plant) error

	// ReplaceTokens deletes all tokens and stores these, durably, or does nothing.
	ReplaceTokens(ctx context.Context, tokens []token.Token) error

	// Finish makes the target a store like any other, durably.
	Finish(ctx context.Context) error

	// Close releases the target. If Finish has not returned nil, the store stays
	// incomplete.
	Close() error
}

// ErrIncomplete means that a copy to the store has begun and was not completed.
var ErrIncomplete = errors.New("this store is an incomplete copy; " +
	"run the same plantstore copy again to complete it")

// ErrNotEmpty means that a store cannot be the target of a copy, because it has
// plants or tokens.
var ErrNotEmpty = errors.New("this store already has plants or tokens; a copy needs a new or empty store")

// ErrSuperseded means that another copy to the same store has begun.
var ErrSuperseded = errors.New("another plantstore copy to this store has begun, so this one has stopped")
