package store

import (
	"slices"

	"github.com/plantstore/plantstore/internal/plant"
)

// Group decides the changes of one transaction, one after the other, each with the
// effects of those before it. An engine reads the plants of all changes before, and
// writes the effect of all of them afterwards.
type Group struct {
	ids    []int64
	plants []fate // of ids
}

// fate is what a transaction makes of a plant.
type fate struct {
	before  *plant.Plant // nil: there is none
	written *PlantRow    // nil: the transaction has not written it
	removed bool
}

// NewGroup returns a group of changes of the plants with the given IDs. It keeps and
// changes the slice.
func NewGroup(ids []int64) *Group {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return &Group{ids, make([]fate, len(ids))}
}

// IDs returns the IDs of the plants in ascending order. If all programs lock plants in
// this order, two of them rarely deadlock.
func (g *Group) IDs() []int64 { return g.ids }

func (g *Group) fate(id int64) *fate {
	i, _ := slices.BinarySearch(g.ids, id)
	return &g.plants[i]
}

// Found records that a plant is stored.
func (g *Group) Found(p plant.Plant) { g.fate(p.ID).before = &p }

// stored returns a plant with the effects of the changes so far, or nil.
func (g *Group) stored(id int64) *plant.Plant {
	switch f := g.fate(id); {
	case f.removed:
		return nil
	case f.written != nil:
		return new(f.written.Stored())
	default:
		return f.before
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
			f := g.fate(rows[i].ID)
			f.written, f.removed = &rows[i], false
		}
	}
	for _, id := range effect.Remove {
		g.fate(id).removed = true
	}
	return nil
}

// Effect returns the effect of all changes, and the IDs of the plants that it changes, in
// ascending order.
func (g *Group) Effect() (all Effect, changed []int64) {
	for i, id := range g.ids {
		switch f := g.plants[i]; {
		case f.removed && f.before == nil, !f.removed && f.written == nil:
			continue
		case f.removed:
			all.Remove = append(all.Remove, id)
		case f.before == nil:
			all.Insert = append(all.Insert, *f.written)
		default:
			all.Update = append(all.Update, *f.written)
		}
		changed = append(changed, id)
	}
	return all, changed
}
