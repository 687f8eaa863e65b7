package plan

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/draft"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
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
	run     func(t *draft.Trial, x *resources.Resource)
	of      func(x *resources.Resource) bool // nil: of all
}

// sequences are the tests that any resource has, in the order in which they run.
var sequences = []sequence{
	{scenario.ReadSeesCreate, []string{http.MethodGet}, readSeesCreate, nil},
	{scenario.ReadSeesReplacement, []string{http.MethodGet, http.MethodPut}, readSeesReplacement, nil},
	{scenario.ReadSeesChange, []string{http.MethodGet, http.MethodPatch}, readSeesChange, nil},
	{scenario.DeletedIsGone, []string{http.MethodDelete}, deletedIsGone, (*resources.Resource).ShowsDeletion},
	{scenario.ReplacesOne, []string{http.MethodGet, http.MethodPut}, replacesOne, nil},
	{scenario.DeletesOne, []string{http.MethodGet, http.MethodDelete}, deletesOne, nil},
	{scenario.AssignsOnce, []string{http.MethodDelete}, assignsAnother, (*resources.Resource).AssignsOnce},
	{scenario.PutChangesETag, []string{http.MethodGet, http.MethodPut}, putChangesETag, (*resources.Resource).HasETag},
	{scenario.PatchChangesETag, []string{http.MethodGet, http.MethodPatch}, patchChangesETag, (*resources.Resource).HasETag},
	{scenario.CreateReplacesNone, []string{http.MethodGet}, createsNew, (*resources.Resource).RefusesConflicts},
	{scenario.CreatesDiffer, nil, identitiesDiffer, (*resources.Resource).AssignsIdentity},
	{scenario.CreatesOne, nil, createsOne, (*resources.Resource).RefusesConflicts},
	{scenario.PutsOnce, []string{http.MethodGet, http.MethodPut}, putsOnce, takesIfMatchOnPut},
	{scenario.PatchesOnce, []string{http.MethodGet, http.MethodPatch}, patchesOnce, takesIfMatchOnPatch},
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
		for _, method := range x.Methods() {
			all = append(all, p.leadsTest(x, x.Operations[method]))
		}
		if x.HasLocation() {
			all = append(all, p.resourceTest(x, scenario.LocationLeads, locationLeads))
		}
		for _, sequence := range sequences {
			if sequence.fits(x) {
				all = append(all, p.resourceTest(x, sequence.promise, sequence.run))
			}
		}
		if x.Operations[http.MethodGet] != nil && p.Rules.Head {
			all = append(all, p.resourceTest(x, scenario.HeadIsGet, headIsGet))
		}
	}
	return all
}

// resourceTest is a test over a resource.
func (p *Planner) resourceTest(x *resources.Resource, kind scenario.PromiseKind, run func(*draft.Trial, *resources.Resource)) Test {
	promise := scenario.Promise{Operation: x.Create.ID, Kind: kind}
	return p.testOf(promise, func(t *draft.Trial) { run(t, x) })
}

// leadsTest is the test that the identity of what was created leads to an operation.
func (p *Planner) leadsTest(x *resources.Resource, operation *document.Operation) Test {
	promise := scenario.Promise{Operation: x.Create.ID, Kind: scenario.LinkLeads, Place: operation.ID}
	if x.IsInferred {
		promise.Kind = scenario.IdentityLeads
	}
	test := p.testOf(promise, func(t *draft.Trial) { identityLeads(t, x, operation) })
	test.Shows = []scenario.Promise{scenario.Effect(operation.ID, p.Resources.UseOf(operation).Parameter), promise}
	return test
}

// declaredSequences returns the tests that the options add.
func (p *Planner) declaredSequences() (all []Test) {
	for _, declared := range p.Sequences {
		promise := scenario.Promise{Kind: scenario.DeclaredSequence, Place: declared.Name}
		test := newTest(report.Name(promise), promise, declared.Run)
		test.Shows = append(slices.Clone(declared.Shows), promise)
		test.Cleanup = declared.Cleanup
		all = append(all, test)
	}
	return all
}

// identityLeads calls an operation on what was created.
func identityLeads(t *draft.Trial, x *resources.Resource, operation *document.Operation) {
	body := t.PlainBody(operation)
	thing := t.CreateOf(x)
	t.Accepted(operation.Method, thing, body)
	needsIdentity(t, x, operation, thing)
}

// needsIdentity fails if an operation on one resource succeeds on one that was never created, as it does if
// it does not look at its path. PUT may create it. Services that return any row for any id pass all tests
// that read what they have just created.
//
//	GET /tools/1000007           must not be 200, if the only tool has the id 7
func needsIdentity(t *draft.Trial, x *resources.Resource, operation *document.Operation, existing *scenario.Thing) {
	if operation.Method == http.MethodPut || !x.RefusesAbsent(operation) {
		return
	}
	other := neverCreated(t.Draft, x, existing)
	got := t.Call(operation.Method, other, t.PlainBody(operation))
	isRefused := got.Status >= http.StatusBadRequest
	t.Require(isRefused, "%s succeeds for %v, which was never created; %v was: %.300s", operation.ID, other.ID, existing.ID, got.Body)
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

// createdBodies is how many bodies besides varied ones are created and read.
const createdBodies = 8

// readSeesCreate creates resources with bodies that the schema allows, and reads each of them. A body at an edge of the schema may
// be refused: another resource may have the same value.
//
//	POST /tools {"name": "a"}   201 {"id": 7}
//	GET /tools/7                must have {"name": "a"}
func readSeesCreate(t *draft.Trial, x *resources.Resource) {
	varied, atEdges := variedBodies(t.Draft, x.Create), edgeBodies(t.Draft, x)
	for _, body := range varied {
		thing := x.Thing(nil)
		thing.Sent = body
		t.Create(thing)
		t.ReadShows(thing, thing.Sent)
		keepsFalse(t, x, thing)
	}
	for _, body := range atEdges {
		thing := x.Thing(nil)
		thing.Sent = body
		if t.CreateIfPossible(thing); !thing.Missing {
			t.ReadShows(thing, thing.Sent)
		}
	}
}

// keepsFalse fails if a create has lost what was false. Many services leave that out of what they show, which is no loss. It is one
// where the same read shows it as soon as a change has sent it.
//
//	POST /tools {"lent": false}      201
//	GET /tools/7                     has no member lent
//	PATCH /tools/7 {"lent": false}   200
//	GET /tools/7                     must have none again
func keepsFalse(t *draft.Trial, x *resources.Resource, created *scenario.Thing) {
	hidden := hiddenFalse(t.Draft, x, created)
	method, body := http.MethodPatch, hidden
	if x.Operations[method] == nil {
		method, body = http.MethodPut, created.Sent
	}
	change := x.Operations[method]
	if len(hidden) == 0 || change == nil || t.Call(method, created, body).Status/100 != 2 {
		return
	}
	t.Read(created)
	for _, name := range slices.Sorted(maps.Keys(hidden)) {
		isShown := x.Shown(created.Seen)[name] == false
		t.Require(!isShown, "was sent %s = false, which a read shows only after %s", name, change.ID)
	}
}

// hiddenFalse are the members that a create has sent as false and that a read lacks. Where false is the default, that may be why.
func hiddenFalse(d *draft.Draft, x *resources.Resource, created *scenario.Thing) map[string]any {
	shown := x.Shown(created.Seen)
	hidden := map[string]any{}
	for name, value := range created.Sent {
		isHidden := shown != nil && shown[name] == nil && value == false
		property := d.Values.Property(x.Create.ThingSchema(), name)
		if isHidden && property != nil && !isOfService(d, x, name, property) {
			hidden[name] = false
		}
	}
	return hidden
}

// variedBodies have another value for each member, so that no two members can be mixed up. There is one at least, which is nil
// where a create has no body.
func variedBodies(d *draft.Draft, operation *document.Operation) (bodies []map[string]any) {
	described := operation.ThingSchema()
	if described == nil {
		return []map[string]any{nil}
	}
	for range d.Values.Rounds(described) {
		bodies = append(bodies, jsonvalue.Object(d.VariedThing(operation)))
	}
	return bodies
}

// edgeBodies have the largest values, and are some of the other bodies at the edges of the schema of a create. Not all of these
// are sent: their constraints have tests of their own, and here it is what is stored that matters.
func edgeBodies(d *draft.Draft, x *resources.Resource) (bodies []map[string]any) {
	described := x.Create.ThingSchema()
	if described == nil {
		return nil
	}
	variants := d.Values.Obeying(described)
	for _, keyword := range []string{"maximum", "maxLength"} {
		if body := largestBody(variants, keyword); body != nil && d.Values.Fits(described, body) {
			bodies = append(bodies, d.Needed(x.Create, body))
		}
	}
	d.Values.Shuffle(variants)
	for _, variant := range variants[:min(len(variants), createdBodies-len(bodies))] {
		variant = d.Values.Renamed(described, variant, values.RobustnessNames[d.Values.Below(len(values.RobustnessNames))])
		if body := jsonvalue.Object(variant.Value); body != nil {
			bodies = append(bodies, d.Needed(x.Create, body))
		}
	}
	return bodies
}

// largestBody has the largest value of each member that a keyword bounds: a service may store less than that. It is nil if the
// keyword bounds none.
func largestBody(variants []values.Variant, keyword string) (largest map[string]any) {
	for _, variant := range variants {
		body := jsonvalue.Object(variant.Value)
		name := strings.TrimPrefix(variant.Pointer, "/")
		if _, isMember := body[name]; !isMember || variant.Keyword != keyword {
			continue
		}
		if largest == nil {
			largest = maps.Clone(body)
		}
		largest[name] = body[name]
	}
	return largest
}

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

// readSeesReplacement replaces a resource in every way that the schema allows, and reads it.
//
//	PUT /tools/7 {"name": "b"}   200
//	GET /tools/7                 must have {"name": "b"}
func readSeesReplacement(t *draft.Trial, x *resources.Resource) {
	writeAndRead(t, x, http.MethodPut, func(_ *scenario.Thing, body map[string]any) map[string]any {
		return afterReplacement(t.Draft, x, body)
	})
}

// readSeesChange changes a resource in every way that the schema allows, and reads it.
//
//	PATCH /tools/7 {"size": 2}   200
//	GET /tools/7                 must have {"name": "b", "size": 2}
func readSeesChange(t *draft.Trial, x *resources.Resource) {
	writeAndRead(t, x, http.MethodPatch, func(thing *scenario.Thing, body map[string]any) map[string]any {
		thing.Sent = maps.Clone(thing.Sent)
		maps.Copy(thing.Sent, body)
		return thing.Sent
	})
}

// writeAndRead changes a thing and reads it; both responses must have what is known of it then. What is refused at an edge of
// the schema has tests of its own.
func writeAndRead(t *draft.Trial, x *resources.Resource, method string, after func(*scenario.Thing, map[string]any) map[string]any) {
	operation := x.Operations[method]
	described := bodySchema(t, operation)
	thing := t.CreateOf(x)
	varied := variedBodies(t.Draft, operation)
	for i, body := range append(varied, objectBodies(t.Draft, described)...) {
		expect := scenario.Accepted
		if isAtEdge := i >= len(varied); isAtEdge {
			expect = scenario.Expectation{}
			body = t.Needed(operation, body)
		}
		got := t.Do(t.CallOf(method, thing, body), expect)
		if got.Status/100 == 4 {
			continue
		}
		known := after(thing, body)
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

// afterReplacement is what is known of a resource after a replacement, which removes what it does not have. A
// member that the service sets itself, or that has a default, may have any value.
func afterReplacement(d *draft.Draft, x *resources.Resource, body map[string]any) map[string]any {
	known := map[string]any{}
	for name, property := range d.Values.Flatten(x.Operations[http.MethodPut].ThingSchema()).Properties {
		value, isSent := body[name]
		isClear := isSent || !x.IsInferred
		if isClear && !isOfService(d, x, name, property) {
			known[name] = value
		}
	}
	return known
}

// isOfService reports whether the service, or its document, decides what a member has.
func isOfService(d *draft.Draft, x *resources.Resource, name string, property *schema.Schema) bool {
	isNotSent := name == x.Member || d.Values.IsAbsent(property)
	return isNotSent || schema.DefaultOf(property) != nil
}

// deletedIsGone deletes a resource, which no operation then finds: a read that promises no 404 must at least have changed. It
// can be created again.
//
//	DELETE /tools/7              204
//	GET /tools/7                 must be 404
//	POST /tools {"id": 7}        must succeed, where the client chooses the identity
func deletedIsGone(t *draft.Trial, x *resources.Resource) {
	thing := t.CreateOf(x)
	get := x.Operations[http.MethodGet]
	mayFind := get != nil && x.MayIgnoreAbsence(get)
	if mayFind {
		t.Read(thing)
	}
	before := thing.Seen
	if t.Accepted(http.MethodDelete, thing, nil).Status == http.StatusAccepted {
		t.NotTested(deletedLater)
	}
	if isRead := before.Status/100 == 2; mayFind && isRead {
		t.Require(t.HasChanged(thing), "%v was deleted, but a read has %.300s", thing.ID, thing.Seen.Body)
	}
	for _, method := range []string{http.MethodGet, http.MethodPatch, http.MethodDelete} {
		operation := x.Operations[method]
		if operation == nil || x.MayIgnoreAbsence(operation) {
			continue
		}
		t.Refused(method, thing, t.PlainBody(operation), scenario.UnknownResource)
	}
	if x.OnlyDeletesBelow() {
		deletesOnce(t, x, thing)
	}
	if x.IsAssigned || x.IsInferred {
		return
	}
	thing.Sent = nil
	t.Create(thing)
	t.ReadShows(thing, thing.Sent)
}

// deletesOnce deletes again what is below something that exists. If 404 is what the service says to a thing that was never created
// there, it must say so to one that is deleted, too.
//
//	DELETE /pots/7/plants/5        204
//	DELETE /pots/7/plants/1000005  404, so that
//	DELETE /pots/7/plants/5        must be refused, too
func deletesOnce(t *draft.Trial, x *resources.Resource, deleted *scenario.Thing) {
	status := t.Call(http.MethodDelete, neverCreated(t.Draft, x, deleted), nil).Status
	if status != http.StatusNotFound && status != http.StatusGone {
		t.NotTested(deletesAny)
	}
	t.Refused(http.MethodDelete, deleted, nil, scenario.UnknownResource)
}

// Why a deletion shows nothing.
const (
	deletedLater scenario.NotTested = "it is deleted later"
	deletesAny   scenario.NotTested = "nothing but DELETE shows it, which does not say that something does not exist"
)

// changeThing changes a thing to other values.
func changeThing(t *draft.Trial, method string, thing *scenario.Thing) {
	operation := t.Resources.CreatedBy(thing.Creator).Operations[method]
	bodySchema(t, operation)
	t.Accepted(method, thing, t.VariedThing(operation))
}

// putChangesETag and patchChangesETag fail if a change leaves a strong ETag as it was (RFC 9110, section 8.8.1).
//
//	GET /tools/7                 200, ETag: "1"
//	PUT /tools/7 {"name": "b"}   200
//	GET /tools/7                 must have another ETag
func putChangesETag(t *draft.Trial, x *resources.Resource) { changesETag(t, x, http.MethodPut) }

func patchChangesETag(t *draft.Trial, x *resources.Resource) { changesETag(t, x, http.MethodPatch) }

func changesETag(t *draft.Trial, x *resources.Resource, method string) {
	thing := t.CreateOf(x)
	before := readVersion(t, thing)
	changeThing(t, method, thing)
	after := readVersion(t, thing)
	isWeak := strings.HasPrefix(before.etag, "W/")
	isOther := after.etag != before.etag || after.body == before.body
	if !isWeak && !isOther {
		t.Check(scenario.BrokenBy(leavesETag(x, method), "a change from %s to %s has left the ETag at %s", before.body, after.body, after.etag))
	}
}

// leavesETag is the cause of failures of conditions, too: they need an ETag that has changed.
func leavesETag(x *resources.Resource, method string) scenario.Cause {
	return scenario.Cause{Kind: scenario.ETagStays, Operation: x.Operations[method].ID}
}

// headIsGet compares HEAD of a resource with GET. Headers that change with time or with the connection are
// not compared.
func headIsGet(t *draft.Trial, x *resources.Resource) {
	get, _ := t.Read(t.CreateOf(x))
	head := t.Send(scenario.Request{Method: http.MethodHead, Path: get.Path, Header: http.Header{}}, scenario.Expectation{})
	t.Require(head.Status == get.Status, "HEAD is %d, GET is %d", head.Status, get.Status)
	for _, name := range []string{"ETag", "Last-Modified", "Content-Type", "Cache-Control"} {
		got := head.Header.Get(name)
		want := get.Header.Get(name)
		t.Require(got == want, "HEAD has %s %q, GET has %q", name, got, want)
	}
}
