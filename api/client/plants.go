package client

import (
	"context"
	"fmt"
	"net/http"

	"github.com/plantstore/plantstore/gen/plantclient"
)

// Create stores a plant. If another plant has the id, the error is [ErrIDTaken]; if the
// same plant, with the same name and tag, is stored already, that is a success. So Create never overwrites a plant
// and is safe to repeat, but it does not claim an id: two clients that create the same
// plant both succeed. For that there is [Client.Insert].
func (c *Client) Create(ctx context.Context, p Plant) error {
	var created struct{ Name *string }
	create := ofPlant("create", p.ID, safe, p.check())
	create.made(plantclient.NewCreatePlantRequestWithBody(c.server, "application/json", encode(p.newPlant())))
	create.result, create.isComplete = &created, func() bool { return created.Name != nil }
	_, _, err := c.do(ctx, create)
	return err
}

// Insert stores a plant if its id is free, and returns the stored plant. If any plant
// has the id, even the same one, the error is [ErrIDTaken].
//
// If a response is lost, Insert sends the plant again. If the id has a plant by then,
// Insert cannot tell whether that is its own, and the error is [ErrOutcomeUnknown], not
// ErrIDTaken. Read the plant then, and compare it with what only this program stores.
func (c *Client) Insert(ctx context.Context, p Plant) (Plant, error) {
	insert := c.newPut("insert", p, safe)
	insert.ifNoneMatch, insert.success = []IfNoneMatch{IfNoneMatch(AnyETag)}, []int{http.StatusCreated}
	return c.one(ctx, insert)
}

// newPut returns the request that stores a plant under its id.
func (c *Client) newPut(verb string, p Plant, effect effect) request {
	put := ofPlant(verb, p.ID, effect, p.check())
	put.made(plantclient.NewPutPlantRequestWithBody(c.server, p.ID, nil, "application/json", encode(p.content())))
	return put
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
	body, ids, err := newPlants(plants)
	create := request{name: fmt.Sprintf("create %d plants", len(plants)), plantIDs: ids, effect: safe, invalid: err}
	create.made(plantclient.NewCreatePlantsRequestWithBody(c.server, "application/json", encode(body)))
	create.result, create.isComplete = &batch, func() bool { return len(batch.Plants) == len(plants) }
	_, lost, err := c.do(ctx, create)
	if err != nil {
		return Created{}, err
	}
	others := len(plants) - batch.Created
	if lost { // the lost attempt may have stored them
		return Created{New: batch.Created, Unknown: others}, nil
	}
	return Created{New: batch.Created, Existing: others}, nil
}

// Get returns a plant, or [ErrNoSuchPlant]. With [IfNoneMatch] it may return
// [ErrNotModified] instead.
func (c *Client) Get(ctx context.Context, id int64, conditions ...IfNoneMatch) (Plant, error) {
	get := ofPlant("get", id, reads, nil)
	get.made(plantclient.NewGetPlantRequest(c.server, id, nil))
	get.ifNoneMatch, get.success = conditions, []int{http.StatusOK, http.StatusNotModified}
	return c.one(ctx, get)
}

// Put stores the name and the tag of p under p.ID, in place of the plant there or as a
// new one, and returns the stored plant. It overwrites changes of other clients:
// [Client.Update], or the condition [IfMatch], does not. [Client.Insert] overwrites no plant.
// Put is not repeated if it may have been carried out: see [ErrOutcomeUnknown].
func (c *Client) Put(ctx context.Context, p Plant, conditions ...IfMatch) (Plant, error) {
	put := c.newPut("put", p, modifies)
	put.ifMatch, put.success = conditions, []int{http.StatusOK, http.StatusCreated}
	return c.one(ctx, put)
}

// Patch changes the name, the tag or both and returns the stored plant, or
// [ErrNoSuchPlant]. It is not repeated if it may have been carried out: see
// [ErrOutcomeUnknown].
func (c *Client) Patch(ctx context.Context, id int64, patch Patch, conditions ...IfMatch) (Plant, error) {
	change := ofPlant("patch", id, modifies, patch.check())
	change.made(plantclient.NewPatchPlantRequestWithBody(c.server, id, nil, "application/merge-patch+json", encode(patch.body())))
	change.ifMatch = conditions
	return c.one(ctx, change)
}

// Delete removes a plant. If there is none, the error is [ErrNoSuchPlant]. It is
// not repeated if it may have been carried out: see [ErrOutcomeUnknown].
func (c *Client) Delete(ctx context.Context, id int64, conditions ...IfMatch) error {
	remove := ofPlant("delete", id, modifies, nil)
	remove.made(plantclient.NewDeletePlantRequest(c.server, id, nil))
	remove.ifMatch, remove.success = conditions, []int{http.StatusNoContent}
	_, _, err := c.do(ctx, remove)
	return err
}

// ofPlant returns a request about one plant. It cannot be sent if invalid is an error.
func ofPlant(verb string, id int64, effect effect, invalid error) request {
	return request{name: fmt.Sprintf("%s plant %d", verb, id), plantIDs: []int64{id}, effect: effect, invalid: invalid}
}

// one sends a request whose success is a stored plant.
func (c *Client) one(ctx context.Context, operation request) (stored Plant, err error) {
	operation.result, operation.isComplete = &stored, func() bool { return stored.ETag != "" }
	if _, _, err := c.do(ctx, operation); err != nil {
		return Plant{}, err
	}
	return stored, nil
}
