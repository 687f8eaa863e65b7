package store

import (
	"context"
	"slices"

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
// the IDs of the plants to remove.
type Effect struct {
	Insert, Update []PlantRow
	Remove         []int64
}

// Apply returns once the effect of a change is durable, or with the error of the change.
type Apply func(ctx context.Context, change Change) error

// Writer implements the methods of [plant.Store] that write, for every engine: what
// becomes of a plant is decided here, and an engine only reads, locks and writes.
type Writer struct{ Apply Apply }

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
	stored, err = w.replace(ctx, "put", replacement.ID, condition, func(current *plant.Plant) (plant.Plant, error) {
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
	return w.replace(ctx, "patch", id, condition, func(current *plant.Plant) (plant.Plant, error) {
		if current == nil {
			return plant.Plant{}, plant.ErrNotFound
		}
		return patch.Apply(*current), nil
	})
}

// replace stores the result of replacementOf for a plant, unless that is the same, and returns
// it. It calls replacementOf before it checks the precondition: with any precondition, a
// missing plant is [plant.ErrNotFound].
func (w Writer) replace(
	ctx context.Context, operation string, id int64, condition plant.Precondition,
	replacementOf func(current *plant.Plant) (plant.Plant, error),
) (plant.Plant, error) {
	var result plant.Plant
	decide := func(stored Stored) (Effect, error) {
		current := stored(id)
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
		return Effect{Update: []PlantRow{row}}, nil
	}
	if err := w.Apply(ctx, Change{Operation: operation, IDs: []int64{id}, Decide: decide}); err != nil {
		return plant.Plant{}, err // and not result, which Decide may still set
	}
	return result, nil
}

// Delete implements [plant.Store].
func (w Writer) Delete(ctx context.Context, id int64, condition plant.Precondition) error {
	decide := func(stored Stored) (Effect, error) {
		current := stored(id)
		if current == nil {
			return Effect{}, plant.ErrNotFound
		}
		return Effect{Remove: []int64{id}}, condition.Check(current)
	}
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
}

// changesPlant reports whether the plant is another one after the transaction.
func (o outcome) changesPlant() bool {
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
	return nil
}

// record records rows that a change writes.
func (g *Group) record(rows []PlantRow) {
	for i := range rows {
		outcome := g.outcome(rows[i].ID)
		outcome.written, outcome.removed = &rows[i], false
	}
}

// Effect returns the effect of all changes, and the IDs of the plants that it changes, in
// ascending order.
func (g *Group) Effect() (effect Effect, changed []int64) {
	for i, outcome := range g.outcomes {
		if !outcome.changesPlant() {
			continue
		}
		changed = append(changed, g.ids[i])
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
