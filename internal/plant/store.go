package plant

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Store stores plants. Its methods may be called from several goroutines at the
// same time.
//
// A write returns once it is durable. A read sees every write that returned before the
// read began.
//
// Every method may also return [ErrUnavailable]. Any error that is not documented here is
// an internal error. A write that fails changes nothing, with one exception: a write that
// fails with [ErrUnavailable] or an internal error may have been stored.
type Store interface {
	Feed

	// Create stores p. If the same plant is stored already, it changes nothing
	// and returns nil, so a client that received no response can repeat the
	// request. If another plant has the ID, it returns [ErrExists].
	Create(ctx context.Context, p Plant) error

	// CreateAll stores all plants or none, each like Create. The IDs must be
	// different. If another plant has one of the IDs, it returns an
	// [ExistsError]. Created is the number of plants that were not stored before.
	CreateAll(ctx context.Context, plants []Plant) (created int, err error)

	// Get returns the plant with the given ID, or [ErrNotFound].
	Get(ctx context.Context, id int64) (Plant, error)

	// List returns a page of plants in the order that the page chooses, and whether more
	// plants follow. It ends at the Limit or at [MaxPage].
	// If the keys are of another version of Unicode, the order of names is [ErrOtherUnicode].
	List(ctx context.Context, page Page) (plants []Plant, more bool, err error)

	// Count returns the number of plants that a page selects, from the first one on, and
	// whether there are more than its Limit, at which Count stops. Neither Descending nor
	// ByUpdate may be set.
	Count(ctx context.Context, page Page) (n int, more bool, err error)

	// Search returns a page of the plants that a search selects, and the place after which to go on; nil: no more
	// follow. It ends at the Limit, at [MaxPage], or when it has examined enough, so it can be empty although more
	// follow. If the keys are of another version of Unicode, Parts and the order of names are [ErrOtherUnicode].
	Search(ctx context.Context, search Search) (plants []Plant, next *Place, err error)

	// CountSearch returns the number of plants that a search selects, and whether there may be more: it stops at the
	// Limit, or when it has examined enough.
	CountSearch(ctx context.Context, search Search) (n int, more bool, err error)

	// Tags returns a page of the tags that plants have, each once and in ascending order,
	// and whether more tags follow. It ends at the Limit or at [MaxPage]. The cost does not
	// depend on the number of plants.
	Tags(ctx context.Context, page TagPage) (tags []string, more bool, err error)

	// Put creates or replaces the plant with the ID of p. It returns the stored
	// plant and whether it was created. If the precondition does not hold, it
	// returns [ErrPrecondition]. If the same plant is stored already, its version
	// does not change. UpdatedAt never decreases, even if the clock is set back.
	Put(ctx context.Context, p Plant, condition Precondition) (stored Plant, created bool, err error)

	// Patch changes the plant with the given ID and returns it. If the plant does
	// not exist, it returns [ErrNotFound]. If the precondition does not hold, it
	// returns [ErrPrecondition]. If the patch changes nothing, the version does
	// not change.
	Patch(ctx context.Context, id int64, change Patch, condition Precondition) (Plant, error)

	// Delete deletes the plant with the given ID, in the name of by. If the plant does not
	// exist, it returns [ErrNotFound]. If the precondition does not hold, it returns
	// [ErrPrecondition].
	Delete(ctx context.Context, id int64, by string, condition Precondition) error

	// History returns a page of the history of a plant, and whether older entries follow. It
	// ends at the Limit or at [MaxPage]. If there is no entry and no plant, it returns
	// [ErrNotFound], and if the store keeps no history, [ErrNoChanges].
	History(ctx context.Context, id int64, page HistoryPage) (entries []HistoryEntry, more bool, err error)
}

// Page selects the plants of a list, in ascending order of their IDs if nothing else is set.
type Page struct {
	After *int64  // only IDs that come after this one; nil: all IDs
	Tag   *string // only plants with exactly this tag; nil: all plants
	Limit int     // maximum number of plants, at least 1

	// ByName selects plants in the order of names. Then After and Tag must be nil.
	ByName *ByName

	// Descending reverses the order of IDs or names.
	Descending bool

	// ByUpdate selects plants in the order of UpdatedAt, the newest first, and of descending
	// IDs if it is equal. Then nothing but Limit may be set.
	ByUpdate *ByUpdate
}

// ByUpdate selects plants in the order of UpdatedAt.
type ByUpdate struct {
	After *UpdatePlace // only the plants after this place; nil: all plants
}

// UpdatePlace is a place in the order of UpdatedAt: that of a plant, which may have changed.
type UpdatePlace struct {
	UpdatedAt int64 // microseconds since 1970
	ID        int64
}

// Place returns the place that all plants of the page come after.
func (b ByUpdate) Place() UpdatePlace {
	if b.After == nil {
		return UpdatePlace{UpdatedAt: math.MaxInt64, ID: maxID} // later than every plant
	}
	return *b.After
}

const minID, maxID = math.MinInt64, math.MaxInt64

// From returns the first ID that a page can have, and how many plants to read: one more
// than the page has, which shows that more follow.
func (p Page) From() (from int64, limit int) {
	first, last, step := int64(minID), int64(maxID), int64(1)
	if p.Descending {
		first, last, step = maxID, minID, -1
	}
	switch {
	case p.After == nil:
		return first, p.Limit + 1
	case *p.After == last:
		return last, 0 // no ID follows
	default:
		return *p.After + step, p.Limit + 1
	}
}

// Precondition is a condition on the stored version of a plant (RFC 9110,
// section 13.1). A store checks it in the transaction of the write, so at most
// one of several concurrent writes for the same version succeeds. The zero value
// always holds.
type Precondition struct {
	IfMatch     *ETags // if set, the plant must exist and have one of these versions
	IfNoneMatch *ETags // if set, the plant must not exist or have none of these versions
}

// ETags is a list of versions.
type ETags struct {
	Any  bool // matches every version
	List []string
}

// Has reports whether the list contains the version.
func (e ETags) Has(etag string) bool {
	return e.Any || slices.Contains(e.List, etag)
}

// Check returns [ErrPrecondition] unless the precondition holds for the stored
// plant. Current is nil if there is none.
func (c Precondition) Check(current *Plant) error {
	if c.IfMatch != nil && (current == nil || !c.IfMatch.Has(current.ETag)) {
		return ErrPrecondition
	}
	if c.IfNoneMatch != nil && current != nil && c.IfNoneMatch.Has(current.ETag) {
		return ErrPrecondition
	}
	return nil
}

// ErrExists means that another plant has the ID.
var ErrExists = errors.New("another plant has this id")

// ErrNotFound means that no plant has the given ID.
var ErrNotFound = errors.New("no such plant")

// ErrPrecondition means that a [Precondition] does not hold.
var ErrPrecondition = errors.New("the precondition does not hold: read the plant again")

// ErrUnavailable means that the store does not work now, for example because the
// disk is full or another program has locked the file. The same call may succeed
// later.
var ErrUnavailable = errors.New("plant store not available")

// ErrDiskFull is the cause of an [ErrUnavailable] when the disk is full.
var ErrDiskFull = errors.New("the disk is full; free some space, then try again")

// ErrLocked is the cause of an [ErrUnavailable] when another program holds a lock on a plant that
// is written. Writes of other plants work.
var ErrLocked = errors.New("another program has locked the plant: end its transaction, then try again")

// ExistsError is [ErrExists] for a list of plants.
type ExistsError struct {
	Indexes []int // of the plants whose IDs are taken, in the list; at least one
}

func (e ExistsError) Error() string {
	return fmt.Sprintf("plants %d of the batch: %v", e.Indexes, ErrExists)
}

// Unwrap makes e an [ErrExists].
func (e ExistsError) Unwrap() error { return ErrExists }
