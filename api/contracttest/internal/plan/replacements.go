package plan

import (
	"net/http"
	"regexp"
	"slices"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/draft"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

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
