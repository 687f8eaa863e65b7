package plan

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/draft"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// What is created can be read as it was sent: GET has it, and HEAD has the headers of GET.

// mostAtEdges is how many bodies at edges of the schema are created and read.
const mostAtEdges = 8

// readSeesCreate creates resources with bodies that the schema allows, and reads each of them. One at an edge of the schema
// may be refused: another resource may have the same value.
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

// keepsFalse fails if a create has lost what was false. Many services never show what is false, which is no loss. But if a
// read shows it as soon as a change has sent it, the create has lost it. The change is a PATCH of these members alone, or
// else a PUT of what was created.
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
	if len(hidden) == 0 || change == nil {
		return
	}
	if isChanged := t.Call(method, created, body).Status/100 == 2; !isChanged {
		return
	}
	t.Read(created)
	for _, name := range slices.Sorted(maps.Keys(hidden)) {
		isShown := x.Shown(created.Seen)[name] == false
		t.Require(!isShown, "was sent %s = false, which a read shows only after %s", name, change.ID)
	}
}

// hiddenFalse are the members that a create has sent as false and that the last read lacks, each with the value false. One
// that has a default is left out: that may be why the read lacks it.
func hiddenFalse(d *draft.Draft, x *resources.Resource, created *scenario.Thing) map[string]any {
	shown := x.Shown(created.Seen)
	if shown == nil {
		return nil
	}
	hidden := map[string]any{}
	for name, value := range created.Sent {
		isHidden := value == false && shown[name] == nil
		property := d.Values.Property(x.Create.ThingSchema(), name)
		if isHidden && property != nil && !isOfService(d, x, name, property) {
			hidden[name] = false
		}
	}
	return hidden
}

// variedBodies are bodies of an operation with another value in each member, so that no two members can be mixed up. If the
// operation has no body, there is one, which is nil.
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

// edgeBodies are bodies of a create at the edges of its schema: those with the largest values, and some others that are
// drawn. Not all are sent: each constraint has tests of its own, and here it only matters what is stored. An unknown member,
// where one is allowed, gets a name that services have failed on.
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
	for _, variant := range variants[:min(len(variants), mostAtEdges-len(bodies))] {
		variant = d.Values.Renamed(described, variant, values.RobustnessNames[d.Values.Below(len(values.RobustnessNames))])
		if body := jsonvalue.Object(variant.Value); body != nil {
			bodies = append(bodies, d.Needed(x.Create, body))
		}
	}
	return bodies
}

// largestBody has the largest value of each member that a keyword bounds: a service may store less than that. It is nil if the
// keyword bounds none. Each variant is a whole body that has one of these values; the result has all of them:
//
//	{"a": 9, "b": 1} at /a, and {"a": 1, "b": 7} at /b, with the keyword maximum: {"a": 9, "b": 7}
func largestBody(variants []values.Variant, keyword string) (largest map[string]any) {
	for _, variant := range variants {
		body := jsonvalue.Object(variant.Value)
		name := strings.TrimPrefix(variant.Pointer, "/") // a place below a member is the name of none
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
