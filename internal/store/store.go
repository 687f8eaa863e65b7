// Package store defines the interface of the stores: plants, tokens, and health
// and metrics for operators. The packages sqlite and postgres implement it; the
// package open opens one of them by its URL.
//
// It also has what both engines share: what a write does ([Writer], [Group]) and the rows that
// it stores ([PlantRow]), the rules of the feed of changes ([FeedState]), and what operators see of a store ([WriteFailure], [Durations]).
package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/token"
)

// Store stores plants and tokens. Its methods may be called from several
// goroutines at the same time.
type Store interface {
	plant.Store
	token.Store

	// BeginEpoch begins an epoch of the feed of changes; see [plant.Position]. A server
	// calls it before its first request, and a program that replaces the content of
	// the store afterwards. It does nothing if the store has no feed.
	BeginEpoch(ctx context.Context) error

	// ForgetChanges forgets which plants were changed before a time. It need not
	// forget the newest transaction.
	ForgetChanges(ctx context.Context, before time.Time) error

	// Ready returns nil if reads work, and otherwise the reason why they do not. It asks
	// the database what reads ask, and returns when ctx ends.
	Ready(ctx context.Context) error

	// Writable returns nil if writes work, and otherwise the reason why they do not: the
	// WriteFailure, or the error of asking the database what writes ask. It leaves nothing
	// behind, and returns when ctx ends.
	Writable(ctx context.Context) error

	// WriteFailure returns the error of the last write that failed with
	// [plant.ErrUnavailable]. It returns nil if there was none since the last TryWrite
	// that succeeded.
	WriteFailure() error

	// TryWrite makes a durable write that needs space on the disk and leaves nothing
	// behind. No reader sees it.
	TryWrite(ctx context.Context) error

	// Schema returns the number of migrations that were applied when the store was
	// opened (0: it was created), and the number now.
	Schema() (found, now int)

	// Watch starts to log what happens to the files or servers of the store. It
	// must not be called more than once.
	Watch(log *slog.Logger)

	// Snapshot calls read with what the store holds at one moment: writes that
	// commit meanwhile are not in it. Only a store in memory makes writes wait until
	// read returns. The snapshot must not be used after that.
	Snapshot(ctx context.Context, read func(Snapshot) error) error

	// Metrics returns the metrics of the store. It returns the same collectors at
	// every call.
	Metrics() []prometheus.Collector

	// Close waits for running calls and closes the store. No method may be
	// called after it.
	Close() error
}

// Snapshot is what a store holds at one moment.
type Snapshot interface {
	// Count returns the number of plants.
	Count(ctx context.Context) (int64, error)

	// List returns a page of plants, as the List of [plant.Store] does.
	List(ctx context.Context, page plant.Page) (plants []plant.Plant, more bool, err error)

	// Tokens returns all tokens, oldest first.
	Tokens(ctx context.Context) ([]token.Token, error)

	// Epochs returns the epochs of the feed of changes, newest first; see
	// [plant.Position]. There is none if the store has no feed.
	Epochs(ctx context.Context) ([]int64, error)

	// LastChange returns the number of the last transaction in the feed of changes, or 0
	// if there is none. It is fast, and every change of a plant raises it if there is a feed.
	LastChange(ctx context.Context) (int64, error)
}

// Source is a store that a copy reads, and does not change. A [Store] is one. A store
// that is opened only as a source keeps its schema: an old one is refused.
type Source interface {
	// Snapshot calls read with what the store holds at one moment, as the Snapshot of
	// [Store] does.
	Snapshot(ctx context.Context, read func(Snapshot) error) error

	// Close releases the source.
	Close() error
}

// OldSchema returns the error of opening a store that must not be changed and has fewer
// migrations than this program knows.
func OldSchema(have, need int) error {
	return fmt.Errorf("this store has schema %d and this program needs schema %d; "+
		"neither copy nor serve --read-only changes it: run plantstore migrate on it first", have, need)
}

// Target is a store that a copy fills. Until Finish has returned, no other program
// reads or writes what it holds: opening it returns [ErrIncomplete], also after the
// copy was killed, and every call of a store that uses it already fails with
// [plant.ErrUnavailable] and [token.ErrUnavailable]. A target that was not finished can
// be opened as a target again, and holds what was stored in it.
//
// It is opened with the epochs of the source, and remembers the newest one until
// Finish. An incomplete target is refused with [ErrOtherSource] if the source does not
// have that epoch: it was begun with another source.
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

// ErrOtherSource means that a copy from another store to this one was not completed.
var ErrOtherSource = errors.New("this store is an incomplete copy of another store: " +
	"complete it with plantstore copy from that one, or give a new store")

// SourceNumber is the number of the row of the table epochs in which an incomplete target
// keeps the epoch of its source.
const SourceNumber = -1

// ErrNotEmpty means that a store cannot be the target of a copy, because it has
// plants or tokens.
var ErrNotEmpty = errors.New("this store already has plants or tokens; a copy needs a new or empty store")

// ErrSuperseded means that another copy to the same store has begun.
var ErrSuperseded = errors.New("another plantstore copy to this store has begun, so this one has stopped")
