package store

import (
	"sync"

	"github.com/plantstore/plantstore/internal/plant"
)

// FeedState is the state of the feed of changes in a snapshot of a store. Engines
// read it together with a page of the feed.
type FeedState struct {
	Epoch     int64 // the newest epoch
	Last      int64 // the position of the last transaction; 0 if there was none
	Forgotten int64 // the highest position that was forgotten; 0 if none was

	// Known says that the epoch of the client's position exists. End is where the
	// next epoch began; it is Last if there is none.
	Known bool
	End   int64
}

// InWalk reports whether the page after a position is a part of a walk of all plants. Without
// a position it is the first one.
func InWalk(after *plant.Position) bool { return after == nil || after.Walk != nil }

// ChangesPage returns the changes after a position that is not of a walk, and the position
// after them, or [plant.ErrPosition]. An engine reads them in one snapshot with the state.
func (state FeedState) ChangesPage(
	after plant.Position, changes []plant.Change,
) ([]plant.Change, plant.Position, error) {
	if !state.allows(after, changes) {
		return nil, plant.Position{}, plant.ErrPosition
	}
	if len(changes) == 0 {
		return nil, plant.Position{Epoch: state.Epoch, At: state.Last, Seen: state.Last}, nil
	}
	return changes, changes[len(changes)-1].Position, nil
}

// WalkPage returns the next plants of a walk as changes, and the position after them, or
// [plant.ErrPosition]. The walk begins if after is nil. An engine reads the plants in one
// snapshot with the state; more says whether others follow them. A walk without plants has
// ended.
func (state FeedState) WalkPage(
	after *plant.Position, plants []plant.Plant, more bool,
) ([]plant.Change, plant.Position, error) {
	next := plant.Position{Epoch: state.Epoch, At: state.Last, Seen: state.Last}
	if after != nil {
		if !state.allows(*after, nil) {
			return nil, plant.Position{}, plant.ErrPosition
		}
		next.At = after.At
	}
	page := plant.Rows[plant.Change]{Limit: len(plants), Size: plant.Change.JSONSize}
	for i := range plants {
		position := next
		position.Walk = &plants[i].ID
		if page.Add(plant.Change{Position: position, ID: plants[i].ID, Plant: &plants[i], ChangedBy: plants[i].ChangedBy}) != nil {
			break
		}
	}
	if len(page.Items) == 0 {
		return nil, next, nil
	}
	last := &page.Items[len(page.Items)-1]
	if !more && !page.More {
		last.Position.Walk = nil
	}
	return page.Items, last.Position, nil
}

// allows reports whether the position of a client is valid: [plant.Position] has the rules. The
// changes are those after it.
func (state FeedState) allows(position plant.Position, changes []plant.Change) bool {
	isOfAnotherStore := !state.Known || position.Seen > state.End // or of a later state of this one
	isForgotten := position.At < state.Forgotten
	if isOfAnotherStore || isForgotten {
		return false
	}
	if position.Index == 0 {
		return position.At <= position.Seen
	}
	// The position is within a transaction, which the page goes on with. A walk has no changes.
	isWithin := position.Index > 0 && position.At < position.Seen
	return isWithin && len(changes) > 0 && isNext(position, changes[0].Position)
}

// isNext reports whether a change, with the position after it, can be the next one after a position
// within a transaction.
func isNext(position, afterChange plant.Position) bool {
	continues := plant.Position{At: position.At, Index: position.Index + 1}
	completes := plant.Position{At: position.At + 1}
	found := plant.Position{At: afterChange.At, Index: afterChange.Index}
	return found == continues || found == completes
}

// After returns the position after some changes of a transaction, which has total changes.
func (state FeedState) After(transaction int64, changes, total int) plant.Position {
	if changes == total {
		return plant.Position{Epoch: state.Epoch, At: transaction, Seen: state.Last}
	}
	return plant.Position{Epoch: state.Epoch, At: transaction - 1, Index: changes, Seen: state.Last} // positions have no gaps
}

// Signal tells any number of goroutines that something has happened. The zero value
// is ready for use.
type Signal struct {
	mutex sync.Mutex
	sent  chan struct{} // nil: no goroutine waits
}

// Wait returns a channel that the next call of Send closes.
func (signal *Signal) Wait() <-chan struct{} {
	signal.mutex.Lock()
	defer signal.mutex.Unlock()
	if signal.sent == nil {
		signal.sent = make(chan struct{})
	}
	return signal.sent
}

// Send closes the channels of Wait.
func (signal *Signal) Send() {
	signal.mutex.Lock()
	defer signal.mutex.Unlock()
	if signal.sent != nil {
		close(signal.sent)
		signal.sent = nil
	}
}
