package store

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/token"
)

// Column is a column of a table, with the field of a row that holds its value. The
// engines make every statement, bind and scan from [PlantColumns] and [TokenColumns],
// so a new column is one line there and a migration of each engine.
type Column[Row any] struct {
	Name string
	// Field returns a pointer to the field: *int64, *string, **string, *time.Time,
	// *[]token.Scope or *[32]byte. NULL is a nil string, a zero time and a hash of zeros.
	Field func(*Row) any
}

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
	return PlantRow{p, int64(rand.Uint64()), plant.NameKey(p.Name)}
}

// RowsOf returns the rows of plants that have ETags and times.
func RowsOf(plants []plant.Plant) ([]PlantRow, error) {
	rows := make([]PlantRow, len(plants))
	for i, p := range plants {
		version, err := p.Version()
		if err != nil {
			return nil, err
		}
		rows[i] = PlantRow{p, version, plant.NameKey(p.Name)}
	}
	return rows, nil
}

// Stored returns the plant with its ETag.
func (r *PlantRow) Stored() plant.Plant {
	p := r.Plant
	p.ETag = plant.ETag(p.UpdatedAt.UnixMicro(), r.Version)
	return p
}

// PlantColumns are the columns of the table plants that are read. The first one is the
// primary key.
var PlantColumns = []Column[PlantRow]{
	{"id", func(r *PlantRow) any { return &r.ID }},
	{"name", func(r *PlantRow) any { return &r.Name }},
	{"tag", func(r *PlantRow) any { return &r.Tag }},
	{"version", func(r *PlantRow) any { return &r.Version }},
	{"created_at", func(r *PlantRow) any { return &r.CreatedAt }},
	{"updated_at", func(r *PlantRow) any { return &r.UpdatedAt }},
}

// WrittenColumns are the columns of the table plants that are written. The key of a name
// is only compared.
var WrittenColumns = append(slices.Clone(PlantColumns),
	Column[PlantRow]{"name_key", func(r *PlantRow) any { return &r.NameKey }})

// TokenColumns are the columns of the table tokens. The first one is the primary key.
var TokenColumns = []Column[token.Token]{
	{"id", func(t *token.Token) any { return &t.ID }},
	{"name", func(t *token.Token) any { return &t.Name }},
	{"scopes", func(t *token.Token) any { return &t.Scopes }},
	{"secret_hash", func(t *token.Token) any { return &t.SecretHash }},
	{"created_at", func(t *token.Token) any { return &t.CreatedAt }},
	{"expires_at", func(t *token.Token) any { return &t.ExpiresAt }},
	{"revoked_at", func(t *token.Token) any { return &t.RevokedAt }},
	{"last_used_at", func(t *token.Token) any { return &t.LastUsedAt }},
	{"old_secret_hash", func(t *token.Token) any { return &t.OldSecretHash }},
	{"old_secret_until", func(t *token.Token) any { return &t.OldSecretUntil }},
}
