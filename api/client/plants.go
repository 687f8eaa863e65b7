package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/plantstore/plantstore/gen/plantclient"
)

// Create stores a plant. If another plant has the id, the error is [ErrIDTaken]; if the
// same plant, with the same name and tag, is stored already, that is a success. So Create never overwrites a plant
// and is safe to repeat, but it does not claim an id: two clients that create the same
// plant both succeed. For that there is [Client.Insert].
func (c *Client) Create(ctx context.Context, p Plant) error {
	var created struct{ Name *string }
	_, _, err := c.do(ctx, request{
		op: fmt.Sprintf("create plant %d", p.ID), ids: []int64{p.ID}, change: true, safe: true, accept: []int{http.StatusOK},
		body: func() (any, error) { return p.newPlant() },
		build: func(body io.Reader) (*http.Request, error) {
			return plantclient.NewCreatePlantRequestWithBody(c.server, "application/json", body)
		},
		decode: func(body []byte) bool { return json.Unmarshal(body, &created) == nil && created.Name != nil },
	})
	return err
}

// Insert stores a plant if its id is free, and returns the stored plant. If any plant
// has the id, even the same one, the error is [ErrIDTaken].
//
// If a response is lost, Insert sends the plant again. If the id has a plant by then,
// Insert cannot tell whether that is its own, and the error is [ErrOutcomeUnknown], not
// ErrIDTaken. Read the plant then, and compare it with what only this program stores.
func (c *Client) Insert(ctx context.Context, p Plant) (Plant, error) {
	return c.one(ctx, request{
		op: fmt.Sprintf("insert plant %d", p.ID), ids: []int64{p.ID}, change: true, safe: true, inserts: true,
		accept: []int{http.StatusCreated}, ifNoneMatch: []IfNoneMatch{IfNoneMatch(AnyETag)},
		body: func() (any, error) { return p.content() },
		build: func(body io.Reader) (*http.Request, error) {
			return plantclient.NewPutPlantRequestWithBody(c.server, p.ID, nil, "application/json", body)
		},
	})
}

// Created says which of the plants of [Client.CreateBatch] are new.
type Created struct {
	New      int // were not stored before
	Existing int // were stored before
	Unknown  int // new or existing: an earlier response was lost
}

// CreateBatch stores 1 to 1000 plants: all of them or none. Each is handled as by
// [Client.Create], and it is safe to repeat. If other plants have some of the ids, or an
// id is in the batch twice, the error is [ErrIDTaken]; if plants are not valid, it is
// [ErrInvalidBody]. The [Error.Details] say which plants, at most 32:
//
//	if e, ok := errors.AsType[*client.Error](err); ok {
//		for _, d := range e.Details {
//			if d.Index >= 0 { // else it is not about one plant: for example, there are too many
//				log.Print("line ", lines[d.Index], ": ", d) // as in "line 3: plant 7: id belongs to another plant"
//			}
//		}
//	}
//
// For more plants, loop over [slices.Chunk]. The service accepts 1 MiB in one request if its
// operator has not changed that: about 1 KiB for each of 1000 plants. Beyond it the error is
// [ErrBodyTooLarge].
func (c *Client) CreateBatch(ctx context.Context, plants []Plant) (Created, error) {
	var batch struct {
		Plants  []struct{}
		Created int
	}
	ids := make([]int64, len(plants))
	for i, p := range plants {
		ids[i] = p.ID
	}
	_, lost, err := c.do(ctx, request{
		op: fmt.Sprintf("create %d plants", len(plants)), ids: ids, change: true, safe: true, accept: []int{http.StatusOK},
		body: func() (any, error) { return newPlants(plants) },
		build: func(body io.Reader) (*http.Request, error) {
			return plantclient.NewCreatePlantsRequestWithBody(c.server, "application/json", body)
		},
		decode: func(body []byte) bool {
			return json.Unmarshal(body, &batch) == nil && len(batch.Plants) == len(plants)
		},
	})
	switch {
	case err != nil:
		return Created{}, err
	case lost: // the lost attempt may have stored the others
		return Created{New: batch.Created, Unknown: len(plants) - batch.Created}, nil
	}
	return Created{New: batch.Created, Existing: len(plants) - batch.Created}, nil
}

// Get returns a plant, or [ErrNoSuchPlant]. With [IfNoneMatch] it may return
// [ErrNotModified] instead.
func (c *Client) Get(ctx context.Context, id int64, conditions ...IfNoneMatch) (Plant, error) {
	return c.one(ctx, request{
		op: fmt.Sprintf("get plant %d", id), ids: []int64{id}, safe: true, accept: []int{http.StatusOK, http.StatusNotModified},
		ifNoneMatch: conditions,
		build:       func(io.Reader) (*http.Request, error) { return plantclient.NewGetPlantRequest(c.server, id, nil) },
	})
}

// Put stores the name and the tag of p under p.ID, in place of the plant there or as a
// new one, and returns the stored plant. It overwrites changes of other clients:
// [Client.Update], or the condition [IfMatch], does not. [Client.Insert] overwrites no plant.
// Put is not repeated if it may have been carried out: see [ErrOutcomeUnknown].
func (c *Client) Put(ctx context.Context, p Plant, conditions ...IfMatch) (Plant, error) {
	return c.one(ctx, request{
		op: fmt.Sprintf("put plant %d", p.ID), ids: []int64{p.ID}, change: true, accept: []int{http.StatusOK, http.StatusCreated},
		ifMatch: conditions,
		body:    func() (any, error) { return p.content() },
		build: func(body io.Reader) (*http.Request, error) {
			return plantclient.NewPutPlantRequestWithBody(c.server, p.ID, nil, "application/json", body)
		},
	})
}

// Patch changes the name, the tag or both and returns the stored plant, or
// [ErrNoSuchPlant]. It is not repeated if it may have been carried out: see
// [ErrOutcomeUnknown].
func (c *Client) Patch(ctx context.Context, id int64, patch Patch, conditions ...IfMatch) (Plant, error) {
	return c.one(ctx, request{
		op: fmt.Sprintf("patch plant %d", id), ids: []int64{id}, change: true, accept: []int{http.StatusOK},
		ifMatch: conditions,
		body:    func() (any, error) { return patch.body() },
		build: func(body io.Reader) (*http.Request, error) {
			return plantclient.NewPatchPlantRequestWithBody(c.server, id, nil, "application/merge-patch+json", body)
		},
	})
}

// Delete removes a plant. If there is none, the error is [ErrNoSuchPlant]. It is
// not repeated if it may have been carried out: see [ErrOutcomeUnknown].
func (c *Client) Delete(ctx context.Context, id int64, conditions ...IfMatch) error {
	_, _, err := c.do(ctx, request{
		op: fmt.Sprintf("delete plant %d", id), ids: []int64{id}, change: true, accept: []int{http.StatusNoContent},
		ifMatch: conditions,
		build:   func(io.Reader) (*http.Request, error) { return plantclient.NewDeletePlantRequest(c.server, id, nil) },
	})
	return err
}

// one sends a request whose success is a stored plant.
func (c *Client) one(ctx context.Context, r request) (p Plant, err error) {
	r.decode = func(body []byte) bool { return json.Unmarshal(body, &p) == nil && p.ETag != "" }
	if _, _, err := c.do(ctx, r); err != nil {
		return Plant{}, err
	}
	return p, nil
}
