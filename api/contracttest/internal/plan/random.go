package plan

import (
	"fmt"
	"math/rand/v2"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// What random bodies find alone is what a document does not say of several members together: without them, 16 of the known
// causes of Chroma, LoopBack and Kinto are not found (internal/workshop/foreign), and none of the planted faults of
// internal/workshop/recall is lost. Each is a test of its own. They are not made smaller: the cause says what is wrong.

// How many bodies are drawn for an operation. Each is a request with what is around it, so a large document gets
// fewer.
const (
	manyDraws = 50
	fewDraws  = 10
)

// randomBodies is the promise that random bodies are accepted, or refused, as the document says.
func randomBodies(operation *document.Operation) scenario.Promise {
	return scenario.Promise{Operation: operation.ID, Kind: scenario.RandomBodies}
}

// randomBodies adds tests of bodies that are drawn from the schema of the document: the service must not
// refuse a valid one, and must refuse one with a single fault. Half of them have one, if it can be made.
func (m *singleMaker) randomBodies() {
	if !m.operation.HasJSON() { // a text may be of any form, and how null or an object is written in a form is not said
		return
	}
	draws := manyDraws
	if m.Few {
		draws = fewDraws
	}
	promise := randomBodies(m.operation)
	random := rand.NewPCG(m.Seed, values.NumberOf(promise.ID()))
	for range draws {
		if m.isStopped.Load() {
			return
		}
		c := m.add("", promise)
		value := m.Values.Draw(random, m.operation.BodySchema())
		c.body = jsonvalue.Encode(value)
		c.isDrawn = true
		if random.Uint64()%2 == 1 {
			c.spoil(m.Values, random, jsonvalue.Object(value))
		}
		c.name = fmt.Sprintf("%s, random body: %.60s", m.operation.ID, c.body)
	}
}

// spoil gives the body of a test a fault, and the test the promise of the keyword that the body breaks. It does nothing if
// the schema is not simple enough to say what a fault is: in a composed one, what breaks one part may be right for another.
func (c *single) spoil(generator *values.Generator, random rand.Source, object map[string]any) {
	described := c.Operation.BodySchema()
	isSimple := !schema.IsComposed(described) && len(described.Properties) > 0
	if object == nil || !isSimple {
		return
	}
	spoilt, pointer, keyword := generator.Spoil(random, described, object)
	if keyword == "" {
		return
	}
	c.body = jsonvalue.Encode(spoilt)
	c.refused(scenario.InvalidBody, "body", pointer)
	c.keeps = values.Place(pointer)
	c.promise = scenario.Promise{
		Operation: c.Operation.ID, Kind: scenario.BodyKeyword, Place: c.keeps, Keyword: keyword, Duty: scenario.MustRefuse,
	}
}
