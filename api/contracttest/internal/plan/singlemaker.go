package plan

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
)

// singleMaker makes the tests of one request of an operation.
type singleMaker struct {
	*Planner
	operation *document.Operation
	Values    *values.Generator
	tests     *operationTests
}

// make adds the tests, unless no request of the operation can be written at all.
func (m *singleMaker) make() {
	if m.isNotTested() {
		why := m.unwritable()
		if m.whyNotTested(m.operation) != "" {
			why = "left out" // the reason is beside it
		}
		m.unsupport("requests: %s", why)
		return
	}
	m.credentials()
	m.parameters()
	if m.operation.BodySchema() != nil {
		m.bodies()
	}
	if m.operation.Method != http.MethodGet {
		m.oddForm()
	}
	m.otherMediaTypes()
	if why := m.unwritable(); why != "" {
		m.unsupport("requests: %s", why)
		m.tests.singles = nil
	}
	m.putInOrder()
	if m.Values.TakeExhausted() {
		m.unsupport("values of schemas that refer to each other in many ways")
	}
}

// isNotTested reports whether there are no tests of the operation, whatever they would be.
func (m *singleMaker) isNotTested() bool {
	return m.operation.NeedsUnread || m.whyNotTested(m.operation) != ""
}

// putInOrder says when each test runs, and lists the promises, each once.
func (m *singleMaker) putInOrder() {
	seen := map[string]bool{}
	for _, demanded := range m.tests.promises {
		seen[demanded] = false
	}
	clears := m.clears(m.operation)
	for _, c := range m.tests.singles {
		switch {
		case c.order == plain: // it stays there
		case clears:
			c.order = clearing
		case strings.Contains(c.name, ", odd "):
			c.order = odd
		case isDelete(m.operation) && c.use == nil: // it may be all that there is
			c.order = clearing
		case seen[c.promise]:
			c.order = deep
		}
		seen[c.promise] = true
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

// unsupport reports something of the operation that no test tries.
func (m *singleMaker) unsupport(format string, args ...any) {
	m.tests.unsupported = append(m.tests.unsupported, m.operation.ID+", "+fmt.Sprintf(format, args...))
}

// demand adds a promise of the operation, whether a test tries it or not.
func (m *singleMaker) demand(promise string) {
	m.tests.promises = append(m.tests.promises, m.operation.ID+", "+promise)
}

// otherMediaTypes reports bodies that are not JSON.
func (m *singleMaker) otherMediaTypes() {
	used, _ := m.operation.Body()
	for _, other := range slices.Sorted(maps.Keys(m.operation.Content())) {
		if other != used && !document.IsJSON(other) {
			m.unsupport("body as %s", other)
		}
	}
}

// unwritable returns why no request of the operation can be written, or nothing.
func (m *singleMaker) unwritable() string {
	if m.operation.NeedsUnread {
		return "they need what is not in the document, or not understood"
	}
	if why := m.whyNotTested(m.operation); why != "" {
		return why
	}
	if m.operation.BodySchema() == nil && m.operation.NeedsBody() {
		return "its body is required and has no media type that a test can write"
	}
	for _, parameter := range m.operation.Parameters {
		if _, ok := m.Values.BaseParameter(parameter); !ok && parameter.Required {
			return "no value for its required parameter " + parameter.Name
		}
	}
	return ""
}
