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

	// StopHistory lets later changes add no entries to the history. It is called before the first
	// of them.
	StopHistory()

	// ForgetHistory removes the entries of the history that are older than a time, in pieces for
	// which no write waits long.
	ForgetHistory(ctx context.Context, before time.Time) error

	// Forget removes a plant and its history, and adds a change of the plant to the feed, also if
	// the plant does not exist.
	Forget(ctx context.Context, id int64) error

	// Ready returns nil if reads work, and otherwise the reason why they do not. It asks
	// the database what reads ask, and returns when ctx ends.
	Ready(ctx context.Context) error

	// Writable returns nil if writes work, and otherwise the reason why they do not. Its
	// write goes the way of all others, leaves nothing behind, and no reader sees it. After
	// a write that has failed with [plant.ErrUnavailable], Writable makes a durable one that
	// needs space on the disk, until one succeeds. It returns when ctx ends.
	Writable(ctx context.Context) error

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
	// List returns a page of plants, as the List of [plant.Store] does.
	List(ctx context.Context, page plant.Page) (plants []plant.Plant, more bool, err error)

	// History returns entries of the history of all plants with a greater Number, in ascending
	// order, and whether others follow.
	History(ctx context.Context, after int64, limit int) (entries []plant.HistoryEntry, more bool, err error)

	// Tokens returns all tokens, oldest first.
	Tokens(ctx context.Context) ([]token.Token, error)

	// State returns what tells whether the plants have changed. It does not read them.
	State(ctx context.Context) (State, error)
}

// State is what tells whether the plants of a store have changed. Without a feed of changes
// only their number tells it.
type State struct {
	Plants     int64 // how many there are
	Epoch      int64 // the newest epoch of the feed; see [plant.Position]
	LastChange int64 // the number of the last transaction in the feed
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

// Target is an empty store that a copy fills. Nobody else sees what was added until Publish
// has returned nil. If the process is killed before, the store is empty, or does not exist.
// Of two targets for one store, the second one is refused.
//
// The methods must not be called at the same time.
type Target interface {
	Snapshot // of what was added

	// AddPlants adds plants as they are, with their ETags and times.
	AddPlants(ctx context.Context, plants []plant.Plant) error

	// AddHistory adds entries of the history as they are.
	AddHistory(ctx context.Context, entries []plant.HistoryEntry) error

	// AddTokens adds tokens as they are.
	AddTokens(ctx context.Context, tokens []token.Token) error

	// Publish makes the target a store like any other, durably and in one step.
	Publish(ctx context.Context) error

	// Close releases the target. Unless Publish has returned nil, all that was added is
	// discarded.
	Close() error
}

// ErrNotEmpty means that a store cannot be the target of a copy, because it has
// plants, tokens or a history.
var ErrNotEmpty = errors.New("this store already has plants, tokens or a history; a copy needs a new or empty store")
