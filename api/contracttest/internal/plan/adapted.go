package plan

import (
	"maps"
	"slices"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/draft"
	"github.com/plantstore/plantstore/api/contracttest/internal/lessons"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/internal/world"
)

// A request is adapted when it is sent, not when its test is made: what is known of the service grows meanwhile. Only
// placeholders are replaced. A value that a test is about is another one than the plainest, so
// it stays.

// adapted is a test of one request with what the service is known to need, and the names of what it needs.
func adapted(d *draft.Draft, c *single) (filled *single, needs []string) {
	filled = new(*c)
	filled.parameters = maps.Clone(c.parameters)
	filled.header = c.header.Clone()
	for _, parameter := range c.operation.Parameters {
		names := namesOf(d, c, parameter)
		if len(names) == 0 {
			continue
		}
		text, isKnown := d.Lessons.Text(parameter, names)
		if isKnown || lessons.IsReference(parameter) {
			needs = append(needs, parameter.Name)
		}
		isKept := parameter.In == "path" || c.about == parameter.Name
		if isKnown && !isKept && c.hasPlaceholder(d, parameter) {
			filled.set(parameter, text)
		}
	}
	filled.fillPath(d, c)
	if d.Lessons.Of(c.operation).NeedsFresh {
		filled.freshenPath(d)
	}
	adapted, ofBody := d.Lessons.Body(c.operation, c.body, c.keeps)
	filled.body = adapted
	return filled, append(needs, ofBody...)
}

// fillPath replaces placeholders in a path with known values. Where something below the resource of a test is known, but nothing creates
// it, the whole path is of what is world.
func (c *single) fillPath(d *draft.Draft, made *single) {
	names := c.operation.PathNames
	// The path of /tickets/{id}/close names a ticket, and then something of it.
	isPart := c.use != nil && !c.use.IsNamedBy(c.operation, names[len(names)-1])
	isOpen := func(parameter *document.Parameter) bool {
		switch {
		case c.about == parameter.Name:
			return false
		case c.use.IsNamedBy(c.operation, parameter.Name):
			return isPart
		}
		return made.hasPlaceholder(d, parameter)
	}
	chosen := d.Lessons.Path(c.operation, isOpen)
	if isPart && chosen[c.use.Parameter] != "" {
		c.use = nil
	}
	for name, text := range chosen {
		if !c.use.IsNamedBy(c.operation, name) {
			c.parameters[name] = text
		}
	}
}

// freshenPath makes the placeholder texts of a path new, as those of a body are: POST /servers/{name} may create
// what the path names, and its name may have to be of small letters.
func (c *single) freshenPath(d *draft.Draft) {
	for _, parameter := range c.operation.Parameters {
		wanted, _ := document.ParameterSchema(parameter)
		isOpen := parameter.In == "path" && !c.isSettled(parameter) && c.hasPlaceholder(d, parameter)
		if isOpen && schema.TypeOf(wanted) == "string" && len(schema.ValuesOf(wanted)) == 0 {
			text, _ := document.Written(parameter, d.Values.Fresh(wanted, nil))
			c.set(parameter, text)
		}
	}
}

// namesOf are the names under which a parameter of a request is looked up: none, if the test creates what it names, or
// is about a name in the path.
func namesOf(d *draft.Draft, c *single, parameter *document.Parameter) []string {
	switch {
	case d.Values.IsGiven(parameter.Name):
		return nil
	case !parameter.Required:
		return nil
	case parameter.In != "path":
		return lessons.NamesOf(parameter)
	case c.isSettled(parameter):
		return nil
	}
	return world.InPath(c.operation.Template, parameter.Name)
}

// isSettled reports whether a test is about a parameter, or creates what it names.
func (c *single) isSettled(parameter *document.Parameter) bool {
	return c.about == parameter.Name || c.use.IsNamedBy(c.operation, parameter.Name)
}

// hasPlaceholder reports whether a request has the plainest value of a parameter.
func (c *single) hasPlaceholder(d *draft.Draft, parameter *document.Parameter) bool {
	plain, _ := d.Values.BaseParameter(parameter)
	switch parameter.In {
	case "path":
		return c.parameters[parameter.Name] == plain
	case "query":
		return slices.Contains(c.query, plain)
	case "header":
		return c.header.Get(parameter.Name) == plain
	}
	return false
}
