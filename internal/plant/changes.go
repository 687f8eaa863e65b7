package plant

import (
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
	// Changes returns changes after a position, and the position after the last of
	// them. They end at limit or at [MaxPage]; none means that there is no change after
	// the position. Each state is at least as new as the change. All changes and their states are from
	// one snapshot, which contains every write that returned before the call.
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
// It is valid as long as Epoch is known to the store, Seen is not beyond the
// position at which the next epoch began, and no change after it was forgotten.
// Every start of a server begins an epoch, and so does the first write after a restart
// or a failover of the database, or after a restore while the server runs. So if a store is replaced by an earlier state of
// itself, the new epoch begins before what some clients have seen.
type Position struct {
	Epoch int64  // a random number that the store draws for each epoch
	At    int64  // the last transaction whose changes were all returned; of a walk: the one before it began
	Index int    // the number of changes of the transaction after At that were returned
	Seen  int64  // the last transaction of the snapshot of the latest page: states are not newer than this
	Walk  *int64 // the last ID of the walk; nil after the walk
}

// IsLast reports whether there was no change after the position in the snapshot of the
// latest page.
func (p Position) IsLast() bool { return p.Walk == nil && p.At == p.Seen }

// Change is a plant that has changed.
type Change struct {
	Position Position // after this change
	ID       int64
	Plant    *Plant // the present state; nil: the plant does not exist
}
