package plant

import (
	"context"
	"slices"
)

// Store keeps plants. Its methods may be called from any number of goroutines.
//
// A write returns once it is durable. A write that fails has changed nothing;
// an error that is none of those named here means that something broke. A read
// sees every write that was acknowledged before it began.
type Store interface {
	// Create stores p. If the very same plant is stored already it changes
	// nothing and returns nil, so that a create whose answer was lost may be
	// repeated. If another plant has the ID it returns [ErrExists].
	Create(ctx context.Context, p Plant) error

	// CreateAll stores all of the plants or none, each as Create would. No ID
	// may be among them twice. If another plant has one of the IDs it returns
	// an [ExistsError] that says whose. Created is how many were not stored
	// before.
	CreateAll(ctx context.Context, plants []Plant) (created int, err error)

	// Get returns the plant with the given ID, or [ErrNotFound].
	Get(ctx context.Context, id int64) (Plant, error)

	// List returns the plants that a page asks for, by ascending ID, and
	// whether more follow. It ends early once it has returned [MaxPageBytes] of
	// names and tags, but never before the first plant. What it costs does not
	// depend on where the page begins.
	List(ctx context.Context, page Page) (plants []Plant, more bool, err error)

	// Put makes the plant with p's ID what p says, and returns it and whether
	// there was none before. If the precondition does not hold it returns
	// [ErrPrecondition]. If p is what is stored the version stays as it is.
	// UpdatedAt never goes back, whatever the clock does.
	Put(ctx context.Context, p Plant, condition Precondition) (stored Plant, created bool, err error)

	// Patch changes the plant with the given ID and returns it. It returns
	// [ErrNotFound] if there is none and [ErrPrecondition] if the precondition
	// does not hold. If nothing would change the version stays as it is.
	Patch(ctx context.Context, id int64, change Patch, condition Precondition) (Plant, error)

	// Delete removes the plant with the given ID. It returns [ErrNotFound] if
	// there is none and [ErrPrecondition] if the precondition does not hold.
	Delete(ctx context.Context, id int64, condition Precondition) error
}

// MaxPageBytes is how much a page may hold before it ends early.
const MaxPageBytes = 4 << 20

// Page says which plants to list.
type Page struct {
	After *int64  // only IDs greater than this; nil: from the first one
	Tag   *string // only plants with exactly this tag; nil: any plant
	Limit int     // the most plants to return, at least 1
}

// Precondition says which version of a plant a write is meant for (RFC 9110,
// section 13.1). Stores check it in the transaction of the write, so of many
// writes with the same one at most one succeeds. The zero value always holds.
type Precondition struct {
	IfMatch     *ETags // only a plant of one of these versions
	IfNoneMatch *ETags // only no plant, or one of none of these versions
}

// ETags is a list of versions.
type ETags struct {
	Any  bool // every version there is
	List []string
}

// Has reports whether the list has the version.
func (e ETags) Has(etag string) bool {
	return e.Any || slices.Contains(e.List, etag)
}

// Check returns [ErrPrecondition] unless the precondition holds for what is
// stored now; nil stands for no plant.
func (c Precondition) Check(current *Plant) error {
	if c.IfMatch != nil && (current == nil || !c.IfMatch.Has(current.ETag)) {
		return ErrPrecondition
	}
	if c.IfNoneMatch != nil && current != nil && c.IfNoneMatch.Has(current.ETag) {
		return ErrPrecondition
	}
	return nil
}
