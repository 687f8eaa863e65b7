package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// Update reads a plant, calls change, and writes the name and the tag if the
// plant still has the version that was read. If another client was faster, Update
// begins again, so change can be called more than once. An error of change ends
// Update and nothing is written. If change changes nothing, nothing is written.
//
// If a response is lost, Update reads the plant again. If it has the new name and
// tag, Update succeeds. If it has the old version, Update writes again. Otherwise
// the error is [ErrOutcomeUnknown]. Update cannot tell its own write from one of
// another client with the same name and tag, as two clients that count may make it.
func (c *Client) Update(ctx context.Context, id int64, change func(*Plant) error) (Plant, error) {
	for attempt := 1; ; attempt++ {
		old, err := c.Get(ctx, id)
		if err != nil {
			return Plant{}, err
		}
		want := old
		if old.Tag != nil {
			want.Tag = new(*old.Tag)
		}
		if err := change(&want); err != nil {
			return Plant{}, err
		}
		if want.same(old) {
			return old, nil
		}
		p, err := c.write(ctx, old, want)
		if !isStale(err) || attempt >= c.attempts {
			return p, err
		}
		if again, err := c.pause(ctx, attempt, err); !again {
			return Plant{}, err
		}
	}
}

// isStale reports whether a write was refused because the plant has another version.
func isStale(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Status == http.StatusPreconditionFailed && !errors.Is(err, ErrOutcomeUnknown)
}

// write writes the members that want has and old has not, if the plant still has
// the version of old. It patches, and so keeps the members that this client does
// not know.
func (c *Client) write(ctx context.Context, old, want Plant) (Plant, error) {
	var patch Patch
	if want.Name != old.Name {
		patch.Name = &want.Name
	}
	if !sameTag(want.Tag, old.Tag) {
		patch.Tag, patch.RemoveTag = want.Tag, want.Tag == nil
	}
	for attempt := 1; ; attempt++ {
		p, err := c.Patch(ctx, old.ID, patch, IfMatch(old.ETag))
		if err == nil || attempt == 1 && !errors.Is(err, ErrOutcomeUnknown) {
			return p, err
		}
		// From here on an attempt may have been carried out. A response that the
		// version is another one may be due to an earlier attempt of ours.
		now, readErr := c.Get(ctx, old.ID)
		switch {
		case readErr == nil && now.same(want):
			return now, nil
		case readErr == nil && now.ETag == old.ETag && errors.Is(err, ErrOutcomeUnknown) && attempt < c.attempts:
			var again bool
			if again, err = c.pause(ctx, attempt, err); again {
				continue
			}
		case readErr != nil:
			err = fmt.Errorf("%w; the plant cannot be read: %w", err, readErr)
		}
		if !errors.Is(err, ErrOutcomeUnknown) {
			err = fmt.Errorf("plantstore: update plant %d: %w: %w", old.ID, ErrOutcomeUnknown, err)
		}
		return Plant{}, err
	}
}
