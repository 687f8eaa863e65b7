package store

import (
	"math/rand/v2"
	"time"

	"github.com/plantstore/plantstore/internal/plant"
)

// PlantRow is a row of the table plants.
type PlantRow struct {
	plant.Plant        // its ETag is not used; see Stored
	Version     int64  // random bits, new for every write
	NameKey     string // of its name; reads leave it empty
}

// NewPlantRow returns the row of a new version of p. It replaces current, which is
// nil if there is none.
func NewPlantRow(p plant.Plant, current *plant.Plant) PlantRow {
	now := time.Now().UTC().Truncate(time.Microsecond)
	p.CreatedAt, p.UpdatedAt = now, now
	if current != nil {
		p.CreatedAt = current.CreatedAt
		if now.Before(current.UpdatedAt) { // the clock was set back, or that of another machine is ahead
			p.UpdatedAt = current.UpdatedAt
		}
	}
	return PlantRow{Plant: p, Version: int64(rand.Uint64()), NameKey: plant.NameKey(p.Name)}
}

// RowsOf returns the rows of plants that have ETags and times.
func RowsOf(plants []plant.Plant) ([]PlantRow, error) {
	rows := make([]PlantRow, len(plants))
	for i, p := range plants {
		version, err := p.Version()
		if err != nil {
			return nil, err
		}
		rows[i] = PlantRow{Plant: p, Version: version, NameKey: plant.NameKey(p.Name)}
	}
	return rows, nil
}

// Stored returns the plant with its ETag.
func (r *PlantRow) Stored() plant.Plant {
	p := r.Plant
	p.ETag = plant.ETag(p.UpdatedAt.UnixMicro(), r.Version)
	return p
}
