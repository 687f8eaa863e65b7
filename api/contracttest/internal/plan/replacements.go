package plan

import (
	"net/http"
	"regexp"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"

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
func putRemoves(d *draft.Draft, x *resources.Resource) []scenario.Step {
	put := x.Operations[http.MethodPut]
	described := put.BodySchema()
	if described == nil || merges.MatchString(put.Spec.Summary+put.Spec.Description) {
		return draft.Untried("the document does not say that it replaces")
	}
	removals := [2]*removal{{thing: x.Thing(nil)}, {thing: x.Thing(nil)}}
	var steps []scenario.Step
	for _, removed := range removals {
		steps = append(steps, leaveOut(d, removed, described)...)
	}
	return append(steps, scenario.Verify(func() error {
		for _, name := range d.Values.Names(described) {
			isOpen := name == x.Member || slices.Contains(d.Values.Flatten(described).Required, name)
			if !isOpen && bothKeep(removals, name) {
				return scenario.Brokenf("a replacement without %s has left it at %v", name, removals[1].after[name])
			}
		}
		return nil
	}))
}

// removal is a resource before and after a replacement by one without what is optional.
type removal struct {
	thing         *scenario.Thing
	before, after map[string]any
}

// leaveOut replaces a resource, and then again without what is optional. The first replacement gives it values of
// all members, which the create may not have taken.
func leaveOut(d *draft.Draft, removed *removal, described *openapi3.Schema) []scenario.Step {
	whole := jsonvalue.Object(d.Values.Varied(described))
	least := map[string]any{}
	for _, name := range d.Values.Flatten(described).Required {
		least[name] = whole[name]
	}
	if !d.Values.Fits(described, least) {
		return append([]scenario.Step{{Create: removed.thing}}, draft.Untried("a test has no value without what is optional")...)
	}
	steps := []scenario.Step{{Create: removed.thing}, d.CallAccepted(http.MethodPut, removed.thing, whole)}
	steps = append(steps, d.Read(removed.thing, func(got scenario.Interaction) error {
		removed.before = got.Object()
		return nil
	})...)
	steps = append(steps, d.CallAccepted(http.MethodPut, removed.thing, least))
	return append(steps, d.Read(removed.thing, func(got scenario.Interaction) error {
		removed.after = got.Object()
		return nil
	})...)
}

// bothKeep reports whether two resources have kept different values of a member. What both have alike may be a
// default, or set by the service.
func bothKeep(removals [2]*removal, name string) bool {
	for _, removed := range removals {
		if removed.before[name] == nil || !jsonvalue.Same(removed.before[name], removed.after[name]) {
			return false
		}
	}
	return !jsonvalue.Same(removals[0].before[name], removals[1].before[name])
}
