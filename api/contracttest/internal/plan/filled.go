package plan

import (
	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/draft"
	"github.com/plantstore/plantstore/api/contracttest/internal/lessons"
	"github.com/plantstore/plantstore/api/contracttest/internal/world"
)

// A request is filled when it is sent, not when its test is made: what is known of the service grows meanwhile.

// filled is a copy of a test of one request with what the service is known to need in place of free parameters. needs are the
// parameters and members that refer to what the test has not created: those with a known value, and those that look like
// references, whether the test has settled them or not.
func (c *single) filled(d *draft.Draft) (filled *single, needs []string) {
	filled = new(*c) // setting a slot of it leaves those of c as they are
	for _, parameter := range c.Operation.Parameters {
		names := namesOf(d, c, parameter)
		if len(names) == 0 {
			continue
		}
		text, isKnown := d.Lessons.Text(parameter, names)
		if isKnown || lessons.IsReference(parameter) {
			needs = append(needs, parameter.Name)
		}
		if isKnown && parameter.In != "path" && c.IsFree(parameter) {
			filled.Set(parameter, text)
		}
	}
	filled.fillPath(d)
	if d.Lessons.Of(c.Operation).NeedsFresh {
		filled.FreshenPath(d)
	}
	body, ofBody := d.Lessons.Body(c.Operation, c.body, c.keeps)
	filled.body = body
	return filled, append(needs, ofBody...)
}

// fillPath gives the free parameters of a path known values. If the path names something below the resource of the test, and
// something there is known, the whole path names what is known, and the test need not create the resource.
func (c *single) fillPath(d *draft.Draft) {
	names := c.Operation.PathNames
	// In /tickets/{id}/parts/{part}, with tests that create a ticket, but no part.
	isBelow := c.use != nil && !c.use.IsNamedBy(c.Operation, names[len(names)-1])
	if isBelow {
		whole := c.Slots
		whole.FillPath(d, func(parameter *document.Parameter) bool { return c.IsFree(parameter) || !c.Has(parameter) })
		if whole.Has(c.Operation.Parameter("path", c.use.Parameter)) {
			c.Slots = whole
			c.use = nil
			return
		}
	}
	c.FillPath(d, c.IsFree)
}

// namesOf are the names under which a value for a parameter of a request is looked up: none, if the parameter is optional, if
// an option gives it, or if it is in the path and the test itself has set it.
func namesOf(d *draft.Draft, c *single, parameter *document.Parameter) []string {
	switch {
	case d.Values.IsGiven(parameter.Name), !parameter.Required:
		return nil
	case parameter.In != "path":
		return lessons.NamesOf(parameter)
	case !c.IsFree(parameter):
		return nil
	}
	return world.InPath(c.Operation.Template, parameter.Name)
}
