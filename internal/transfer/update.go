package transfer

import (
	"context"
	"errors"
	"fmt"

	"github.com/plantstore/plantstore/api/client"
)

// RowChange says how a row would change the plant that is stored.
type RowChange struct {
	Line          int // the first line of the row, counted from 1
	Before, After client.Plant
}

func (c RowChange) String() string {
	text := fmt.Sprintf("line %d: plant %d:", c.Line, c.Before.ID)
	if c.Before.Name != c.After.Name {
		text += fmt.Sprintf(" name %.50q → %.50q", c.Before.Name, c.After.Name)
	}
	before, after := tagInWords(c.Before.Tag), tagInWords(c.After.Tag)
	if before != after {
		text += fmt.Sprintf(" tag %s → %s", before, after)
	}
	return text
}

func tagInWords(tag *string) string {
	if tag == nil {
		return "none"
	}
	return fmt.Sprintf("%.50q", *tag)
}

// update makes a stored plant equal to a row. A row with a version changes only that version, so
// it is refused if someone else has changed or deleted the plant since the file was made.
func (u *Upload) update(ctx context.Context, batch *rowBatch, row Row) error {
	stored, err := u.Service.client.Get(ctx, row.Plant.ID)
	isMissing := errors.Is(err, client.ErrNoSuchPlant)
	if err != nil && !isMissing {
		return u.Service.end(err)
	}
	version, patch := row.Plant.ETag, row.changes(stored)
	isStale := version != "" && version != stored.ETag
	switch {
	case isMissing && version == "" && u.DryRun: // otherwise it is created in a batch
		batch.created.New++
	case isMissing:
		batch.refuse(row, "the plant was deleted since the file was made: without its etag it is created again")
		return u.Service.end(nil) // the service responds
	case patch == client.Patch{}:
		batch.created.Existing++
	case isStale:
		batch.refuse(row, stale)
		return u.Service.end(nil)
	case u.DryRun:
		batch.updated++
		batch.changes = append(batch.changes, RowChange{Line: row.Line, Before: stored, After: row.onto(stored)})
	default:
		return u.patch(ctx, batch, row, patch, stored.ETag)
	}
	u.Stored(1)
	return u.Service.end(nil)
}

const stale = "the plant was changed since the file was made: export it again, and repeat the edit"

func (batch *rowBatch) refuse(row Row, reason string) {
	batch.refused = append(batch.refused, RowError{Line: row.Line, Reason: reason, text: row.text})
}

// patch changes a plant that still has a version.
func (u *Upload) patch(ctx context.Context, batch *rowBatch, row Row, patch client.Patch, version client.ETag) error {
	_, err := u.Service.client.Patch(ctx, row.Plant.ID, patch, client.IfMatch(version))
	switch {
	case err == nil:
		batch.updated++
		u.Stored(1)
	case errors.Is(err, client.ErrPreconditionFailed), errors.Is(err, client.ErrNoSuchPlant):
		batch.refuse(row, stale)
		err = nil
	case isRefusal(responseIn(err)):
		batch.refuse(row, reason(row, responseIn(err)))
		err = nil
	}
	return u.Service.end(err)
}

// updateEach updates the plants of the rows that have a version, and returns the other rows. In a
// dry run it looks at each row.
func (u *Upload) updateEach(ctx context.Context, batch *rowBatch) (others []Row, err error) {
	for _, row := range batch.rows {
		if row.Plant.ETag == "" && !u.DryRun {
			others = append(others, row)
			continue
		}
		if err := u.update(ctx, batch, row); err != nil {
			return nil, err
		}
	}
	return others, nil
}

// changes returns the patch that makes a stored plant equal to the row. A CSV file without the
// column tag changes no tag.
func (r Row) changes(stored client.Plant) (patch client.Patch) {
	if r.Plant.Name != stored.Name {
		patch.Name = &r.Plant.Name
	}
	switch wanted, present := r.Plant.Tag, stored.Tag; {
	case !r.hasTag:
	case wanted == nil:
		patch.RemoveTag = present != nil
	case present == nil || *present != *wanted:
		patch.Tag = wanted
	}
	return patch
}

// onto returns the plant that the row makes of a stored one.
func (r Row) onto(stored client.Plant) client.Plant {
	plant := r.Plant
	if !r.hasTag {
		plant.Tag = stored.Tag
	}
	return plant
}
