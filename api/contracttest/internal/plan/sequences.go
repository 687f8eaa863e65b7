package plan

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/draft"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/report"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Sequences find what single requests cannot: that a service forgets, mixes up, or changes too much. Each
// is one sentence about a resource that HTTP or the document promises, and each creates what it needs. What
// a sequence compares is what was sent with what a read shows, and never one response with the document's
// examples.

// sequence is a test over a resource with what it needs.
type sequence struct {
	promise scenario.PromiseKind
	methods []string // the resource must have operations with them
	steps   func(d *draft.Draft, x *resources.Resource) []scenario.Step
	of      func(x *resources.Resource) bool // nil: of all
}

// sequences are the tests that any resource has, in the order in which they run.
var sequences = []sequence{
	{scenario.ReadSeesCreate, []string{http.MethodGet}, readSeesCreate, nil},
	{scenario.ReadSeesReplacement, []string{http.MethodGet, http.MethodPut}, readSeesReplacement, nil},
	{scenario.ReadSeesChange, []string{http.MethodGet, http.MethodPatch}, readSeesChange, nil},
	{scenario.DeletedIsGone, []string{http.MethodGet, http.MethodDelete}, deletedIsGone, nil},
	{scenario.ReplacesOne, []string{http.MethodGet, http.MethodPut}, replacesOne, nil},
	{scenario.DeletesOne, []string{http.MethodGet, http.MethodDelete}, deletesOne, nil},
	{scenario.AssignsOnce, []string{http.MethodDelete}, assignsAnother, (*resources.Resource).AssignsOnce},
	{scenario.PutChangesETag, []string{http.MethodGet, http.MethodPut}, changesETag(http.MethodPut), (*resources.Resource).HasETag},
	{scenario.PatchChangesETag, []string{http.MethodGet, http.MethodPatch}, changesETag(http.MethodPatch), (*resources.Resource).HasETag},
	{scenario.CreateReplacesNone, []string{http.MethodGet}, createsNew, (*resources.Resource).RefusesConflicts},
	{scenario.CreatesDiffer, nil, identitiesDiffer, (*resources.Resource).AssignsIdentity},
	{scenario.CreatesOne, nil, createsOne, (*resources.Resource).RefusesConflicts},
	{scenario.PutsOnce, []string{http.MethodGet, http.MethodPut}, changesOnce(http.MethodPut), takesIfMatch(http.MethodPut)},
	{scenario.PatchesOnce, []string{http.MethodGet, http.MethodPatch}, changesOnce(http.MethodPatch), takesIfMatch(http.MethodPatch)},
	// Of others, a read sees it.
	{scenario.PutRemoves, []string{http.MethodGet, http.MethodPut}, putRemoves, func(x *resources.Resource) bool {
		return x.IsInferred
	}},
}

// fits reports whether a sequence is one of a resource.
func (s sequence) fits(x *resources.Resource) bool {
	lacks := func(method string) bool { return x.Operations[method] == nil }
	if slices.ContainsFunc(s.methods, lacks) {
		return false
	}
	return s.of == nil || s.of(x)
}

// resourceTests returns the tests of more than one request: what links, Location and
// the methods of HTTP promise. One that needs an operation that the document does not have is left out.
func (p *Planner) resourceTests() (all []Test) {
	for _, x := range p.Resources.All {
		add := func(kind scenario.PromiseKind, steps func(*draft.Draft, *resources.Resource) []scenario.Step) {
			promise := scenario.Promise{Operation: x.Create.ID, Kind: kind}
			all = append(all, p.testOf(promise, func(d *draft.Draft) []scenario.Step { return steps(d, x) }))
		}
		for _, method := range x.Methods() {
			all = append(all, p.leadsTest(x, x.Operations[method]))
		}
		if x.HasLocation() {
			add(scenario.LocationLeads, locationLeads)
		}
		for _, sequence := range sequences {
			if sequence.fits(x) {
				add(sequence.promise, sequence.steps)
			}
		}
		if x.Operations[http.MethodGet] != nil && p.Rules.Head {
			add(scenario.HeadIsGet, headIsGet)
		}
	}
	return all
}

// leadsTest is the test that the identity of what was created leads to an operation.
func (p *Planner) leadsTest(x *resources.Resource, operation *document.Operation) Test {
	promise := scenario.Promise{Operation: x.Create.ID, Kind: scenario.LinkLeads, Place: operation.ID}
	if x.IsInferred {
		promise.Kind = scenario.IdentityLeads
	}
	test := p.testOf(promise, func(d *draft.Draft) []scenario.Step { return identityLeads(d, x, operation) })
	test.Shows = []scenario.Promise{scenario.Effect(operation.ID, p.Resources.UseOf(operation).Parameter), promise}
	return test
}

// declaredSequences returns the tests that the options add.
func (p *Planner) declaredSequences() (all []Test) {
	for _, declared := range p.Sequences {
		promise := scenario.Promise{Kind: scenario.DeclaredSequence, Place: declared.Name}
		test := newTest(report.Name(promise), promise, declared.Steps)
		test.Shows = append(slices.Clone(declared.Shows), promise)
		test.Cleanup = declared.Cleanup
		all = append(all, test)
	}
	return all
}

// identityLeads calls an operation on what was created.
func identityLeads(d *draft.Draft, x *resources.Resource, operation *document.Operation) []scenario.Step {
	thing := x.Thing(nil)
	return []scenario.Step{
		{Create: thing},
		d.CallAccepted(operation.Method, thing, d.PlainBody(operation)),
		scenario.Later(func() []scenario.Step { return needsIdentity(d, x, operation, thing) }),
	}
}

// needsIdentity fails if an operation on one resource succeeds on one that was never created, as it does if
// it does not look at its path. PUT may create it. Services that return any row for any id pass all tests
// that read what they have just created.
//
//	GET /tools/1000007           must not be 200, if the only tool has the id 7
func needsIdentity(d *draft.Draft, x *resources.Resource, operation *document.Operation, existing *scenario.Thing) []scenario.Step {
	if operation.Method == http.MethodPut || !x.RefusesAbsent(operation) {
		return nil
	}
	other := neverCreated(d, x, existing)
	return []scenario.Step{d.Call(operation.Method, other, d.PlainBody(operation), func(got scenario.Interaction) error {
		isRefused := got.Status >= http.StatusBadRequest
		return scenario.Require(isRefused, "%s succeeds for %v, which was never created; %v was: %.300s", operation.ID, other.ID, existing.ID, got.Body)
	})}
}

// neverCreated is what a service has never created beside a thing that exists.
func neverCreated(d *draft.Draft, x *resources.Resource, existing *scenario.Thing) *scenario.Thing {
	other := x.Thing(d.Values.Identity(x.Identity))
	other.Parent = existing.Parent
	if number, err := strconv.ParseInt(fmt.Sprint(existing.ID), 10, 64); err == nil && x.IsAssigned {
		// A service that counts has not come there.
		other.ID = number + 1_000_000
	}
	return other
}

// createdBodies is how many bodies besides the plainest one are created and read.
const createdBodies = 8

// readSeesCreate creates resources with bodies that the schema allows, and reads each of them.
//
//	POST /tools {"name": "a"}   201 {"id": 7}
//	GET /tools/7                must have {"name": "a"}
func readSeesCreate(d *draft.Draft, x *resources.Resource) (steps []scenario.Step) {
	for _, body := range append([]map[string]any{nil}, drawnBodies(d, x)...) {
		thing := x.Thing(nil)
		thing.Sent = body
		steps = append(steps, scenario.Step{Create: thing}, scenario.Later(func() []scenario.Step {
			return readShows(d, thing, thing.Sent)
		}))
	}
	return steps
}

// drawnBodies draws some of the bodies at the edges of the schema of a create. Not all are sent: their
// constraints have tests of their own, and here it is what is stored that matters.
func drawnBodies(d *draft.Draft, x *resources.Resource) (bodies []map[string]any) {
	described := x.Create.BodySchema()
	if described == nil {
		return nil
	}
	variants := d.Values.Obeying(described)
	d.Values.Shuffle(variants)
	for _, variant := range variants[:min(len(variants), createdBodies)] {
		variant = d.Values.Renamed(described, variant, values.OddNames[d.Values.Below(len(values.OddNames))])
		if body := jsonvalue.Object(variant.Value); body != nil {
			bodies = append(bodies, body)
		}
	}
	return bodies
}

// readShows reads a thing, which must have what is known of it.
func readShows(d *draft.Draft, thing *scenario.Thing, known map[string]any) []scenario.Step {
	get := d.Resources.CreatedBy(thing.Creator).Operations[http.MethodGet]
	return d.Read(thing, func(got scenario.Interaction) error { return d.Shows(got, known, get) })
}

// readSeesReplacement replaces a resource in every way that the schema allows, and reads it.
//
//	PUT /tools/7 {"name": "b"}   200
//	GET /tools/7                 must have {"name": "b"}
func readSeesReplacement(d *draft.Draft, x *resources.Resource) []scenario.Step {
	thing := x.Thing(nil)
	described := x.Operations[http.MethodPut].BodySchema()
	if described == nil {
		return draft.Untried(noJSONBody)
	}
	return []scenario.Step{{Create: thing}, scenario.Later(func() (steps []scenario.Step) {
		for _, body := range objectBodies(d, described) {
			steps = append(steps, writeAndRead(d, http.MethodPut, thing, body, afterReplacement(d, x, body))...)
		}
		return steps
	})}
}

// readSeesChange changes a resource in every way that the schema allows, and reads it.
//
//	PATCH /tools/7 {"size": 2}   200
//	GET /tools/7                 must have {"name": "b", "size": 2}
func readSeesChange(d *draft.Draft, x *resources.Resource) []scenario.Step {
	thing := x.Thing(nil)
	described := x.Operations[http.MethodPatch].BodySchema()
	if described == nil {
		return draft.Untried(noJSONBody)
	}
	return []scenario.Step{{Create: thing}, scenario.Later(func() (steps []scenario.Step) {
		known := thing.Sent
		for _, body := range objectBodies(d, described) {
			known = maps.Clone(known)
			maps.Copy(known, body)
			steps = append(steps, writeAndRead(d, http.MethodPatch, thing, body, known)...)
		}
		return steps
	})}
}

// noJSONBody is why a resource cannot be changed by a test.
const noJSONBody scenario.Untried = "the body is not JSON"

// objectBodies are the objects that are at the edge of some keyword of a schema.
func objectBodies(d *draft.Draft, described *openapi3.Schema) (bodies []map[string]any) {
	for _, variant := range d.Values.Obeying(described) {
		if body, isObject := variant.Value.(map[string]any); isObject {
			bodies = append(bodies, body)
		}
	}
	return bodies
}

// writeAndRead changes a thing and reads it; both responses must have what is known of it then.
func writeAndRead(d *draft.Draft, method string, thing *scenario.Thing, body, known map[string]any) []scenario.Step {
	operation := d.Resources.CreatedBy(thing.Creator).Operations[method]
	step := d.Call(method, thing, body, func(got scenario.Interaction) error {
		return d.Shows(got, known, operation)
	})
	step.Expect = scenario.Accepted
	return append([]scenario.Step{step}, readShows(d, thing, known)...)
}

// afterReplacement is what is known of a resource after a replacement, which removes what it does not have. A
// member that the service sets itself, or that has a default, may have any value.
func afterReplacement(d *draft.Draft, x *resources.Resource, body map[string]any) map[string]any {
	known := map[string]any{}
	for name, property := range d.Values.Flatten(x.Operations[http.MethodPut].BodySchema()).Properties {
		value, isSent := body[name]
		isClear := isSent || !x.IsInferred
		if isClear && !isOfService(d, x, name, property.Value) {
			known[name] = value
		}
	}
	return known
}

// isOfService reports whether the service, or its document, decides what a member has.
func isOfService(d *draft.Draft, x *resources.Resource, name string, property *openapi3.Schema) bool {
	isNotSent := name == x.Member || d.Values.IsAbsent(property)
	return isNotSent || property.Default != nil
}

// deletedIsGone deletes a resource, which no operation then finds. It can be created again.
//
//	DELETE /tools/7              204
//	GET /tools/7                 must be 404
//	POST /tools {"id": 7}        must succeed, where the client chooses the identity
func deletedIsGone(d *draft.Draft, x *resources.Resource) []scenario.Step {
	thing := x.Thing(nil)
	steps := []scenario.Step{{Create: thing}, d.CallAccepted(http.MethodDelete, thing, nil)}
	for _, method := range []string{http.MethodGet, http.MethodPatch, http.MethodDelete} {
		operation := x.Operations[method]
		if operation == nil || x.MayIgnoreAbsence(operation) {
			continue
		}
		gone := d.Call(method, thing, d.PlainBody(operation), nil)
		gone.Expect = scenario.Refused(scenario.UnknownResource)
		steps = append(steps, gone)
	}
	if x.IsAssigned || x.IsInferred {
		return steps
	}
	again := scenario.Later(func() []scenario.Step {
		thing.Sent = nil
		return []scenario.Step{{Create: thing}}
	})
	return append(steps, again, scenario.Later(func() []scenario.Step {
		return readShows(d, thing, thing.Sent)
	}))
}

// changeThing changes a thing to other values.
func changeThing(d *draft.Draft, method string, thing *scenario.Thing) []scenario.Step {
	described := d.Resources.CreatedBy(thing.Creator).Operations[method].BodySchema()
	if described == nil {
		return draft.Untried(noJSONBody)
	}
	return []scenario.Step{d.CallAccepted(method, thing, d.Values.Varied(described))}
}

// changesETag fails if a change leaves a strong ETag as it was (RFC 9110, section 8.8.1).
//
//	GET /tools/7                 200, ETag: "1"
//	PUT /tools/7 {"name": "b"}   200
//	GET /tools/7                 must have another ETag
func changesETag(method string) func(d *draft.Draft, x *resources.Resource) []scenario.Step {
	return func(d *draft.Draft, x *resources.Resource) []scenario.Step {
		thing := x.Thing(nil)
		before := &version{}
		after := &version{}
		steps := append([]scenario.Step{{Create: thing}}, readVersion(d, thing, before)...)
		steps = append(steps, changeThing(d, method, thing)...)
		steps = append(steps, readVersion(d, thing, after)...)
		return append(steps, scenario.Verify(func() error {
			isWeak := strings.HasPrefix(before.etag, "W/")
			isOther := after.etag != before.etag || after.body == before.body
			if isWeak || isOther {
				return nil
			}
			return scenario.BrokenBy(leavesETag(x, method), "a change from %s to %s has left the ETag at %s", before.body, after.body, after.etag)
		}))
	}
}

// leavesETag is the cause of failures of conditions, too: they need an ETag that has changed.
func leavesETag(x *resources.Resource, method string) scenario.Cause {
	return scenario.Cause{Kind: scenario.ETagStays, Operation: x.Operations[method].ID}
}

// headIsGet compares HEAD of a resource with GET. Headers that change with time or with the connection are
// not compared.
func headIsGet(d *draft.Draft, x *resources.Resource) []scenario.Step {
	thing := x.Thing(nil)
	steps := append([]scenario.Step{{Create: thing}}, d.Read(thing)...)
	return append(steps, scenario.Step{
		Send: func() (scenario.Request, error) {
			return scenario.Request{
				Method: http.MethodHead,
				Path:   thing.Seen.Path,
				Header: http.Header{},
			}, nil
		},
		Check: func(head scenario.Interaction) error {
			get := thing.Seen
			wrong := scenario.Require(head.Status == get.Status, "HEAD is %d, GET is %d", head.Status, get.Status)
			for _, name := range []string{"ETag", "Last-Modified", "Content-Type", "Cache-Control"} {
				got := head.Header.Get(name)
				want := get.Header.Get(name)
				wrong = cmp.Or(wrong, scenario.Require(got == want, "HEAD has %s %q, GET has %q", name, got, want))
			}
			return wrong
		},
	})
}
