package plantcontract

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// The steps that sequences consist of. What a step needs and steps before it remember, it gets by a
// function, or in a plant.

// newPlant is a plant that a sequence creates.
func newPlant() *scenario.Thing { return &scenario.Thing{Creator: "createPlant"} }

// newPlants are n of them.
func newPlants(n int) (plants []*scenario.Thing) {
	for range n {
		plants = append(plants, newPlant())
	}
	return plants
}

// create creates plants with names and tags that are drawn.
func create(plants ...*scenario.Thing) (steps []scenario.Step) {
	for _, plant := range plants {
		steps = append(steps, scenario.Step{Create: plant})
	}
	return steps
}

// read reads a plant, and remembers in it what is seen.
func read(plant *scenario.Thing, check func(scenario.Interaction) error) scenario.Step {
	return scenario.Step{
		Call: func() scenario.Call { return scenario.Call{Operation: "getPlant", Of: plant} },
		Check: func(got scenario.Interaction) error {
			plant.Seen = got
			if check == nil {
				return nil
			}
			return check(got)
		},
	}
}

// unchanged reads a plant again, which must be as it was seen.
func unchanged(plant *scenario.Thing) scenario.Step {
	return scenario.Later(func() []scenario.Step {
		before := plant.Seen.Body
		return []scenario.Step{read(plant, func(after scenario.Interaction) error {
			if bytes.Equal(before, after.Body) {
				return nil
			}
			return scenario.Brokenf("the plant has changed from %s to %s", before, after.Body)
		})}
	})
}

// write sends a request with a body, which must be accepted.
func write(operation string, plant *scenario.Thing, body func() any) scenario.Step {
	return scenario.Step{
		Call: func() scenario.Call {
			call := scenario.Call{Operation: operation, Of: plant}
			if body != nil {
				call.Body = body()
			}
			return call
		},
		Expect: scenario.Accepted,
	}
}

// always is a body that needs nothing of earlier steps.
func always(body map[string]any) func() any { return func() any { return body } }

// query sends a request without a body, which must be accepted.
func query(operation string, of func() url.Values, check func(scenario.Interaction) error) scenario.Step {
	return scenario.Step{
		Call:   func() scenario.Call { return scenario.Call{Operation: operation, Query: of()} },
		Expect: scenario.Accepted,
		Check:  check,
	}
}

// asked is a query that needs nothing of earlier steps.
func asked(of url.Values) func() url.Values { return func() url.Values { return of } }

// reads makes a check of one that decodes the body of a response.
func reads[T any](what string, check func(T) error) func(scenario.Interaction) error {
	return func(got scenario.Interaction) error {
		value, err := decoded[T](what, got)
		if err != nil {
			return err
		}
		return check(value)
	}
}

// decoded decodes the body of a response.
func decoded[T any](what string, got scenario.Interaction) (value T, err error) {
	if err := json.Unmarshal(got.Body, &value); err != nil {
		return value, scenario.Brokenf("the response is no %s: %v", what, err)
	}
	return value, nil
}

// exists reports whether a read has found something.
func exists(got scenario.Interaction) bool { return got.Status < http.StatusBadRequest }
