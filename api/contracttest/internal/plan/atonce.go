package plan

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/draft"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// What is right for one client after the other may be wrong for several at the same time: between the look at what is
// there and the write, another one comes. Such a mistake is seen only now and then, and a right service never makes it.

// together is how many requests are sent at the same time.
const together = 6

// atOnce sends requests at the same time, and returns the responses of those that have succeeded, in the order of the calls.
func atOnce(t *draft.Trial, calls []scenario.Call) (succeeded []scenario.Interaction) {
	responses := make([]scenario.Interaction, len(calls))
	var senders []func(*scenario.Trial)
	for i, call := range calls {
		senders = append(senders, func(one *scenario.Trial) { responses[i] = one.Do(call, scenario.Expectation{}) })
	}
	t.Together(senders...)
	return slices.DeleteFunc(responses, func(got scenario.Interaction) bool { return got.Status >= http.StatusMultipleChoices })
}

// identitiesDiffer fails if creates at the same time give one identity twice. One create before them makes what all of them
// are below.
func identitiesDiffer(t *draft.Trial, x *resources.Resource) {
	first := t.CreateOf(x)
	var calls []scenario.Call
	for range together {
		thing := x.Thing(nil)
		thing.Parent = first.Parent
		calls = append(calls, t.CreationOf(x, thing))
	}
	seen := map[string]bool{}
	for _, got := range atOnce(t, calls) {
		id := fmt.Sprint(x.IdentityIn(x.Create, got))
		if seen[id] {
			t.Check(oneIdentity(x, id))
		}
		seen[id] = true
	}
}

// createsOne fails if more than one of several creates at the same time with one identity succeeds, although a second one
// must conflict.
func createsOne(t *draft.Trial, x *resources.Resource) {
	first := t.CreateOf(x)
	thing := x.Thing(t.Values.Identity(x.Identity))
	thing.Parent = first.Parent
	var calls []scenario.Call
	for range together {
		calls = append(calls, t.CreationOf(x, thing))
	}
	created := atOnce(t, calls)
	t.Require(len(created) <= 1, "of %d creates at the same time with the identity %v, %d have succeeded", together, thing.ID, len(created))
}

// putsOnce and patchesOnce fail if more than one of several changes at the same time with one If-Match succeeds: all but one
// are lost (RFC 9110, section 13.1.1). If the changes have left the ETag as it was, that is the cause.
//
//	GET /tools/7                         200, ETag: "1"
//	PUT /tools/7, If-Match: "1", 6 times at once; one of them may be 200
func putsOnce(t *draft.Trial, x *resources.Resource) { changesOnce(t, x, http.MethodPut) }

func patchesOnce(t *draft.Trial, x *resources.Resource) { changesOnce(t, x, http.MethodPatch) }

func changesOnce(t *draft.Trial, x *resources.Resource, method string) {
	thing := t.CreateOf(x)
	before := readVersion(t, thing)
	if before.isWeak() {
		t.NotTested(weakETags)
	}
	calls := changesOf(t.Draft, x.Operations[method], thing, before.etag)
	if calls == nil {
		t.NotTested("its values do not vary")
	}
	changed := atOnce(t, calls)
	after := readVersion(t, thing)
	if len(changed) <= 1 {
		return
	}
	cause := scenario.Cause{Kind: scenario.SeveralChangesAtOnce, Operation: x.Operations[method].ID}
	if after.etag == before.etag {
		cause = leavesETag(x, method)
	}
	t.Check(scenario.BrokenBy(cause, "of %d changes at the same time with If-Match: %s, %d have succeeded", together, before.etag, len(changed)))
}

// changesOf are calls that change a thing, each to other values: a change to what is there may leave the ETag. There are none
// if no test can write the body, or the values do not differ.
func changesOf(d *draft.Draft, operation *document.Operation, thing *scenario.Thing, etag string) (calls []scenario.Call) {
	seen := map[string]bool{}
	for range together {
		body := d.VariedThing(operation)
		seen[string(jsonvalue.Encode(body))] = true
		header := http.Header{"If-Match": {etag}}
		calls = append(calls, scenario.Call{Operation: operation.ID, Of: thing, Header: header, Body: body})
	}
	if len(seen) < together {
		return nil
	}
	return calls
}
