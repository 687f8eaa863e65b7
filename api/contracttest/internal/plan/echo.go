package plan

import (
	"net/http"
	"slices"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/draft"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// What is created, and never read, only the response to the create shows. Where the document gives that the members of the
// request, they must come back.
//
//	POST /wishes {"text": "a", "note": "b"}   201 must have {"text": "a", "note": "b"}

// echoTests are the tests of operations whose response has what was sent, where no sequence reads it.
func (p *Planner) echoTests() (all []Test) {
	for _, operation := range p.Document.Operations {
		of := p.Resources.Of(operation)
		isRead := of != nil && of.Operations[http.MethodGet] != nil
		if isRead || !p.returnsWhatItTakes(operation) || p.maker(operation).unwritable() != "" {
			continue
		}
		promise := scenario.Promise{Operation: operation.ID, Kind: scenario.ShowsWhatWasSent}
		all = append(all, p.testOf(promise, func(t *draft.Trial) {
			p.showsWhatWasSent(t, p.plainest(operation, "", promise, t.Draft.Values))
		}))
	}
	return all
}

// returnsWhatItTakes reports whether the schema of a response is, or has as a part, that of the request, or, if 201 is a
// response, has its members with the same types. This is not enough for others: the response to POST /translations may have
// another text.
func (p *Planner) returnsWhatItTakes(operation *document.Operation) bool {
	taken, given := operation.ThingSchema(), operation.ThingResult()
	names := p.Values.Names(taken)
	if given == nil || len(names) == 0 || operation.Method == http.MethodDelete {
		return false
	}
	isTaken := func(part *schema.Schema) bool { return schema.IsSame(part, taken) }
	lacks := func(name string) bool {
		other := p.Values.Property(given, name)
		return other == nil || schema.TypeOf(p.Values.Property(taken, name)) != schema.TypeOf(other)
	}
	isPart := slices.ContainsFunc(schema.Parts(given), isTaken)
	return isPart || operation.Lists(http.StatusCreated) && !slices.ContainsFunc(names, lacks)
}

// showsWhatWasSent fails if a response lacks what was sent. If a response has a fault, the test ends, because the fault is a
// cause of its own; it also ends if two responses are alike, as those of a mock are.
func (p *Planner) showsWhatWasSent(t *draft.Trial, plain *single) {
	around := surroundings{single: plain, Trial: t}
	around.create()
	var first scenario.Interaction
	for _, body := range variedBodies(t.Draft, plain.Operation) {
		filled, _ := around.filled(t.Draft)
		filled.body = jsonvalue.Encode(plain.Operation.Takes.Wrapped(t.PlainBody(plain.Operation), body))
		got := t.Send(filled.request(around.thing), scenario.Accepted)
		if len(p.Judge.Faults(got)) > 0 {
			return
		}
		t.Check(draft.AreAlike(first, got))
		t.Check(t.Shows(got, body, plain.Operation))
		first = got
	}
}
