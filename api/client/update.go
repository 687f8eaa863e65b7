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
		wanted := old.clone()
		if err := change(&wanted); err != nil {
			return Plant{}, err
		}
		if old.isContentOf(wanted) {
			return old, nil
		}
		stored, err := c.write(ctx, old, wanted)
		otherWasFaster := errors.Is(err, ErrPreconditionFailed) && !errors.Is(err, ErrOutcomeUnknown)
		if !otherWasFaster || attempt >= c.attempts {
			return stored, err
		}
		if err := c.pause(ctx, attempt, err); err != nil {
			return Plant{}, err
		}
	}
}

// write changes old to wanted, if the plant still has the version of old.
func (c *Client) write(ctx context.Context, old, wanted Plant) (Plant, error) {
	lost := false
	for attempt := 1; ; attempt++ {
		stored, err := c.Patch(ctx, old.ID, old.change(wanted), IfMatch(old.ETag))
		isUnknown := errors.Is(err, ErrOutcomeUnknown)
		lost = lost || isUnknown
		if err == nil || !lost {
			return stored, err
		}
		// An attempt may have been carried out. A response that the version is another one may be
		// due to an earlier attempt of ours.
		present, readError := c.Get(ctx, old.ID)
		if readError != nil {
			return Plant{}, unknownUpdate(old.ID, fmt.Errorf("%w; the plant cannot be read: %w", err, readError))
		}
		if present.isContentOf(wanted) {
			return present, nil
		}
		isUnchanged := isUnknown && present.ETag == old.ETag
		if !isUnchanged || attempt >= c.attempts {
			return Plant{}, unknownUpdate(old.ID, err)
		}
		if err := c.pause(ctx, attempt, err); err != nil {
			return Plant{}, unknownUpdate(old.ID, err)
		}
	}
}

func unknownUpdate(id int64, err error) error {
	if errors.Is(err, ErrOutcomeUnknown) {
		return err
	}
	return fmt.Errorf("plantstore: update plant %d: %w: %w", id, ErrOutcomeUnknown, err)
}
