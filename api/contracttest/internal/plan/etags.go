package plan

import (
	"net/http"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/draft"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// An ETag stands for a version of a resource: two reads of one version have the same, and a change gives it another one. What
// conditions do with ETags is in conditions.go and atonce.go.

// version is what a read has shown of a resource.
type version struct{ body, etag string }

func (v version) isWeak() bool { return strings.HasPrefix(v.etag, "W/") }

// readVersion reads a thing and its ETag, which two reads must agree on: with an ETag that changes by itself no
// write with If-Match would ever succeed.
func readVersion(t *draft.Trial, thing *scenario.Thing) version {
	got, _ := t.Read(thing)
	etag := got.Header.Get("ETag")
	if etag == "" && t.Resources.CreatedBy(thing.Creator).IsInferred {
		t.NotTested("a read has no ETag")
	}
	t.Require(etag != "", "a read has no ETag")
	second, _ := t.Read(thing)
	again := second.Header.Get("ETag")
	t.Require(again == etag, "two reads of one resource have the ETags %s and %s", etag, again)
	return version{body: string(got.Body), etag: etag}
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
	mayStay := before.isWeak() || after.body == before.body
	if !mayStay && after.etag == before.etag {
		t.Check(scenario.BrokenBy(leavesETag(x, method), "a change from %s to %s has left the ETag at %s", before.body, after.body, after.etag))
	}
}

// leavesETag is the cause if a change leaves the ETag as it was. A condition with that ETag then fails for the same cause.
func leavesETag(x *resources.Resource, method string) scenario.Cause {
	return scenario.Cause{Kind: scenario.ETagStays, Operation: x.Operations[method].ID}
}

// weakETags is why nothing is shown where no If-Match can be true: it compares strongly (RFC 9110, section 13.1.1).
const weakETags scenario.NotTested = "the ETags are weak, and If-Match is true of strong ones only"

// takesIfMatchOnPut and takesIfMatchOnPatch report whether a change takes If-Match, and reads have an ETag for it.
func takesIfMatchOnPut(x *resources.Resource) bool { return takesIfMatch(x, http.MethodPut) }

func takesIfMatchOnPatch(x *resources.Resource) bool { return takesIfMatch(x, http.MethodPatch) }

func takesIfMatch(x *resources.Resource, method string) bool {
	return x.HasETag() && x.Operations[method].Parameter("header", "If-Match") != nil
}
