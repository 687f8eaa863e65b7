package client

import (
	"context"
	"errors"
	"fmt"
)

// Update reads a plant, calls change, and writes the name or the tag that change has
// changed, if the plant still has the version that was read. Then it returns the stored
// plant. If another client was faster, Update begins again, so change can be called more
// than once; after as many times as [WithAttempts] says, the error is
// [ErrPreconditionFailed]. If there is no plant, it is [ErrNoSuchPlant]. An error of change
// ends Update, which returns it as it is and writes nothing.
//
// If a response is lost, Update reads the plant again. If it has the new content,
// Update succeeds. If it has the old version, Update writes again. Otherwise the
// error is [ErrOutcomeUnknown].
//
// After a lost response, Update cannot tell its own write from the same write of another
// client. If two buyers change a tag from "for-sale" to "sold" at the same time, Update
// may then succeed for both. Where only one may succeed, use Get and Patch, which returns
// ErrOutcomeUnknown in that case:
//
//	p, err := c.Get(ctx, id)
//	if err == nil && p.Tag != nil && *p.Tag == "for-sale" {
//		p, err = c.Patch(ctx, id, client.Patch{Tag: new("sold")}, client.IfMatch(p.ETag))
//	}
func (c *Client) Update(ctx context.Context, id int64, change func(*Plant) error) (Plant, error) {
	for attempt := 1; ; attempt++ {
		old, err := c.Get(ctx, id)
		if err != nil {
			return Plant{}, err
		}
		want := old.clone()
		if err := change(&want); err != nil {
			return Plant{}, err
		}
		if old.change(want) == (Patch{}) {
			return old, nil
		}
		p, err := c.write(ctx, old, want)
		stale := errors.Is(err, ErrPreconditionFailed) && !errors.Is(err, ErrOutcomeUnknown)
		if !stale || attempt >= c.attempts {
			return p, err
		}
		if err := c.pause(ctx, attempt, err, false); err != nil {
			return Plant{}, err
		}
	}
}

// write changes old to want, if the plant still has the version of old.
func (c *Client) write(ctx context.Context, old, want Plant) (Plant, error) {
	patch := old.change(want)
	for attempt := 1; ; attempt++ {
		p, err := c.Patch(ctx, old.ID, patch, IfMatch(old.ETag))
		if err == nil || attempt == 1 && !errors.Is(err, ErrOutcomeUnknown) {
			return p, err
		}
		// From here on an attempt may have been carried out. A response that the
		// version is another one may be due to an earlier attempt of ours.
		now, readErr := c.Get(ctx, old.ID)
		switch {
		case readErr == nil && now.change(want) == (Patch{}):
			return now, nil
		case readErr == nil && now.ETag == old.ETag && errors.Is(err, ErrOutcomeUnknown) && attempt < c.attempts:
			if err = c.pause(ctx, attempt, err, false); err == nil {
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
