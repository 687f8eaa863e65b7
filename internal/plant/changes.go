package plant

import (
	"cmp"
	"context"
	"errors"
)

// ErrPosition means that a position of the feed of changes is not valid any more,
// or never was: the store was restored to an earlier state, it is another store, or
// changes after the position have been forgotten. The client begins again without a
// position.
var ErrPosition = errors.New("the position is not valid any more: begin again without a position")

// ErrNoChanges means that a store has no feed of changes. It is permanent.
var ErrNoChanges = errors.New("the store has no feed of changes: " +
	"its plants are spread over several servers, which have no common order of commits")

// Feed is the feed of changes of a store. It says which plants have changed and
// gives their present state; it does not list each write. A client that begins
// without a position and applies what it gets has exactly the plants of the store.
//
// Every transaction that changes plants has a position, in the order of the
// commits: a reader that has seen a position never sees a lower one appear later.
type Feed interface {
	// Changes returns a page of changes after a position, and the position after the last
	// of them. The page ends at limit or at [MaxPage]. A page without changes means that
	// there is no change after the position. The state of a plant is that of the change or
	// newer. All changes and their states are from one snapshot, which has every write that
	// returned before the call.
	//
	// Without a position the feed begins with a walk of all plants by ascending ID.
	// Then it continues with the changes since the walk began. The positions of the
	// walk are positions like any other.
	//
	// If the position is not valid, Changes returns [ErrPosition]. If the store has
	// no feed, it returns [ErrNoChanges].
	Changes(ctx context.Context, after *Position, limit int) (changes []Change, next Position, err error)

	// Changed returns a channel that is closed at the next commit of this store
	// object that changes plants. Commits of other programs do not close it.
	Changed() <-chan struct{}
}

// Position is a place in the feed of changes.
//
// A position is valid if all of this holds:
//   - The store knows the Epoch.
//   - Seen is not after the position at which the next epoch began.
//   - No change after the position has been forgotten.
//
// An epoch begins when a server starts. It also begins with the first write after the
// database was restarted, failed over, or was restored while the server runs. The second
// rule finds clients of a store that was replaced by a backup: the epoch after the restore
// begins at the last position of the backup, and these clients have seen later ones.
type Position struct {
	Epoch int64  // a random number that the store draws for each epoch
	At    int64  // all changes up to this transaction were returned; during a walk: the last transaction before the walk
	Index int    // how many changes of the next transaction were returned
	Seen  int64  // the last transaction that the latest page could see: its plants are not newer than this
	Walk  *int64 // the last ID that the walk has returned; nil after the walk
}

// IsLast reports whether there was no change after the position in the snapshot of the
// latest page.
func (p Position) IsLast() bool { return p.Walk == nil && p.At == p.Seen }

// Compare compares positions that are not of a walk, as [cmp.Compare] does.
func (p Position) Compare(other Position) int {
	return cmp.Or(cmp.Compare(p.At, other.At), cmp.Compare(p.Index, other.Index))
}

// Change is a plant that has changed.
type Change struct {
	Position Position // after this change
	ID       int64
	Plant    *Plant // the present state; nil: the plant does not exist

	// ChangedBy is the name of who made the last change; empty: not known.
	ChangedBy string
}
