package plan

import (
	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// What random bodies find alone is what a document does not say of several members together: without them, 16 of the known
// causes of Chroma, LoopBack and Kinto are not found (internal/workshop/foreign), and none of the planted faults of
// internal/workshop/recall is lost.

// How many bodies are drawn for an operation. Each is a request with what is around it, so a large document gets
// fewer.
const (
	manyDraws = 50
	fewDraws  = 10
)

// randomTests send bodies that are drawn from the schemas of the document: the service must not
// refuse a valid one, and must refuse one with a single fault. What fails is shrunk.
func (p *Planner) randomTests() (all []Test) {
	draws := manyDraws
	if p.Few {
		draws = fewDraws
	}
	for _, operation := range p.Document.Operations {
		described := operation.BodySchema()
		if !canBeDrawn(operation) || p.maker(operation).unwritable() != "" {
			continue
		}
		promise := scenario.Promise{Operation: operation.ID, Kind: scenario.RandomBodies}
		test := p.testOf(promise, nil)
		test.Draws = draws
		test.Drawn = func(drawn *values.Draws) scenario.Test {
			return p.drawnTest(operation, described, drawn)
		}
		all = append(all, test)
	}
	return all
}

// canBeDrawn reports whether an operation has a body in which something is left to chance. A text without fields may be
// of any form, which its media type says, and no schema.
func canBeDrawn(operation *document.Operation) bool {
	described := operation.BodySchema()
	return described != nil && (operation.HasJSON() || schema.IsObject(described))
}

// drawnTest is the test of a request with a random body. Half of the bodies have a fault, if one can be made.
func (p *Planner) drawnTest(operation *document.Operation, described *schema.Schema, drawn *values.Draws) scenario.Test {
	generator := p.Values.ForTest(operation.ID)
	c := p.plainest(operation, "random bodies", scenario.Promise{Kind: scenario.RandomBodies}, generator)
	value := generator.Draw(drawn, described)
	c.body = jsonvalue.Encode(value)
	if drawn.Coin() {
		c.spoil(generator, drawn, jsonvalue.Object(value))
	}
	return c.test(p).Test
}

// spoil gives the body of a test a fault, if its schema is simple enough to say what a fault is: in a composed
// one, what breaks one part may be right for another.
func (c *single) spoil(generator *values.Generator, drawn *values.Draws, object map[string]any) {
	described := c.Operation.BodySchema()
	isSimple := c.Operation.HasJSON() && !schema.IsComposed(described) && len(described.Properties) > 0
	if object == nil || !isSimple {
		return
	}
	spoilt, pointer, keyword := generator.Spoil(drawn, described, object)
	if keyword == "" {
		return
	}
	c.body = jsonvalue.Encode(spoilt)
	c.refused(scenario.InvalidBody, "body", pointer)
	c.keeps = values.Place(pointer)
	c.promise.Kind = scenario.BodyKeyword
	c.promise.Place = c.keeps
	c.promise.Keyword = keyword
	c.promise.Duty = scenario.MustRefuse
}
