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
	return p.testOf(scenario.Effect(operation.ID, header), func(d *draft.Draft) []scenario.Step {
		c := condition{
			Draft:     d,
			resource:  x,
			operation: operation,
			header:    header,
			thing:     x.Thing(nil),
		}
		return c.steps()
	})
}

// version is what a read has shown of a resource.
type version struct{ body, etag string }

// readVersion reads a thing and its ETag, which two reads must agree on: with an ETag that changes by itself no
// write with If-Match would ever succeed.
func readVersion(d *draft.Draft, thing *scenario.Thing, into *version) []scenario.Step {
	isInferred := d.Resources.CreatedBy(thing.Creator).IsInferred
	steps := d.Read(thing, func(got scenario.Interaction) error {
		*into = version{body: string(got.Body), etag: got.Header.Get("ETag")}
		if into.etag == "" && isInferred {
			return scenario.Untried("a read has no ETag")
		}
		return scenario.Require(into.etag != "", "a read has no ETag")
	})
	return append(steps, d.Read(thing, func(got scenario.Interaction) error {
		again := got.Header.Get("ETag")
		return scenario.Require(again == into.etag, "two reads of one resource have the ETags %s and %s", into.etag, again)
	})...)
}

// condition tests what a conditional header does with the version that is current, one that is not any
// more, another one, and *.
//
//	PUT /tools/7, If-Match: "0", of an earlier version   must be 412
//	PUT /tools/7, If-Match: "1", the current one         must be 200
//	GET /tools/7, If-None-Match: "1"                     must be 304
type condition struct {
	*draft.Draft
	resource  *resources.Resource
	operation *document.Operation
	header    string

	thing *scenario.Thing
	// Before it was deleted, and before it was changed.
	otherLife, stale version
}

// canDelete reports whether the resource can be deleted and created again with its identity.
func (c *condition) canDelete() bool {
	return c.resource.Operations[http.MethodDelete] != nil && !c.resource.IsAssigned
}

// isIfMatch reports whether the condition holds for the current version.
func (c *condition) isIfMatch() bool { return c.header == "If-Match" }

// steps makes versions that are not current any more, and then tries each of them and those that are. Without
// a PUT there is no older version, so an ETag that no service has stands for it.
func (c *condition) steps() []scenario.Step {
	steps := []scenario.Step{{Create: c.thing}}
	if c.canDelete() {
		steps = append(steps, readVersion(c.Draft, c.thing, &c.otherLife)...)
		steps = append(steps, scenario.Later(func() []scenario.Step {
			return c.Remove(c.thing)
		}), c.createAgain())
	}
	steps = append(steps, readVersion(c.Draft, c.thing, &c.stale)...)
	steps = append(steps, scenario.Step{Check: c.isStrong})
	if c.resource.Operations[http.MethodPut] != nil {
		steps = append(steps, changeThing(c.Draft, http.MethodPut, c.thing)...)
		steps = append(steps, c.hasChanged()...)
	} else {
		steps = append(steps, scenario.Verify(func() error {
			c.stale.etag = `"stale"`
			return nil
		}))
	}
	for _, try := range []struct {
		value   func(current string) string
		matches bool
	}{
		{func(string) string { return c.stale.etag }, false},
		{func(string) string { return c.otherLife.etag }, false},
		{func(current string) string { return current }, true},
		{func(current string) string { return c.stale.etag + ", " + current }, true},
		{func(string) string { return "*" }, true},
	} {
		steps = append(steps, c.try(try.value, try.matches)...)
	}
	if c.operation.Method == http.MethodPut && c.canDelete() {
		steps = append(steps, scenario.Later(func() []scenario.Step {
			return c.Remove(c.thing)
		}), c.putAbsent())
	}
	return steps
}

// createAgain creates the thing with new values, so that its versions before are not current by chance.
func (c *condition) createAgain() scenario.Step {
	return scenario.Later(func() []scenario.Step {
		c.thing.Sent = nil
		return []scenario.Step{{Create: c.thing}}
	})
}

// weakETags is why nothing is shown where no If-Match can be true: it compares strongly (RFC 9110, section 13.1.1).
const weakETags scenario.Untried = "the ETags are weak, and If-Match is true of strong ones only"

// isStrong ends the test where no If-Match can be true.
func (c *condition) isStrong(scenario.Interaction) error {
	if c.isIfMatch() && strings.HasPrefix(c.stale.etag, "W/") {
		return weakETags
	}
	return nil
}

// hasChanged fails unless a change has given the resource another ETag.
func (c *condition) hasChanged() []scenario.Step {
	now := &version{}
	return append(readVersion(c.Draft, c.thing, now), scenario.Verify(func() error {
		if now.etag != c.stale.etag {
			return nil
		}
		return scenario.BrokenBy(leavesETag(c.resource, http.MethodPut), "a change has left the ETag at %s", c.stale.etag)
	}))
}

// try sends a request with a condition, which depends on the current version. If-Match holds for a version that
// matches, If-None-Match for one that does not (RFC 9110, sections 13.1.1 and 13.1.2).
func (c *condition) try(value func(current string) string, matches bool) []scenario.Step {
	current := &version{}
	return append(readVersion(c.Draft, c.thing, current), scenario.Later(func() []scenario.Step {
		sent := value(current.etag)
		if sent == "" { // there was no other life
			return nil
		}
		if proceeds := matches == c.isIfMatch(); proceeds {
			return c.proceeds(sent)
		}
		return c.isRefused(sent)
	}))
}

// with is a request with a condition.
func (c *condition) with(value string) scenario.Step {
	return scenario.Step{Call: func() scenario.Call {
		return scenario.Call{
			Operation: c.operation.ID, Of: c.thing, Header: http.Header{c.header: {value}}, Body: c.PlainBody(c.operation),
		}
	}}
}

// proceeds sends a request with a condition that holds. What it deletes is created again for the next try.
func (c *condition) proceeds(value string) []scenario.Step {
	step := c.with(value)
	step.Check = func(got scenario.Interaction) error {
		hasProceeded := got.Status < http.StatusMultipleChoices
		return scenario.Require(hasProceeded, "%s with %s: %s must proceed, the status is %d: %.300s", c.operation.ID, c.header, value, got.Status, got.Body)
	}
	if c.operation.Method != http.MethodDelete {
		return []scenario.Step{step}
	}
	again := scenario.Later(func() []scenario.Step {
		if c.resource.IsAssigned {
			c.thing.ID = nil
		}
		return nil
	})
	return []scenario.Step{step, again, c.createAgain()}
}

// isRefused sends a request with a condition that does not hold. To a read with If-None-Match the response is
// 304, to all others 412 (RFC 9110, section 13.2.2).
func (c *condition) isRefused(value string) []scenario.Step {
	step := c.with(value)
	if c.operation.Method == http.MethodGet && !c.isIfMatch() {
		step.Check = func(got scenario.Interaction) error {
			isNotModified := got.Status == http.StatusNotModified
			return scenario.Require(isNotModified, "%s with %s: %s must be 304, the status is %d", c.operation.ID, c.header, value, got.Status)
		}
		return []scenario.Step{step}
	}
	step.Expect = scenario.Refused(scenario.PreconditionFailed)
	return append([]scenario.Step{step}, c.Unchanged(c.thing, "a refused request")...)
}

// putAbsent sends a PUT of what does not exist with the condition *. If-None-Match: * is how a client creates
// without overwriting what another one has created, and If-Match: * how it replaces without creating.
func (c *condition) putAbsent() scenario.Step {
	step := c.with("*")
	step.Check = func(got scenario.Interaction) error {
		isNotFound := got.Status == http.StatusNotFound // it only replaces
		switch {
		case isNotFound, !c.isIfMatch() && got.Status < http.StatusMultipleChoices:
			return nil
		case c.isIfMatch():
			return c.Judge.Refused(got, scenario.Violation{Kind: scenario.PreconditionFailed}, scenario.Effect(c.operation.ID, c.header))
		}
		return scenario.Brokenf("%s with %s: * must create what does not exist, the status is %d", c.operation.ID, c.header, got.Status)
	}
	step.Then = func(got scenario.Interaction) []scenario.Step {
		if !c.isIfMatch() || got.Status == http.StatusNotFound {
			return nil
		}
		return c.Read(c.thing, func(after scenario.Interaction) error {
			isAbsent := after.Status == http.StatusNotFound
			return scenario.Require(isAbsent, "%s was refused, but it has created %s", c.operation.ID, after.Body)
		})
	}
	return step
}
