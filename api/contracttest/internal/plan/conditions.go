package plan

import (
	"net/http"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/draft"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// How a condition is tested: the resource gets a history. It is created, deleted and created again with the
// same identity, and then changed. Each of the versions before has an ETag that a client may still hold,
// and none of them may let a write through: that is how a client would overwrite what it has never seen.
// Services that make an ETag of a counter that begins again pass most tests, but not the one with the
// version before the deletion.

// conditionTests returns the tests of what conditional headers do (RFC 9110, section 13.1).
func (p *Planner) conditionTests() (all []Test) {
	for _, x := range p.Resources.All {
		if x.Operations[http.MethodGet] == nil || !x.HasETag() {
			continue
		}
		for _, method := range x.Methods() {
			for _, header := range conditionsOf(x.Operations[method]) {
				all = append(all, p.conditionTest(x, x.Operations[method], header))
			}
		}
	}
	return all
}

// conditionsOf are the conditional headers that an operation takes, by the ETag.
func conditionsOf(operation *document.Operation) (headers []string) {
	for _, header := range []string{"If-Match", "If-None-Match"} {
		if operation.Parameter("header", header) != nil {
			headers = append(headers, header)
		}
	}
	return headers
}

// conditionTest is the test of what a conditional header of an operation does.
func (p *Planner) conditionTest(x *resources.Resource, operation *document.Operation, header string) Test {
	return p.testOf(scenario.Effect(operation.ID, header), func(t *draft.Trial) {
		c := condition{Trial: t, resource: x, operation: operation, header: header}
		c.run()
	})
}

// condition tests what a conditional header does with the ETag of the current version, of an earlier one, of one before the
// resource was deleted and created again, and with *.
//
//	PUT /tools/7, If-Match: "0", of an earlier version   must be 412
//	PUT /tools/7, If-Match: "1", the current one         must be 200
//	GET /tools/7, If-None-Match: "1"                     must be 304
type condition struct {
	*draft.Trial
	resource  *resources.Resource
	operation *document.Operation
	header    string

	thing     *scenario.Thing
	otherLife version // before the thing was deleted; its ETag is empty if the thing cannot be deleted
	stale     version // before the thing was changed
}

// canDelete reports whether the resource can be deleted and created again with its identity.
func (c *condition) canDelete() bool {
	return c.resource.Operations[http.MethodDelete] != nil && !c.resource.IsAssigned
}

// isIfMatch reports whether the condition holds for the current version, as If-None-Match does not.
func (c *condition) isIfMatch() bool { return c.header == "If-Match" }

// run makes versions that are not current any more, and then tries each of them and those that are. Without a PUT there is no
// older version, and an ETag that no service has takes its place. A PUT is also tried on what does not exist.
func (c *condition) run() {
	put := c.resource.Operations[http.MethodPut]
	var replacement any // of another body than that of the create, and nil if no test can write one
	if put != nil {
		replacement = c.VariedThing(put)
	}
	c.thing = c.CreateOf(c.resource)
	if c.canDelete() {
		c.otherLife = readVersion(c.Trial, c.thing)
		c.Remove(c.thing)
		c.createAgain()
	}
	c.stale = readVersion(c.Trial, c.thing)
	if c.isIfMatch() && c.stale.isWeak() {
		c.NotTested(weakETags)
	}
	if put != nil {
		if replacement == nil {
			c.NotTested(noJSONBody)
		}
		c.Accepted(http.MethodPut, c.thing, replacement)
		c.hasChanged()
	} else {
		c.stale.etag = `"stale"`
	}
	c.try(c.stale.etag, false)
	c.try(c.otherLife.etag, false)
	c.try("CURRENT", true)
	c.try(c.stale.etag+", CURRENT", true)
	c.try("*", true)
	if c.operation.Method == http.MethodPut && c.canDelete() {
		c.Remove(c.thing)
		c.putAbsent()
	}
}

// createAgain creates the thing with new values, so that its ETags from before are not current by chance.
func (c *condition) createAgain() {
	c.thing.Sent = nil
	c.Create(c.thing)
}

// hasChanged fails unless a change has given the resource another ETag.
func (c *condition) hasChanged() {
	if now := readVersion(c.Trial, c.thing); now.etag == c.stale.etag {
		c.Check(scenario.BrokenBy(leavesETag(c.resource, http.MethodPut), "a change has left the ETag at %s", now.etag))
	}
}

// try sends a request with a condition, in which CURRENT is the ETag of the current version. matches says whether the current
// version is one of the condition: then If-Match holds, and otherwise If-None-Match (RFC 9110, sections 13.1.1 and 13.1.2).
func (c *condition) try(value string, matches bool) {
	value = strings.Replace(value, "CURRENT", readVersion(c.Trial, c.thing).etag, 1)
	holds := matches == c.isIfMatch()
	switch {
	case value == "": // there was no other life
	case holds:
		c.proceeds(value)
	default:
		c.isRefused(value)
	}
}

// call calls the operation with a condition.
func (c *condition) call(value string, expect scenario.Expectation) scenario.Interaction {
	return c.Do(scenario.Call{
		Operation: c.operation.ID, Of: c.thing, Header: http.Header{c.header: {value}}, Body: c.PlainBody(c.operation),
	}, expect)
}

// proceeds sends a request with a condition that holds. What it deletes is created again for the next try.
func (c *condition) proceeds(value string) {
	got := c.call(value, scenario.Expectation{})
	hasProceeded := got.Status < http.StatusMultipleChoices
	c.Require(hasProceeded, "%s with %s: %s must proceed, the status is %d: %.300s", c.operation.ID, c.header, value, got.Status, got.Body)
	if c.operation.Method != http.MethodDelete {
		return
	}
	if c.resource.IsAssigned {
		c.thing.ID = nil
	}
	c.createAgain()
}

// isRefused sends a request with a condition that does not hold. To a read with If-None-Match the response is
// 304, to all others 412 (RFC 9110, section 13.2.2).
func (c *condition) isRefused(value string) {
	if c.operation.Method == http.MethodGet && !c.isIfMatch() {
		got := c.call(value, scenario.Expectation{})
		isNotModified := got.Status == http.StatusNotModified
		c.Require(isNotModified, "%s with %s: %s must be 304, the status is %d", c.operation.ID, c.header, value, got.Status)
		return
	}
	c.call(value, scenario.Refused(scenario.PreconditionFailed))
	c.Unchanged(c.thing, "a refused request")
}

// putAbsent sends a PUT of what does not exist with the condition *. If-None-Match: * is how a client creates without
// overwriting what another one has created, and If-Match: * how it replaces without creating. A response of 404 is right for
// both: the service only replaces.
func (c *condition) putAbsent() {
	got := c.call("*", scenario.Expectation{})
	switch {
	case got.Status == http.StatusNotFound:
		return
	case !c.isIfMatch():
		hasCreated := got.Status < http.StatusMultipleChoices
		c.Require(hasCreated, "%s with %s: * must create what does not exist, the status is %d", c.operation.ID, c.header, got.Status)
		return
	}
	promise := scenario.Effect(c.operation.ID, c.header)
	c.Check(c.Judge.Refused(got, scenario.Violation{Kind: scenario.PreconditionFailed}, promise))
	if after, isRead := c.Read(c.thing); isRead {
		isAbsent := after.Status == http.StatusNotFound
		c.Require(isAbsent, "%s was refused, but it has created %s", c.operation.ID, after.Body)
	}
}
