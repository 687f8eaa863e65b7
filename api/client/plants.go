package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/plantstore/plantstore/gen/plantclient"
)

// Create stores a plant. If another plant has the id, the error is [ErrIDTaken];
// the same plant is a success. Create never overwrites a plant, and it is safe to
// repeat.
func (c *Client) Create(ctx context.Context, p Plant) error {
	var created struct{ Name *string }
	_, _, err := c.do(ctx, request{
		op: fmt.Sprintf("create plant %d", p.ID), change: true, safe: true, accept: []int{http.StatusOK},
		body: func() (any, error) { return p.newPlant() },
		build: func(body io.Reader) (*http.Request, error) {
			return plantclient.NewCreatePlantRequestWithBody(c.server, "application/json", body)
		},
		decode: func(body []byte) bool { return json.Unmarshal(body, &created) == nil && created.Name != nil },
	})
	return err
}

// Created says which of the plants of [Client.CreateAll] are new.
type Created struct {
	New      int // were not stored before
	Existing int // were stored before
	Unknown  int // new or existing: an earlier response was lost, or the service does not say
}

// CreateAll stores 1 to 1000 plants: all of them or none. Each is handled as by
// [Client.Create], and it is safe to repeat.
func (c *Client) CreateAll(ctx context.Context, plants []Plant) (Created, error) {
	var batch struct {
		Plants  []struct{}
		Created *int // services of an early release do not send it
	}
	_, lost, err := c.do(ctx, request{
		op: fmt.Sprintf("create %d plants", len(plants)), change: true, safe: true, accept: []int{http.StatusOK},
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
	case batch.Created == nil:
		return Created{Unknown: len(plants)}, nil
	case lost: // the lost attempt may have stored the others
		return Created{New: *batch.Created, Unknown: len(plants) - *batch.Created}, nil
	}
	return Created{New: *batch.Created, Existing: len(plants) - *batch.Created}, nil
}

// Get returns a plant, or [ErrNoSuchPlant].
func (c *Client) Get(ctx context.Context, id int64, conditions ...Condition) (Plant, error) {
	return c.one(ctx, request{
		op: fmt.Sprintf("get plant %d", id), safe: true, accept: []int{http.StatusOK, http.StatusNotModified},
		conditions: conditions, allowed: []string{"If-None-Match"},
		build: func(io.Reader) (*http.Request, error) { return plantclient.NewGetPlantRequest(c.server, id, nil) },
	})
}

// Put stores the content of p under p.ID, in place of the plant there or
// as a new one. It is not repeated if it may have been carried out: see
// [ErrOutcomeUnknown].
func (c *Client) Put(ctx context.Context, p Plant, conditions ...Condition) (Plant, error) {
	return c.one(ctx, request{
		op: fmt.Sprintf("put plant %d", p.ID), change: true, accept: []int{http.StatusOK, http.StatusCreated},
		conditions: conditions, allowed: []string{"If-Match", "If-None-Match"},
		body: func() (any, error) { return p.content() },
		build: func(body io.Reader) (*http.Request, error) {
			return plantclient.NewPutPlantRequestWithBody(c.server, p.ID, nil, "application/json", body)
		},
	})
}

// Patch changes some members of a plant and returns the plant, or
// [ErrNoSuchPlant]. It is not repeated if it may have been carried out: see
// [ErrOutcomeUnknown].
func (c *Client) Patch(ctx context.Context, id int64, patch Patch, conditions ...Condition) (Plant, error) {
	return c.one(ctx, request{
		op: fmt.Sprintf("patch plant %d", id), change: true, accept: []int{http.StatusOK},
		conditions: conditions, allowed: []string{"If-Match"},
		body: func() (any, error) { return patch.body() },
		build: func(body io.Reader) (*http.Request, error) {
			return plantclient.NewPatchPlantRequestWithBody(c.server, id, nil, "application/merge-patch+json", body)
		},
	})
}

// Delete removes a plant. If there is none, the error is [ErrNoSuchPlant]. It is
// not repeated if it may have been carried out: see [ErrOutcomeUnknown].
func (c *Client) Delete(ctx context.Context, id int64, conditions ...Condition) error {
	_, _, err := c.do(ctx, request{
		op: fmt.Sprintf("delete plant %d", id), change: true, accept: []int{http.StatusNoContent},
		conditions: conditions, allowed: []string{"If-Match"},
		build: func(io.Reader) (*http.Request, error) { return plantclient.NewDeletePlantRequest(c.server, id, nil) },
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
