package plant

import (
	"math"
	"time"
)

// The history of a plant has an entry for each change that has ended one of its states. A
// create ends none: who made it, and when, is in the plant. A write that changes nothing has
// no entry either.

// ChangeKind is what a change has done to a plant.
type ChangeKind string

// The kinds of changes that end a state.
const (
	Replaced ChangeKind = "replaced"
	Patched  ChangeKind = "patched"
	Deleted  ChangeKind = "deleted"
)

// HistoryEntry is a change of a plant, and the state that it has ended.
type HistoryEntry struct {
	// Number is greater than that of each change that was committed before. The store sets it.
	Number int64

	Plant  Plant // the state before the change, as it was stored
	Change ChangeKind
	At     time.Time // of the change, in UTC, to the microsecond
	By     string    // the name of who made the change; empty: not known
}

// HistoryPage selects entries of a history, the newest first.
type HistoryPage struct {
	Before *int64 // only entries with a lower Number; nil: all entries
	Limit  int    // maximum number of entries, at least 1
}

// Until returns the Number that all entries of the page are below.
func (p HistoryPage) Until() int64 {
	if p.Before == nil {
		return math.MaxInt64
	}
	return *p.Before
}
