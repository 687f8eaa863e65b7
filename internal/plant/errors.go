package plant

import (
	"errors"
	"fmt"
)

// ErrExists means that another plant has the ID.
var ErrExists = errors.New("another plant has this id")

// ErrNotFound means that no plant has the ID asked for.
var ErrNotFound = errors.New("no such plant")

// ErrPrecondition means that the plant is not of a version that the caller
// named.
var ErrPrecondition = errors.New("the plant is of another version")

// ErrUnavailable means that the store cannot answer now (the disk is full, say,
// or another program holds the file); the same call may succeed later.
var ErrUnavailable = errors.New("store not available")

// ExistsError is an [ErrExists] that says which of several plants it is about.
type ExistsError struct {
	Index int // in the list that was to be created
}

func (e ExistsError) Error() string {
	return fmt.Sprintf("plant %d of the batch: %v", e.Index, ErrExists)
}

// Unwrap makes e an [ErrExists].
func (e ExistsError) Unwrap() error { return ErrExists }
