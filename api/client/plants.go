package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantclient"
)

// Create stores a plant. If another plant has the id, the error is [ErrIDTaken];
// the same plant is a success. Create never overwrites a plant, and it is safe to
// repeat.
func (c *Client) Create(ctx context.Context, p Plant) error {
	op := fmt.Sprintf("create plant %d", p.ID)
	body, err := encode(p.newPlant())
	if err != nil {
		return fmt.Errorf("plantstore: %s: %w", op, err)
	}
	var created struct{ Name *string }
	_, _, err = c.do(ctx, request{
		op: op, change: true, safe: true, accept: []int{http.StatusOK},
		send: func(ctx context.Context, edit ...plantclient.RequestEditorFn) (*http.Response, error) {
			return c.api.CreatePlantWithBody(ctx, "application/json", bytes.NewReader(body), edit...)
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
func (c *Client) CreateAll(ctx context.Context, plants []Plant) (_ Created, err error) {
	op := fmt.Sprintf("create %d plants", len(plants))
	all := plantapi.NewPlants{Plants: make([]plantapi.NewPlant, len(plants))}
	for i, p := range plants {
		if all.Plants[i], err = p.newPlant(); err != nil {
			return Created{}, fmt.Errorf("plantstore: %s: plant %d: %w", op, p.ID, err)
		}
	}
	body, err := encode(all, nil)
	if err != nil {
		return Created{}, fmt.Errorf("plantstore: %s: %w", op, err)
	}
	var batch struct {
		Plants  []struct{}
		Created *int // services of an early release do not send it
	}
	_, lost, err := c.do(ctx, request{
		op: op, change: true, safe: true, accept: []int{http.StatusOK},
		send: func(ctx context.Context, edit ...plantclient.RequestEditorFn) (*http.Response, error) {
			return c.api.CreatePlantsWithBody(ctx, "application/json", bytes.NewReader(body), edit...)
		},
		decode: func(body []byte) bool { return json.Unmarshal(body, &batch) == nil && len(batch.Plants) == len(plants) },
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
	p, status, err := c.one(ctx, request{
		op: fmt.Sprintf("get plant %d", id), safe: true, accept: []int{http.StatusOK, http.StatusNotModified},
		send: func(ctx context.Context, edit ...plantclient.RequestEditorFn) (*http.Response, error) {
			return c.api.GetPlant(ctx, id, nil, edit...)
		},
	}, conditions, "If-None-Match")
	if status == http.StatusNotModified {
		return Plant{}, fmt.Errorf("plantstore: get plant %d: %w", id, ErrNotModified)
	}
	return p, err
}

// Put stores the content of p under p.ID, in place of the plant there or
// as a new one. It is not repeated if it may have been carried out: see
// [ErrOutcomeUnknown].
func (c *Client) Put(ctx context.Context, p Plant, conditions ...Condition) (Plant, error) {
	id, op := p.ID, fmt.Sprintf("put plant %d", p.ID)
	body, err := encode(p.content())
	if err != nil {
		return Plant{}, fmt.Errorf("plantstore: %s: %w", op, err)
	}
	p, _, err = c.one(ctx, request{
		op: op, change: true, accept: []int{http.StatusOK, http.StatusCreated},
		send: func(ctx context.Context, edit ...plantclient.RequestEditorFn) (*http.Response, error) {
			return c.api.PutPlantWithBody(ctx, id, nil, "application/json", bytes.NewReader(body), edit...)
		},
	}, conditions, "If-Match", "If-None-Match")
	return p, err
}

// Patch changes some members of a plant and returns the plant, or
// [ErrNoSuchPlant]. It is not repeated if it may have been carried out: see
// [ErrOutcomeUnknown].
func (c *Client) Patch(ctx context.Context, id int64, patch Patch, conditions ...Condition) (Plant, error) {
	op := fmt.Sprintf("patch plant %d", id)
	body, err := encode(patch.body())
	if err != nil {
		return Plant{}, fmt.Errorf("plantstore: %s: %w", op, err)
	}
	p, _, err := c.one(ctx, request{
		op: op, change: true, accept: []int{http.StatusOK},
		send: func(ctx context.Context, edit ...plantclient.RequestEditorFn) (*http.Response, error) {
			return c.api.PatchPlantWithBody(ctx, id, nil, "application/merge-patch+json", bytes.NewReader(body), edit...)
		},
	}, conditions, "If-Match")
	return p, err
}

// Delete removes a plant. If there is none, the error is [ErrNoSuchPlant]. It is
// not repeated if it may have been carried out: see [ErrOutcomeUnknown].
func (c *Client) Delete(ctx context.Context, id int64, conditions ...Condition) error {
	r := request{
		op: fmt.Sprintf("delete plant %d", id), change: true, accept: []int{http.StatusNoContent},
		send: func(ctx context.Context, edit ...plantclient.RequestEditorFn) (*http.Response, error) {
			return c.api.DeletePlant(ctx, id, nil, edit...)
		},
	}
	err := r.setConditions(conditions, "If-Match")
	if err == nil {
		_, _, err = c.do(ctx, r)
	}
	return err
}

// one sends a request whose success is a stored plant, or a status without a body.
func (c *Client) one(ctx context.Context, r request, conditions []Condition, allowed ...string) (Plant, int, error) {
	if err := r.setConditions(conditions, allowed...); err != nil {
		return Plant{}, 0, err
	}
	var p plantapi.StoredPlant
	r.decode = func(body []byte) bool { return json.Unmarshal(body, &p) == nil && p.ETag != "" }
	resp, _, err := c.do(ctx, r)
	if err != nil {
		return Plant{}, 0, err
	}
	return stored(p), resp.StatusCode, nil
}
