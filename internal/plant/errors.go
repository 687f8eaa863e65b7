package plant

import (
	"errors"
	"fmt"
)

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

// ExistsError is [ErrExists] for a list of plants.
type ExistsError struct {
	Indexes []int // of the plants whose IDs are taken, in the list; at least one
}

func (e ExistsError) Error() string {
	return fmt.Sprintf("plants %d of the batch: %v", e.Indexes, ErrExists)
}

// Unwrap makes e an [ErrExists].
func (e ExistsError) Unwrap() error { return ErrExists }
