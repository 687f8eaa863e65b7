package plant

import "errors"

// ErrExists means that another plant has the ID; nothing was changed.
var ErrExists = errors.New("another plant has this id")

// ErrNotFound means that no plant has the ID asked for.
var ErrNotFound = errors.New("no such plant")

// ErrUnavailable means that the store cannot answer now (the disk is full, say,
// or another program holds the file); nothing was changed, and the same call
// may succeed later.
var ErrUnavailable = errors.New("store not available")
