package plantcontract

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// What sequences do with plants.

// newPlants are n plants that a sequence creates, or names.
func newPlants(n int) (plants []*scenario.Thing) {
	for range n {
		plants = append(plants, &scenario.Thing{Creator: "createPlant"})
	}
	return plants
}

// create creates a plant with a name and a tag that are drawn.
func create(t *scenario.Trial) *scenario.Thing {
	plant := newPlants(1)[0]
	t.Create(plant)
	return plant
}

// read reads a plant, and remembers in it what is seen.
func read(t *scenario.Trial, plant *scenario.Thing) scenario.Interaction {
	plant.Seen = t.Do(scenario.Call{Operation: "getPlant", Of: plant}, scenario.Expectation{})
	return plant.Seen
}

// unchanged reads a plant again, which must be as it was seen.
func unchanged(t *scenario.Trial, plant *scenario.Thing) {
	before := plant.Seen.Body
	after := read(t, plant)
	t.Require(bytes.Equal(before, after.Body), "the plant has changed from %s to %s", before, after.Body)
}

// write sends a request with a body, which must be accepted.
func write(t *scenario.Trial, operation string, plant *scenario.Thing, body any) scenario.Interaction {
	return t.Do(scenario.Call{Operation: operation, Of: plant, Body: body}, scenario.Accepted)
}

// query sends a request without a body, which must be accepted.
func query(t *scenario.Trial, operation string, of url.Values) scenario.Interaction {
	return t.Do(scenario.Call{Operation: operation, Query: of}, scenario.Accepted)
}

// decoded decodes the body of a response.
func decoded[T any](t *scenario.Trial, what string, got scenario.Interaction) (value T) {
	err := json.Unmarshal(got.Body, &value)
	t.Require(err == nil, "the response is no %s: %v", what, err)
	return value
}

// exists reports whether a read has found something.
func exists(got scenario.Interaction) bool { return got.Status < http.StatusBadRequest }
