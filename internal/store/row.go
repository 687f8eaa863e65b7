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
	now := changeTime(current)
	written.CreatedAt, written.UpdatedAt = now, now
	if current != nil {
		written.CreatedAt = current.CreatedAt
	}
	return PlantRow{Plant: written, Version: int64(rand.Uint64()), NameKey: plant.NameKey(written.Name)}
}

// changeTime returns the time of a change: now, or the time of the last one if that is later, because the
// clock was set back, or that of another machine is ahead.
func changeTime(current *plant.Plant) time.Time {
	now := time.Now().UTC().Truncate(time.Microsecond)
	if current != nil && now.Before(current.UpdatedAt) {
		return current.UpdatedAt
	}
	return now
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
