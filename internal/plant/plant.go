// Package plant says what a plant is and what a store of plants promises.
//
// It knows neither HTTP nor SQL: internal/httpapi translates between [Plant]
// and the wire, the packages under internal/store keep the promises of [Store],
// and internal/store/storetest holds them to it.
package plant

import "context"

// Plant is a plant as the store keeps it.
type Plant struct {
	// ID identifies the plant. The whole int64 range is in use, negative
	// numbers and zero included.
	ID int64
	// Name is any valid UTF-8 text, the empty one and U+0000 included.
	Name string
	// Tag is any valid UTF-8 text. Nil means that the plant has no tag, which
	// is not the same as an empty one.
	Tag *string
}

// Same reports whether p and q are the same plant to a caller who creates it:
// ID, name and tag are equal.
func (p Plant) Same(q Plant) bool {
	if p.ID != q.ID || p.Name != q.Name || (p.Tag == nil) != (q.Tag == nil) {
		return false
	}
	return p.Tag == nil || *p.Tag == *q.Tag
}

// Store keeps plants. Its methods may be called from any number of goroutines.
//
// An error that is none of those named here or at a method means that
// something broke; nothing was changed then.
type Store interface {
	// Create stores p, and returns once p is durable. If the very same plant
	// is stored already it changes nothing and returns nil, so that a create
	// whose answer was lost may be repeated. If another plant has the ID it
	// changes nothing and returns [ErrExists].
	Create(ctx context.Context, p Plant) error

	// Get returns the plant with the given ID, or [ErrNotFound].
	Get(ctx context.Context, id int64) (Plant, error)
}
