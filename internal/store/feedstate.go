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

// Page returns the changes after a position, and the position after them, or
// [plant.ErrPosition]. An engine reads in one snapshot with s the plants of a walk, with more
// if others follow them, or the changes after a position that is not of a walk.
func (s FeedState) Page(
	after *plant.Position, plants []plant.Plant, more bool, changes []plant.Change,
) ([]plant.Change, plant.Position, error) {
	next := plant.Position{Epoch: s.Epoch, At: s.Last, Seen: s.Last} // after the last transaction
	switch {
	case after != nil && !s.allows(*after, changes):
		return nil, next, plant.ErrPosition
	case after != nil && after.Walk == nil:
		if len(changes) > 0 {
			next = changes[len(changes)-1].Position
		}
		return changes, next, nil
	case after != nil:
		next.At, next.Walk = after.At, after.Walk
	}
	page := plant.Rows[plant.Change]{Limit: len(plants), Size: plant.Change.JSONSize}
	for i := range plants {
		position := next
		position.Walk = &plants[i].ID
		if page.Add(plant.Change{Position: position, ID: plants[i].ID, Plant: &plants[i]}) != nil {
			break
		}
	}
	changes = page.Items
	if len(changes) == 0 {
		next.Walk = nil
		return nil, next, nil
	}
	last := &changes[len(changes)-1]
	if !more && !page.More {
		last.Position.Walk = nil
	}
	return changes, last.Position, nil
}

// allows reports whether the position of a client is valid. The changes are those after it.
func (s FeedState) allows(p plant.Position, changes []plant.Change) bool {
	switch {
	case !s.Known, p.Seen > s.End: // another store, or an earlier state of this one
		return false
	case p.At > p.Seen, p.Index > 0 && p.At == p.Seen, p.Index < 0, p.Index > 0 && p.Walk != nil: // not one of ours
		return false
	case p.At < s.Forgotten:
		return false
	case p.Index == 0:
		return true
	case len(changes) == 0:
		return false
	}
	next := changes[0].Position // must be inside of the transaction, or right after it
	return next.At == p.At && next.Index == p.Index+1 || next.At == p.At+1 && next.Index == 0
}

// After returns the position after n of the changes of the transaction at. It has
// total changes.
func (s FeedState) After(at int64, n, total int) plant.Position {
	if n == total {
		return plant.Position{Epoch: s.Epoch, At: at, Seen: s.Last}
	}
	return plant.Position{Epoch: s.Epoch, At: at - 1, Index: n, Seen: s.Last} // positions have no gaps
}

// Signal tells any number of goroutines that something has happened. The zero value
// is ready for use.
type Signal struct {
	mu sync.Mutex
	c  chan struct{} // nil: no goroutine waits
}

// Wait returns a channel that the next call of Send closes.
func (s *Signal) Wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c == nil {
		s.c = make(chan struct{})
	}
	return s.c
}

// Send closes the channels of Wait.
func (s *Signal) Send() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c != nil {
		close(s.c)
		s.c = nil
	}
}
