package plan

import (
	"maps"
	"net/http"
	"regexp"
	"slices"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/draft"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// A change can be read: of a PUT what it has and nothing else (see putRemoves), of a PATCH what it has and what was there before.

// noJSONBody is why a resource cannot be changed by a test.
const noJSONBody scenario.NotTested = "the body is not JSON"

// bodySchema is the schema of the body of an operation. Without one the test ends.
func bodySchema(t *draft.Trial, operation *document.Operation) *schema.Schema {
	described := operation.ThingSchema()
	if described == nil {
		t.NotTested(noJSONBody)
	}
	return described
}

// readSeesReplacement replaces a resource by what the schema allows, and reads it each time.
//
//	PUT /tools/7 {"name": "b"}   200
//	GET /tools/7                 must have {"name": "b"}
func readSeesReplacement(t *draft.Trial, x *resources.Resource) {
	writeAndRead(t, x, http.MethodPut, afterReplacement)
}

// readSeesChange changes a resource in ways that the schema allows, and reads it each time.
//
//	PATCH /tools/7 {"size": 2}   200
//	GET /tools/7                 must have {"name": "b", "size": 2}
func readSeesChange(t *draft.Trial, x *resources.Resource) {
	writeAndRead(t, x, http.MethodPatch, afterChange)
}

// knownAfter is what is known of a resource after a write, from what was known before and the body.
type knownAfter func(d *draft.Draft, x *resources.Resource, before, body map[string]any) map[string]any

// writeAndRead writes a thing with varied bodies, and then with bodies at the edges of the schema, which the service may
// refuse: that has tests of its own. The response to each write, and a read after it, must have what is known then.
func writeAndRead(t *draft.Trial, x *resources.Resource, method string, after knownAfter) {
	operation := x.Operations[method]
	described := bodySchema(t, operation)
	thing := t.CreateOf(x)
	known := thing.Sent
	varied := variedBodies(t.Draft, operation)
	for i, body := range slices.Concat(varied, objectBodies(t.Draft, described)) {
		expect := scenario.Accepted
		if isAtEdge := i >= len(varied); isAtEdge {
			expect = scenario.Expectation{}
			body = t.Needed(operation, body)
		}
		got := t.Do(t.CallOf(method, thing, body), expect)
		if got.Status/100 == 4 {
			continue
		}
		known = after(t.Draft, x, known, body)
		t.Check(t.Shows(got, known, operation))
		t.ReadShows(thing, known)
	}
}

// objectBodies are the objects that are at the edge of some keyword of a schema.
func objectBodies(d *draft.Draft, described *schema.Schema) (bodies []map[string]any) {
	for _, variant := range d.Values.Obeying(described) {
		if body, isObject := variant.Value.(map[string]any); isObject {
			bodies = append(bodies, body)
		}
	}
	return bodies
}

// afterChange is what is known of a resource after a change, which leaves what it does not have.
func afterChange(_ *draft.Draft, _ *resources.Resource, before, body map[string]any) map[string]any {
	known := maps.Clone(before)
	maps.Copy(known, body)
	return known
}

// afterReplacement is what is known of a resource after a replacement. A member that it does not have is removed, and known
// as nil; not so of an inferred resource, of which putRemoves tests it. A member that the service sets itself, or that has a
// default, may have any value.
func afterReplacement(d *draft.Draft, x *resources.Resource, _, body map[string]any) map[string]any {
	known := map[string]any{}
	for name, property := range d.Values.Flatten(x.Operations[http.MethodPut].ThingSchema()).Properties {
		value, isSent := body[name]
		isKnown := isSent || !x.IsInferred
		if isKnown && !isOfService(d, x, name, property) {
			known[name] = value
		}
	}
	return known
}

// isOfService reports whether the service, or its document, decides what a member has: it is the identity, is only read, or has a
// default.
func isOfService(d *draft.Draft, x *resources.Resource, name string, property *schema.Schema) bool {
	isNotSent := name == x.Member || d.Values.IsAbsent(property)
	return isNotSent || schema.DefaultOf(property) != nil
}

// changeThing changes a thing to other values.
func changeThing(t *draft.Trial, method string, thing *scenario.Thing) {
	operation := t.Resources.CreatedBy(thing.Creator).Operations[method]
	bodySchema(t, operation)
	t.Accepted(method, thing, t.VariedThing(operation))
}

// merges are words of a PUT that does not replace. RFC 9110 knows no such PUT (section 9.3.4), but a service that
// says so keeps its promise.
var merges = regexp.MustCompile(`(?i)partial|merg|omit|unchanged|absent|missing|not (given|sent|present)`)

// putRemoves fails if a member that a replacement does not have keeps the value that it had, for two
// resources with different values: otherwise the value may be a default. It is the difference between PUT
// and PATCH that is forgotten most often.
//
//	PUT /tools/7 {"name": "a", "note": "n"}   200
//	PUT /tools/7 {"name": "a"}                200
//	GET /tools/7                              must not have the note "n"
func putRemoves(t *draft.Trial, x *resources.Resource) {
	put := x.Operations[http.MethodPut]
	described := put.ThingSchema()
	if described == nil || merges.MatchString(put.Says) {
		t.NotTested("the document does not say that it replaces")
	}
	removals := [2]removal{leaveOut(t, x, put), leaveOut(t, x, put)}
	for _, name := range t.Values.Names(described) {
		isKept := name == x.Member || slices.Contains(t.Values.Flatten(described).Required, name)
		if !isKept && bothKeep(removals, name) {
			t.Check(scenario.Brokenf("a replacement without %s has left it at %v", name, removals[1].after[name]))
		}
	}
}

// removal is a resource before and after a replacement by one without what is optional.
type removal struct{ before, after map[string]any }

// leaveOut replaces a resource, and then again without what is optional. The first replacement gives it values of
// all members, which the create may not have taken.
func leaveOut(t *draft.Trial, x *resources.Resource, put *document.Operation) removal {
	described := put.ThingSchema()
	whole := jsonvalue.Object(t.VariedThing(put))
	least := map[string]any{}
	for _, name := range t.Values.Flatten(described).Required {
		least[name] = whole[name]
	}
	thing := t.CreateOf(x)
	if !t.Values.Fits(described, least) {
		t.NotTested("a test has no value without what is optional")
	}
	t.Accepted(http.MethodPut, thing, whole)
	before, _ := t.Read(thing)
	t.Accepted(http.MethodPut, thing, least)
	after, _ := t.Read(thing)
	return removal{before: x.Shown(before), after: x.Shown(after)}
}

// bothKeep reports whether two resources have kept different values of a member. What both have alike may be a
// default, or set by the service.
func bothKeep(removals [2]removal, name string) bool {
	for _, removed := range removals {
		if removed.before[name] == nil || !jsonvalue.Same(removed.before[name], removed.after[name]) {
			return false
		}
	}
	return !jsonvalue.Same(removals[0].before[name], removals[1].before[name])
}
