package transfer

import (
	"context"
	"errors"

	"github.com/plantstore/plantstore/api/client"
)

// update makes a stored plant equal to a row. A row with a version changes only that version, so
// it is refused if someone else has changed or deleted the plant since the file was made.
func (u *Upload) update(ctx context.Context, batch *rowBatch, row Row) error {
	refuse := func(reason string) {
		batch.refused = append(batch.refused, RowError{Line: row.Line, Reason: reason, text: row.text})
	}
	stored, err := u.Service.client.Get(ctx, row.Plant.ID)
	if errors.Is(err, client.ErrNoSuchPlant) {
		refuse("the plant was deleted since the file was made: without its etag it is created again")
		return u.Service.end(nil) // the service responds
	}
	if err != nil {
		return u.Service.end(err)
	}
	patch := row.changes(stored)
	if patch == (client.Patch{}) {
		batch.created.Existing++
		u.Stored(1)
		return u.Service.end(nil)
	}
	const stale = "the plant was changed since the file was made: export it again, and repeat the edit"
	if version := row.Plant.ETag; version != "" && version != stored.ETag {
		refuse(stale)
		return u.Service.end(nil)
	}
	_, err = u.Service.client.Patch(ctx, row.Plant.ID, patch, client.IfMatch(stored.ETag))
	switch {
	case err == nil:
		batch.updated++
		u.Stored(1)
	case errors.Is(err, client.ErrPreconditionFailed), errors.Is(err, client.ErrNoSuchPlant):
		refuse(stale)
		err = nil
	case isRefusal(responseIn(err)):
		refuse(reason(row, responseIn(err)))
		err = nil
	}
	return u.Service.end(err)
}

// updateVersions updates the plants of the rows that have a version, and returns the other rows.
func (u *Upload) updateVersions(ctx context.Context, batch *rowBatch) (others []Row, err error) {
	for _, row := range batch.rows {
		if row.Plant.ETag == "" {
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
