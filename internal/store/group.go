package store

import (
	"maps"
	"slices"

	"github.com/plantstore/plantstore/internal/plant"
)

// Group decides the changes of one transaction, one after the other, each with the
// effects of those before it. An engine reads the plants of all changes before, and
// writes the effect of all of them afterwards.
type Group struct{ plants map[int64]*fate }

// fate is a plant before and after a transaction. Nil means that there is none. The
// pointers are equal if the transaction leaves the plant as it is.
type fate struct {
	before, after *plant.Plant
	row           PlantRow // of after, if the transaction has written it
}

// NewGroup returns a group of changes of the plants with the given IDs.
func NewGroup(ids []int64) *Group {
	g := &Group{make(map[int64]*fate, len(ids))}
	for _, id := range ids {
		g.plants[id] = &fate{}
	}
	return g
}

// IDs returns the IDs of the plants in ascending order. If all programs lock plants in
// this order, two of them rarely deadlock.
func (g *Group) IDs() []int64 { return slices.Sorted(maps.Keys(g.plants)) }

// Found records that a plant is stored.
func (g *Group) Found(p plant.Plant) { *g.plants[p.ID] = fate{before: &p, after: &p} }

// Decide adds the effect of a change, or changes nothing and returns the error of the
// change.
func (g *Group) Decide(c Change) error {
	effect, err := c.Decide(func(id int64) *plant.Plant { return g.plants[id].after })
	if err != nil {
		return err
	}
	for _, rows := range [][]PlantRow{effect.Insert, effect.Update} {
		for _, row := range rows {
			p := row.Stored()
			g.plants[row.ID].after, g.plants[row.ID].row = &p, row
		}
	}
	for _, id := range effect.Remove {
		g.plants[id].after = nil
	}
	return nil
}

// Effect returns the effect of all changes, and the IDs of the plants that it changes, in
// ascending order.
func (g *Group) Effect() (all Effect, changed []int64) {
	for _, id := range g.IDs() {
		switch f := g.plants[id]; {
		case f.after == f.before:
			continue
		case f.after == nil:
			all.Remove = append(all.Remove, id)
		case f.before == nil:
			all.Insert = append(all.Insert, f.row)
		default:
			all.Update = append(all.Update, f.row)
		}
		changed = append(changed, id)
	}
	return all, changed
}
