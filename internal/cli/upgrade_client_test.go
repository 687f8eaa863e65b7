package cli

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantclient"
)

// upgradeClient creates and changes plants that no other client uses, each time on
// any of the servers, and compares every response with the ones before.
type upgradeClient struct {
	t        *testing.T
	rotation *rotation
	base     int64
	plants   map[int64]*plantapi.StoredPlant // nil: deleted
	steps    int
}

func (c *upgradeClient) step() {
	c.steps++
	id := c.base + rand.Int64N(20)
	p := c.plants[id]
	if p == nil {
		c.race(id)
		return
	}
	mustEqual(c.t, c.get(id), p)
	switch rand.IntN(3) {
	case 0:
		c.put(p)
	case 1:
		c.patch(p)
	case 2:
		c.delete(p)
	}
}

// race sends two creates of one plant at the same time: one of them is stored.
func (c *upgradeClient) race(id int64) {
	var codes [2]int
	var wg sync.WaitGroup
	for i := range codes {
		wg.Go(func() {
			body := plantapi.NewPlant{ID: id, Name: fmt.Sprintf("\x00 %d of step %d", i, c.steps), Tag: new("")}
			c.rotation.call(func(client *plantclient.ClientWithResponses) {
				resp, err := client.CreatePlantWithResponse(c.t.Context(), body)
				if err != nil {
					c.t.Error(err)
					return
				}
				codes[i] = resp.StatusCode()
			})
		})
	}
	wg.Wait()
	winner := slices.Index(codes[:], http.StatusOK)
	if winner < 0 || codes[1-winner] != http.StatusBadRequest {
		c.t.Errorf("two creates of plant %d have the responses %v, want one success", id, codes)
		return
	}
	stored := c.get(id)
	if want := fmt.Sprintf("\x00 %d of step %d", winner, c.steps); stored != nil && (stored.Name != want || stored.Tag == nil) {
		c.t.Errorf("plant %d was created as %q, and is %+v", id, want, stored)
	}
	c.plants[id] = stored
}

func (c *upgradeClient) get(id int64) (stored *plantapi.StoredPlant) {
	c.rotation.call(func(client *plantclient.ClientWithResponses) {
		resp, err := client.GetPlantWithResponse(c.t.Context(), id, nil)
		if err != nil {
			c.t.Error(err)
			return
		}
		if resp.JSON200 == nil {
			c.t.Errorf("GET /plants/%d = %s: %s", id, resp.Status(), resp.Body)
			return
		}
		stored = resp.JSON200
	})
	return stored
}

func (c *upgradeClient) put(p *plantapi.StoredPlant) {
	c.rotation.call(func(client *plantclient.ClientWithResponses) {
		body := plantapi.Plant{Name: fmt.Sprint("put in step ", c.steps)}
		resp, err := client.PutPlantWithResponse(c.t.Context(), p.ID, &plantapi.PutPlantParams{IfMatch: quoted(p)}, body)
		if err != nil {
			c.t.Error(err)
			return
		}
		if resp.JSON200 == nil || resp.JSON200.Name != body.Name || resp.JSON200.Tag != nil {
			c.t.Errorf("PUT /plants/%d = %s: %s", p.ID, resp.Status(), resp.Body)
			return
		}
		c.plants[p.ID] = resp.JSON200
	})
}

func (c *upgradeClient) patch(p *plantapi.StoredPlant) {
	c.rotation.call(func(client *plantclient.ClientWithResponses) {
		var change plantapi.PlantPatch
		change.Tag.Set(fmt.Sprint("patched in step ", c.steps))
		resp, err := client.PatchPlantWithApplicationMergePatchPlusJSONBodyWithResponse(c.t.Context(), p.ID,
			&plantapi.PatchPlantParams{IfMatch: quoted(p)}, change)
		if err != nil {
			c.t.Error(err)
			return
		}
		if resp.JSON200 == nil || resp.JSON200.Name != p.Name {
			c.t.Errorf("PATCH /plants/%d = %s: %s", p.ID, resp.Status(), resp.Body)
			return
		}
		c.plants[p.ID] = resp.JSON200
	})
}

func (c *upgradeClient) delete(p *plantapi.StoredPlant) {
	c.rotation.call(func(client *plantclient.ClientWithResponses) {
		resp, err := client.DeletePlantWithResponse(c.t.Context(), p.ID, &plantapi.DeletePlantParams{IfMatch: quoted(p)})
		if err != nil {
			c.t.Error(err)
			return
		}
		if resp.StatusCode() != http.StatusNoContent {
			c.t.Errorf("DELETE /plants/%d = %s: %s", p.ID, resp.Status(), resp.Body)
			return
		}
		c.plants[p.ID] = nil
	})
}
