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

// NewPlantRow returns the row of a new version of a plant. It replaces current, which is
// nil if there is none.
func NewPlantRow(written plant.Plant, current *plant.Plant) PlantRow {
	now := time.Now().UTC().Truncate(time.Microsecond)
	written.CreatedAt, written.UpdatedAt = now, now
	if current != nil {
		written.CreatedAt = current.CreatedAt
		if now.Before(current.UpdatedAt) { // the clock was set back, or that of another machine is ahead
			written.UpdatedAt = current.UpdatedAt
		}
	}
	return PlantRow{Plant: written, Version: int64(rand.Uint64()), NameKey: plant.NameKey(written.Name)}
}

// RowsOf returns the rows of plants that have ETags and times.
func RowsOf(plants []plant.Plant) ([]PlantRow, error) {
	rows := make([]PlantRow, len(plants))
	for i, stored := range plants {
		version, err := stored.Version()
		if err != nil {
			return nil, err
		}
		rows[i] = PlantRow{Plant: stored, Version: version, NameKey: plant.NameKey(stored.Name)}
	}
	return rows, nil
}

// Stored returns the plant with its ETag.
func (r *PlantRow) Stored() plant.Plant {
	stored := r.Plant
	stored.ETag = plant.ETag(stored.UpdatedAt.UnixMicro(), r.Version)
	return stored
}
