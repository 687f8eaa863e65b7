package store

import "github.com/plantstore/plantstore/internal/plant"

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

// Check returns [plant.ErrPosition] if the position of a client is not valid.
func (s FeedState) Check(p plant.Position) error {
	switch {
	case !s.Known, p.Seen > s.End: // another store, or an earlier state of this one
	case p.At > p.Seen, p.Index > 0 && p.At == p.Seen, p.Index < 0, p.Index > 0 && p.Walk != nil: // not one of ours
	case p.At < s.Forgotten:
	default:
		return nil
	}
	return plant.ErrPosition
}

// CheckNext returns [plant.ErrPosition] if the changes after a position do not begin
// inside of the transaction that the position names: it has fewer changes.
func (s FeedState) CheckNext(p plant.Position, changes []plant.Change) error {
	if p.Index == 0 {
		return nil
	}
	if len(changes) > 0 {
		switch next := changes[0].Position; {
		case next.At == p.At && next.Index == p.Index+1, next.At == p.At+1 && next.Index == 0:
			return nil
		}
	}
	return plant.ErrPosition
}

// From returns the position after which a page begins. After is the position of the
// client. It is nil if the feed begins with a walk.
func (s FeedState) From(after *plant.Position) plant.Position {
	if after == nil {
		return plant.Position{Epoch: s.Epoch, At: s.Last, Seen: s.Last}
	}
	from := *after
	from.Epoch, from.Seen = s.Epoch, s.Last
	return from
}

// After returns the position after n of the changes of the transaction at. It has
// total changes.
func (s FeedState) After(at int64, n, total int) plant.Position {
	if n == total {
		return plant.Position{Epoch: s.Epoch, At: at, Seen: s.Last}
	}
	return plant.Position{Epoch: s.Epoch, At: at - 1, Index: n, Seen: s.Last} // positions have no gaps
}

// Walked returns a page of the walk as changes, and the position after it. More says
// whether more plants follow.
func (s FeedState) Walked(
	from plant.Position, plants []plant.Plant, more bool,
) (changes []plant.Change, next plant.Position) {
	next = from
	for i := range plants {
		next.Walk = &plants[i].ID
		changes = append(changes, plant.Change{Position: next, ID: plants[i].ID, Plant: &plants[i]})
	}
	if !more {
		next.Walk = nil
		if len(changes) > 0 {
			changes[len(changes)-1].Position = next
		}
	}
	return changes, next
}
