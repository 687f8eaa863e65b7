package plan

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/report"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// parameters adds tests of every parameter, and of one that is unknown.
func (m *singleMaker) parameters() {
	for _, parameter := range m.operation.Parameters {
		m.parameterRobustness(parameter)
		m.parameterVariants(parameter)
		// Without a parameter of the path there would be another path.
		if parameter.Required && parameter.In != "path" {
			promise := scenario.Promise{Kind: scenario.ParameterKeyword, Place: parameter.Name, Keyword: "required", Duty: scenario.MustRefuse}
			m.add(report.Name(promise), promise).refused(scenario.InvalidParameter, parameter.In, "/"+parameter.Name).Unset(parameter)
		}
	}
	if m.Rules.RefusesUnknown != nil {
		m.unknownParameter()
	}
}

// unknownParameter adds a test of a parameter that the document does not have. OpenAPI does not say whether a service refuses
// it, so the options do.
func (m *singleMaker) unknownParameter() {
	c := m.add("unknown parameter", scenario.Promise{Kind: scenario.UnknownParameter, Keyword: "parameter"})
	c.query = append(c.query, "unknown-parameter=1")
	if m.Rules.RefusesUnknown(m.operation.Declared()) {
		c.refused(scenario.InvalidParameter, "query", "/unknown-parameter")
	}
}

// parameterRobustness adds tests of texts that services have crashed on.
func (m *singleMaker) parameterRobustness(parameter *document.Parameter) {
	for _, text := range robustnessTexts(parameter) {
		survived := scenario.Promise{Kind: scenario.ParameterRobustness, Place: parameter.Name, Duty: scenario.MustSurvive}
		c := m.add("robustness, parameter "+parameter.Name+": "+text, survived)
		// A service looks at a header, which is a condition, only after it has found what the condition is of. Of others it
		// is enough that the path names nothing.
		if parameter.In != "header" {
			c.withoutResource(m.firstInPath(parameter), m.Values)
		}
		c.changed = &scenario.Violation{Kind: scenario.InvalidParameter, In: parameter.In, Pointer: "/" + parameter.Name}
		if parameter.In == "query" {
			text = url.QueryEscape(parameter.Name) + "=" + text
		}
		c.Set(parameter, text)
	}
}

// robustnessTexts are the texts of robustness tests for a parameter, as they are sent. Of headers only conditions have some,
// and only where the document has them: most services do not read the others at all.
func robustnessTexts(parameter *document.Parameter) []string {
	switch parameter.In {
	case "path", "query":
		return values.RobustnessTexts
	case "header":
		return robustnessHeaders[http.CanonicalHeaderKey(parameter.Name)]
	}
	return nil
}

// robustnessHeaders are the texts of robustness tests for headers.
var robustnessHeaders = map[string][]string{
	"If-Match":      values.RobustnessEntityTags,
	"If-None-Match": values.RobustnessEntityTags,
}

// parameterVariants adds tests of the ways to write a parameter.
func (m *singleMaker) parameterVariants(parameter *document.Parameter) {
	for _, variant := range m.Values.ParameterVariants(parameter) {
		if variant.Demand {
			m.demand(variant.Promise)
		} else {
			m.parameter(parameter, variant)
		}
	}
}

// parameter adds a test of one way to write a parameter.
//
//	GET /tools?limit=0    refused, where the document says "minimum: 1"
//	GET /tools?limit=1    accepted
func (m *singleMaker) parameter(parameter *document.Parameter, variant values.ParameterVariant) {
	c := m.add(report.Name(variant.Promise)+": "+variant.Shown, variant.Promise)
	c.Set(parameter, variant.Text)
	if parameter.In == "path" {
		m.nameInPath(c, parameter, variant.Text)
	}
	if !variant.Valid {
		c.withoutResource(m.firstInPath(parameter), m.Values)
		c.refused(scenario.InvalidParameter, parameter.In, "/"+parameter.Name)
	}
}

// firstInPath is the first parameter of the path that need not name anything, if a parameter is wrong or of a robustness
// test: that parameter itself, if it is in the path, or else the first one of the path.
func (m *singleMaker) firstInPath(parameter *document.Parameter) string {
	if parameter.In != "path" && len(m.operation.PathNames) > 0 {
		return m.operation.PathNames[0]
	}
	return parameter.Name
}

// nameInPath makes a test create what its path names with a text, if a create can give it that identity. Otherwise the path names
// something that does not exist.
func (m *singleMaker) nameInPath(c *single, parameter *document.Parameter, text string) {
	number, err := strconv.ParseInt(text, 10, 64)
	isNumber := err == nil
	if isNumber && c.canChoose(parameter) {
		c.id = number
		c.shared = []any{number} // others may use it, too
		return
	}
	if c.use.IsNamedBy(c.Operation, parameter.Name) {
		c.withoutResource(parameter.Name, m.Values)
	}
	c.namesNothing = true
}

// canChoose reports whether the client chooses the integer that a path parameter has.
func (c *single) canChoose(parameter *document.Parameter) bool {
	isIdentity := c.use.IsNamed(parameter.Name)
	return isIdentity && !c.use.IsAssigned && schema.TypeOf(c.use.Identity) == "integer"
}
