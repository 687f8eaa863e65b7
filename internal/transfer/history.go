package transfer

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/plantstore/plantstore/api/client"
)

// History returns the changes of a plant, the newest first, as the History of [client.Client].
func (s *Service) History(ctx context.Context, id int64) iter.Seq2[client.HistoryEntry, error] {
	return func(yield func(client.HistoryEntry, error) bool) {
		for entry, err := range s.client.History(ctx, id) {
			if !yield(entry, s.end(err)) {
				return
			}
		}
	}
}

// Restore stores the content of an earlier version of a plant again, and returns the stored plant.
func (s *Service) Restore(ctx context.Context, id int64, version client.ETag) (client.Plant, error) {
	present, err := s.client.Get(ctx, id) // before the history: a later change is not overwritten
	isDeleted := errors.Is(err, client.ErrNoSuchPlant)
	if err != nil && !isDeleted {
		return client.Plant{}, s.end(err)
	}
	for entry, err := range s.client.History(ctx, id) {
		if err != nil {
			return client.Plant{}, s.end(err)
		}
		if entry.Plant.ETag != version {
			continue
		}
		var restored client.Plant
		if isDeleted {
			restored, err = s.client.Insert(ctx, entry.Plant)
		} else {
			restored, err = s.client.Put(ctx, entry.Plant, client.IfMatch(present.ETag))
		}
		return restored, s.end(err)
	}
	return client.Plant{}, fmt.Errorf("the history of plant %d has no version %q: leave out --restore to see it", id, version)
}
