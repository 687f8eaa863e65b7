package store

import (
	"context"
	"slices"
	"time"

	"github.com/plantstore/plantstore/internal/plant"
)

// Change decides what becomes of the plants with IDs. In one transaction an engine
// locks and reads them, unless they are new, calls Decide, and stores the effect. If
// Decide returns an error, nothing changes.
//
// Decide may run more than once, and only the last run counts. It may still run after
// the change has failed at its deadline.
type Change struct {
	Operation string // for [Durations]
	IDs       []int64

	// New says that the plants are probably not stored, so an engine may try that first.
	New bool

	Decide func(stored Stored) (Effect, error)
}

// Stored returns the stored plant with an ID, or nil.
type Stored = func(id int64) *plant.Plant

// Effect is what a [Change] does: the rows to insert, the rows that replace others, and
// the IDs of the plants to remove, which may not be stored. An engine removes the history of the plants
// in Forget before it adds History.
type Effect struct {
	Insert, Update []PlantRow
	Remove         []int64

	History []plant.HistoryEntry // of each plant in the order of its changes
	Forget  []int64
}

// Apply returns once the effect of a change is durable, or with the error of the change.
type Apply func(ctx context.Context, change Change) error

// Writer implements the methods of [plant.Store] that write, for every engine: what
// becomes of a plant is decided here, and an engine only reads, locks and writes.
type Writer struct {
	Apply     Apply
	NoHistory bool // changes add no entries to the history
}

// StopHistory implements [Store].
func (w *Writer) StopHistory() { w.NoHistory = true }

// entry returns the entry of a change in the history, or none if the store keeps none.
func (w Writer) entry(before plant.Plant, change plant.ChangeKind, at time.Time, by string) []plant.HistoryEntry {
	if w.NoHistory {
		return nil
	}
	return []plant.HistoryEntry{{Plant: before, Change: change, At: at, By: by}}
}

// Create implements [plant.Store].
func (w Writer) Create(ctx context.Context, created plant.Plant) error {
	decide := func(stored Stored) (Effect, error) {
		current := stored(created.ID)
		if current == nil {
			return Effect{Insert: []PlantRow{NewPlantRow(created, nil)}}, nil
		}
		if !current.Same(created) {
			return Effect{}, plant.ErrExists
		}
		return Effect{}, nil
	}
	return w.Apply(ctx, Change{Operation: "create", IDs: []int64{created.ID}, New: true, Decide: decide})
}

// CreateAll implements [plant.Store].
func (w Writer) CreateAll(ctx context.Context, plants []plant.Plant) (created int, err error) {
	ids := make([]int64, len(plants))
	for i, each := range plants {
		ids[i] = each.ID
	}
	inserted := 0
	decide := func(stored Stored) (Effect, error) {
		var effect Effect
		var taken plant.ExistsError
		for i, each := range plants {
			current := stored(each.ID)
			if current == nil {
				effect.Insert = append(effect.Insert, NewPlantRow(each, nil))
			} else if !current.Same(each) {
				taken.Indexes = append(taken.Indexes, i)
			}
		}
		if len(taken.Indexes) > 0 {
			return Effect{}, taken
		}
		inserted = len(effect.Insert)
		return effect, nil
	}
	if err := w.Apply(ctx, Change{Operation: "create_all", IDs: ids, New: true, Decide: decide}); err != nil {
		return 0, err
	}
	return inserted, nil
}

// Put implements [plant.Store].
func (w Writer) Put(
	ctx context.Context, replacement plant.Plant, condition plant.Precondition,
) (stored plant.Plant, created bool, err error) {
	isNew := false // not created: a return would set that while Decide may still run, after the deadline of the write
	put := Change{Operation: "put", IDs: []int64{replacement.ID}}
	stored, err = w.replace(ctx, put, plant.Replaced, condition, func(current *plant.Plant) (plant.Plant, error) {
		isNew = current == nil
		return replacement, nil
	})
	if err != nil {
		return plant.Plant{}, false, err
	}
	return stored, isNew, nil
}

// Patch implements [plant.Store].
func (w Writer) Patch(
	ctx context.Context, id int64, patch plant.Patch, condition plant.Precondition,
) (plant.Plant, error) {
	change := Change{Operation: "patch", IDs: []int64{id}}
	return w.replace(ctx, change, plant.Patched, condition, func(current *plant.Plant) (plant.Plant, error) {
		if current == nil {
			return plant.Plant{}, plant.ErrNotFound
		}
		return patch.Apply(*current), nil
	})
}

// replace stores the result of replacementOf for the plant of a change, unless that is the same, and
// returns it. It calls replacementOf before it checks the precondition: with any precondition, a
// missing plant is [plant.ErrNotFound].
func (w Writer) replace(
	ctx context.Context, change Change, kind plant.ChangeKind, condition plant.Precondition,
	replacementOf func(current *plant.Plant) (plant.Plant, error),
) (plant.Plant, error) {
	var result plant.Plant
	change.Decide = func(stored Stored) (Effect, error) {
		current := stored(change.IDs[0])
		replacement, err := replacementOf(current)
		if err != nil {
			return Effect{}, err
		}
		if err := condition.Check(current); err != nil {
			return Effect{}, err
		}
		if current != nil && current.Same(replacement) {
			result = *current
			return Effect{}, nil
		}
		row := NewPlantRow(replacement, current)
		result = row.Stored()
		if current == nil {
			return Effect{Insert: []PlantRow{row}}, nil
		}
		history := w.entry(*current, kind, result.UpdatedAt, result.ChangedBy)
		return Effect{Update: []PlantRow{row}, History: history}, nil
	}
	if err := w.Apply(ctx, change); err != nil {
		return plant.Plant{}, err // and not result, which Decide may still set
	}
	return result, nil
}

// Delete implements [plant.Store].
func (w Writer) Delete(ctx context.Context, id int64, by string, condition plant.Precondition) error {
	decide := func(stored Stored) (Effect, error) {
		current := stored(id)
		if current == nil {
			return Effect{}, plant.ErrNotFound
		}
		history := w.entry(*current, plant.Deleted, changeTime(current), by)
		return Effect{Remove: []int64{id}, History: history}, condition.Check(current)
	}
	return w.Apply(ctx, Change{Operation: "delete", IDs: []int64{id}, Decide: decide})
}

// Forget implements [Store].
func (w Writer) Forget(ctx context.Context, id int64) error {
	decide := func(Stored) (Effect, error) { return Effect{Remove: []int64{id}, Forget: []int64{id}}, nil }
	return w.Apply(ctx, Change{Operation: "delete", IDs: []int64{id}, Decide: decide})
}

// Group decides the changes of one transaction, one after the other, each with the
// effects of those before it. An engine reads the plants of all changes before that may be stored, and
// writes the effect of all of them afterwards.
type Group struct {
	ids      []int64
	outcomes []outcome // of ids
}

// outcome is what a transaction makes of a plant.
type outcome struct {
	before  *plant.Plant // nil: there is none
	written *PlantRow    // nil: the transaction has not written it
	removed bool

	history   []plant.HistoryEntry
	forgotten bool // its history is removed, except these entries
}

// isInFeed reports whether the feed has a change of the plant: it is another one after the
// transaction, or has another history. One that is created and deleted has an entry of that.
func (o outcome) isInFeed() bool {
	if o.forgotten || len(o.history) > 0 {
		return true
	}
	if o.removed {
		return o.before != nil
	}
	return o.written != nil
}

// NewGroup returns a group of changes of the plants with the given IDs. It keeps and
// changes the slice.
func NewGroup(ids []int64) *Group {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return &Group{ids: ids, outcomes: make([]outcome, len(ids))}
}

// IDs returns the IDs of the plants in ascending order. If all programs lock plants in
// this order, two of them rarely deadlock.
func (g *Group) IDs() []int64 { return g.ids }

func (g *Group) outcome(id int64) *outcome {
	index, _ := slices.BinarySearch(g.ids, id)
	return &g.outcomes[index]
}

// Found records that a plant is stored.
func (g *Group) Found(stored plant.Plant) { g.outcome(stored.ID).before = &stored }

// IsStored reports whether Found was called for a plant.
func (g *Group) IsStored(id int64) bool { return g.outcome(id).before != nil }

// stored returns a plant with the effects of the changes so far, or nil.
func (g *Group) stored(id int64) *plant.Plant {
	switch outcome := g.outcome(id); {
	case outcome.removed:
		return nil
	case outcome.written != nil:
		return new(outcome.written.Stored())
	default:
		return outcome.before
	}
}

// Decide adds the effect of a change, or changes nothing and returns the error of the
// change.
func (g *Group) Decide(change Change) error {
	effect, err := change.Decide(g.stored)
	if err != nil {
		return err
	}
	g.record(effect.Insert)
	g.record(effect.Update)
	for _, id := range effect.Remove {
		g.outcome(id).removed = true
	}
	for _, entry := range effect.History {
		outcome := g.outcome(entry.Plant.ID)
		outcome.history = append(outcome.history, entry)
	}
	for _, id := range effect.Forget {
		outcome := g.outcome(id)
		outcome.forgotten, outcome.history = true, nil
	}
	return nil
}

// record records rows that a change writes.
func (g *Group) record(rows []PlantRow) {
	for i := range rows {
		outcome := g.outcome(rows[i].ID)
		outcome.written, outcome.removed = &rows[i], false
	}
}

// Effect returns the effect of all changes, and the IDs of the plants that the feed has changes of,
// in ascending order.
func (g *Group) Effect() (effect Effect, changed []int64) {
	for i, outcome := range g.outcomes {
		if !outcome.isInFeed() {
			continue
		}
		changed = append(changed, g.ids[i])
		effect.History = append(effect.History, outcome.history...)
		if outcome.forgotten {
			effect.Forget = append(effect.Forget, g.ids[i])
		}
		switch {
		case outcome.removed:
			effect.Remove = append(effect.Remove, g.ids[i])
		case outcome.before == nil:
			effect.Insert = append(slices.Grow(effect.Insert, len(g.ids)-i), *outcome.written)
		default:
			effect.Update = append(effect.Update, *outcome.written)
		}
	}
	return effect, changed
}
