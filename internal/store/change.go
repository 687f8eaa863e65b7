package store

import (
	"context"
	"slices"

	"github.com/plantstore/plantstore/internal/plant"
)

// Change decides what becomes of the plants with IDs. In one transaction an engine
// locks and reads them, calls Decide, and stores the effect. If Decide returns an
// error, nothing changes.
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
type Apply func(ctx context.Context, c Change) error

// Writer implements the methods of [plant.Store] that write, for every engine: what
// becomes of a plant is decided here, and an engine only reads, locks and writes.
type Writer struct{ Apply Apply }

// Create implements [plant.Store].
func (w Writer) Create(ctx context.Context, p plant.Plant) error {
	return w.Apply(ctx, Change{"create", []int64{p.ID}, true, func(stored Stored) (e Effect, err error) {
		switch current := stored(p.ID); {
		case current == nil:
			e.Insert = []PlantRow{NewPlantRow(p, nil)}
		case !current.Same(p):
			err = plant.ErrExists
		}
		return e, err
	}})
}

// CreateAll implements [plant.Store].
func (w Writer) CreateAll(ctx context.Context, plants []plant.Plant) (created int, err error) {
	ids := make([]int64, len(plants))
	for i, p := range plants {
		ids[i] = p.ID
	}
	inserted := 0
	err = w.Apply(ctx, Change{"create_all", ids, true, func(stored Stored) (Effect, error) {
		var e Effect
		var taken plant.ExistsError
		for i, p := range plants {
			switch current := stored(p.ID); {
			case current == nil:
				e.Insert = append(e.Insert, NewPlantRow(p, nil))
			case !current.Same(p):
				taken.Indexes = append(taken.Indexes, i)
			}
		}
		if len(taken.Indexes) > 0 {
			return Effect{}, taken
		}
		inserted = len(e.Insert)
		return e, nil
	}})
	if err != nil {
		return 0, err
	}
	return inserted, nil
}

// Put implements [plant.Store].
func (w Writer) Put(ctx context.Context, p plant.Plant, condition plant.Precondition) (plant.Plant, bool, error) {
	var created bool
	stored, err := w.replace(ctx, "put", p.ID, condition, func(current *plant.Plant) (plant.Plant, error) {
		created = current == nil
		return p, nil
	})
	if err != nil {
		return plant.Plant{}, false, err
	}
	return stored, created, nil
}

// Patch implements [plant.Store].
func (w Writer) Patch(
	ctx context.Context, id int64, change plant.Patch, condition plant.Precondition,
) (plant.Plant, error) {
	return w.replace(ctx, "patch", id, condition, func(current *plant.Plant) (plant.Plant, error) {
		if current == nil {
			return plant.Plant{}, plant.ErrNotFound
		}
		return change.Apply(*current), nil
	})
}

// replace stores the result of next for a plant, unless that is the same, and returns it.
// It calls next before it checks the precondition: with any precondition, a missing plant
// is [plant.ErrNotFound].
func (w Writer) replace(ctx context.Context, operation string, id int64, condition plant.Precondition,
	next func(*plant.Plant) (plant.Plant, error),
) (plant.Plant, error) {
	var result plant.Plant
	err := w.Apply(ctx, Change{operation, []int64{id}, false, func(stored Stored) (e Effect, err error) {
		current := stored(id)
		p, err := next(current)
		if err == nil {
			err = condition.Check(current)
		}
		switch {
		case err != nil:
		case current == nil:
			row := NewPlantRow(p, nil)
			e.Insert, result = []PlantRow{row}, row.Stored()
		case current.Same(p):
			result = *current
		default:
			row := NewPlantRow(p, current)
			e.Update, result = []PlantRow{row}, row.Stored()
		}
		return e, err
	}})
	if err != nil {
		return plant.Plant{}, err // and not result, which Decide may still set
	}
	return result, nil
}

// Delete implements [plant.Store].
func (w Writer) Delete(ctx context.Context, id int64, condition plant.Precondition) error {
	return w.Apply(ctx, Change{"delete", []int64{id}, false, func(stored Stored) (Effect, error) {
		current := stored(id)
		if current == nil {
			return Effect{}, plant.ErrNotFound
		}
		return Effect{Remove: []int64{id}}, condition.Check(current)
	}})
}

// Group decides the changes of one transaction, one after the other, each with the
// effects of those before it. An engine reads the plants of all changes before, and
// writes the effect of all of them afterwards.
type Group struct {
	ids    []int64
	plants []outcome // of ids
}

// outcome is what a transaction makes of a plant.
type outcome struct {
	before  *plant.Plant // nil: there is none
	written *PlantRow    // nil: the transaction has not written it
	removed bool
}

// NewGroup returns a group of changes of the plants with the given IDs. It keeps and
// changes the slice.
func NewGroup(ids []int64) *Group {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return &Group{ids, make([]outcome, len(ids))}
}

// IDs returns the IDs of the plants in ascending order. If all programs lock plants in
// this order, two of them rarely deadlock.
func (g *Group) IDs() []int64 { return g.ids }

func (g *Group) outcome(id int64) *outcome {
	i, _ := slices.BinarySearch(g.ids, id)
	return &g.plants[i]
}

// Found records that a plant is stored.
func (g *Group) Found(p plant.Plant) { g.outcome(p.ID).before = &p }

// stored returns a plant with the effects of the changes so far, or nil.
func (g *Group) stored(id int64) *plant.Plant {
	switch o := g.outcome(id); {
	case o.removed:
		return nil
	case o.written != nil:
		return new(o.written.Stored())
	default:
		return o.before
	}
}

// Decide adds the effect of a change, or changes nothing and returns the error of the
// change.
func (g *Group) Decide(c Change) error {
	effect, err := c.Decide(g.stored)
	if err != nil {
		return err
	}
	for _, rows := range [][]PlantRow{effect.Insert, effect.Update} {
		for i := range rows {
			o := g.outcome(rows[i].ID)
			o.written, o.removed = &rows[i], false
		}
	}
	for _, id := range effect.Remove {
		g.outcome(id).removed = true
	}
	return nil
}

// Effect returns the effect of all changes, and the IDs of the plants that it changes, in
// ascending order.
func (g *Group) Effect() (all Effect, changed []int64) {
	for i, id := range g.ids {
		switch o := g.plants[i]; {
		case o.removed && o.before == nil, !o.removed && o.written == nil:
			continue
		case o.removed:
			all.Remove = append(all.Remove, id)
		case o.before == nil:
			all.Insert = append(slices.Grow(all.Insert, len(g.ids)-i), *o.written)
		default:
			all.Update = append(all.Update, *o.written)
		}
		changed = append(changed, id)
	}
	return all, changed
}
