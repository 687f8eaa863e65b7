package plan

import (
	"maps"
	"net/http"
	"slices"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// singleMaker makes the tests of one request of an operation.
type singleMaker struct {
	*Planner
	operation *document.Operation
	Values    *values.Generator
	tests     *operationTests
}

// make adds the tests, unless there are none of the operation. If no request can be written, the tests are removed again:
// what they promise is reported all the same.
func (m *singleMaker) make() {
	if m.isNotTested() {
		m.unsupport(m.unwritable(), "")
		return
	}
	m.credentials()
	m.parameters()
	if m.operation.BodySchema() != nil {
		m.bodies()
	}
	if m.operation.Method != http.MethodGet {
		m.formRobustness()
	}
	m.otherMediaTypes()
	m.randomBodies()
	if why := m.unwritable(); why != "" {
		m.unsupport(why, m.unwritableParameter())
		m.tests.singles = nil
	}
	m.putInOrder()
	if m.Values.TakeExhausted() {
		m.unsupport(scenario.EndlessSchema, "")
	}
}

// isNotTested reports whether there are no tests of the operation, whatever they would be.
func (m *singleMaker) isNotTested() bool {
	return m.operation.NeedsUnread || m.operation.LacksBody || m.whyNotTested(m.operation) != ""
}

// longestPlain is the length of bodies up to which no service is known to hang.
const longestPlain = 4 << 10

// putInOrder says when each test runs, and lists the promises of all of them, each once. The first test of a promise runs
// before others of the same promise; seen has the promises, which are true if a test has come.
func (m *singleMaker) putInOrder() {
	seen := map[scenario.Promise]bool{}
	for _, demanded := range m.tests.promises {
		seen[demanded] = false
	}
	deletesGiven := m.deletesGiven(m.operation)
	clears := deletesGiven || m.clears(m.operation)
	for _, c := range m.tests.singles {
		switch {
		case c.order == plain && !deletesGiven: // it stays there
		case clears:
			c.order = clearing
		case c.isOfRobustness():
			c.order = robustness
		case isDelete(m.operation) && c.use == nil: // it may be all that there is
			c.order = clearing
		case seen[c.promise] && len(c.body) > longestPlain:
			c.order = lengthy
		case seen[c.promise], c.isDrawn:
			c.order = deep
		}
		if c.isDrawn {
			seen[randomBodies(m.operation)] = true
		} else {
			seen[c.promise] = true
		}
	}
	m.tests.promises = slices.Collect(maps.Keys(seen))
}

// clears reports whether an operation deletes a list with all that is in it: DELETE /things beside /things/{id}.
func (p *Planner) clears(operation *document.Operation) bool {
	return isDelete(operation) && slices.ContainsFunc(p.Document.Operations, func(other *document.Operation) bool {
		above, found := other.Above()
		return found && document.Shape(above) == document.Shape(operation.Template)
	})
}

// deletesGiven reports whether an operation deletes what an option names, which all other tests need.
func (p *Planner) deletesGiven(operation *document.Operation) bool {
	return isDelete(operation) && slices.ContainsFunc(operation.PathNames, p.Values.IsGiven)
}

// unsupport reports something of the operation that no test tries.
func (m *singleMaker) unsupport(kind scenario.PromiseKind, place string) {
	promise := scenario.Promise{Operation: m.operation.ID, Kind: kind, Place: place}
	m.tests.unsupported = append(m.tests.unsupported, promise)
}

// demand adds a promise of the operation, whether a test tries it or not.
func (m *singleMaker) demand(promise scenario.Promise) {
	promise.Operation = m.operation.ID
	m.tests.promises = append(m.tests.promises, promise)
}

// otherMediaTypes reports bodies that are not JSON.
func (m *singleMaker) otherMediaTypes() {
	used, _ := m.operation.Body()
	for _, other := range slices.Sorted(maps.Keys(m.operation.Content)) {
		if other != used && !document.IsJSON(other) {
			m.unsupport(scenario.UntestedMediaType, other)
		}
	}
}

// unwritable returns why no request of the operation can be written, or nothing.
func (m *singleMaker) unwritable() scenario.PromiseKind {
	switch {
	case m.whyNotTested(m.operation) != "":
		return scenario.LeftOut
	case m.operation.NeedsUnread:
		return scenario.NeedsUnread
	case m.operation.LacksBody:
		return scenario.UnknownBody
	case m.operation.BodySchema() == nil && m.operation.NeedsBody():
		return scenario.UnwritableBody
	case m.unwritableParameter() != "":
		return scenario.UnwritableParameter
	}
	return ""
}

// unwritableParameter is the first parameter that is required, and for which there is no value, or nothing.
func (m *singleMaker) unwritableParameter() string {
	for _, parameter := range m.operation.Parameters {
		if _, ok := m.Values.BaseParameter(parameter); !ok && parameter.Required {
			return parameter.Name
		}
	}
	return ""
}
