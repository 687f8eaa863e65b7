package plan

import (
	"net/url"
	"strconv"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// parameters adds tests of every parameter, and of one that is unknown.
func (m *singleMaker) parameters() {
	for _, parameter := range m.operation.Parameters {
		m.oddParameter(parameter)
		for _, variant := range m.values.ParameterVariants(parameter) {
			if variant.Demand {
				m.demand(variant.Promise)
			} else {
				m.parameter(parameter, variant)
			}
		}
		if parameter.Required && parameter.In != "path" {
			promise := "parameter " + parameter.Name + " required, refused"
			m.add(promise, promise).refused(scenario.InvalidParameter, parameter.In, "/"+parameter.Name).unset(parameter)
		}
	}
	if refusesUnknown := m.Rules.RefusesUnknown; refusesUnknown != nil {
		c := m.add("unknown parameter", "unknown parameter")
		c.query = append(c.query, "unknown-parameter=1")
		if refusesUnknown(m.operation.Declared()) {
			c.refused(scenario.InvalidParameter, "query", "/unknown-parameter")
		}
	}
}

// oddParameter adds tests of texts that services have crashed on.
func (m *singleMaker) oddParameter(parameter *openapi3.Parameter) {
	if parameter.In != "path" && parameter.In != "query" {
		return
	}
	for _, text := range values.OddTexts {
		c := m.add("odd parameter "+parameter.Name+": "+text, "odd parameter "+parameter.Name+", survived")
		c.withoutResource()
		c.odd = true
		if parameter.In == "query" {
			text = url.QueryEscape(parameter.Name) + "=" + text
		}
		c.set(parameter, text)
	}
}

// parameter adds a test of one way to write a parameter.
func (m *singleMaker) parameter(parameter *openapi3.Parameter, variant values.ParameterVariant) {
	c := m.add(variant.Promise+": "+variant.Shown, variant.Promise)
	c.set(parameter, variant.Text)
	if parameter.In == "path" {
		c.names(parameter, variant.Text)
	}
	wanted, _ := document.ParameterSchema(parameter)
	isCursor := parameter.In == "query" && isAmong(cursorNames, parameter.Name)
	c.madeUp = isCursor && wanted.Type.Is("string") && m.infers(m.operation)
	if !variant.Valid {
		c.withoutResource()
		c.refused(scenario.InvalidParameter, parameter.In, "/"+parameter.Name)
	}
}

// names makes a test create the resource that its path names, if a create can
// give it that identity.
func (c *single) names(parameter *openapi3.Parameter, text string) {
	if !c.use.isNamed(parameter.Name) {
		c.absent = true
		return
	}
	number, err := strconv.ParseInt(text, 10, 64)
	isChosen := c.use.identity.Type.Is("integer") && !c.use.assigned
	if err == nil && isChosen {
		c.id = number
		c.shared = []any{number}
		return
	}
	c.withoutResource()
	c.absent = true
}
