package plan

import (
	"fmt"
	"net/http"
	"strings"
	"sync"

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

// successes are the responses of requests that have succeeded.
type successes struct {
	mu  sync.Mutex
	all []scenario.Interaction
}

// add adds a response, if it is one.
func (s *successes) add(got scenario.Interaction) error {
	if got.Status < http.StatusMultipleChoices {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all = append(s.all, got)
	}
	return nil
}

// atOnce is a step that sends requests at the same time.
func (s *successes) atOnce(calls []scenario.Call) (all scenario.Step) {
	for i, call := range calls {
		step := scenario.Step{
			Call:  func() scenario.Call { return call },
			Check: s.add,
		}
		if i > 0 {
			step.Meanwhile = []scenario.Step{all}
		}
		all = step
	}
	return all
}

// identitiesDiffer fails if creates at the same time give one identity twice. The first create, which is alone, also
// makes what the others need.
func identitiesDiffer(d *draft.Draft, x *resources.Resource) []scenario.Step {
	first := x.Thing(nil)
	created := &successes{}
	return []scenario.Step{{Create: first}, scenario.Later(func() []scenario.Step {
		var calls []scenario.Call
		for range together {
			thing := x.Thing(nil)
			thing.Parent = first.Parent
			calls = append(calls, d.CreationOf(x, thing))
		}
		return []scenario.Step{created.atOnce(calls), scenario.Verify(func() error {
			return differ(x, created.all)
		})}
	})}
}

// differ returns an error if two creates have one identity.
func differ(x *resources.Resource, created []scenario.Interaction) error {
	seen := map[string]bool{}
	for _, got := range created {
		id := fmt.Sprint(draft.IdentityIn(x, x.Create, got))
		if seen[id] {
			return oneIdentity(x, id)
		}
		seen[id] = true
	}
	return nil
}

// createsOne fails if creates at the same time with one identity succeed, although a second one must conflict.
func createsOne(d *draft.Draft, x *resources.Resource) []scenario.Step {
	first := x.Thing(nil)
	created := &successes{}
	return []scenario.Step{{Create: first}, scenario.Later(func() []scenario.Step {
		thing := x.Thing(d.Values.Identity(x.Identity))
		thing.Parent = first.Parent
		var calls []scenario.Call
		for range together {
			calls = append(calls, d.CreationOf(x, thing))
		}
		return []scenario.Step{created.atOnce(calls), scenario.Verify(func() error {
			isOne := len(created.all) <= 1
			return scenario.Require(isOne, "of %d creates at the same time with the identity %v, %d have succeeded", together, thing.ID, len(created.all))
		})}
	})}
}

// changesOnce fails if changes at the same time with one If-Match succeed: all but one are lost (RFC 9110, section
// 13.1.1).
//
//	GET /tools/7                         200, ETag: "1"
//	PUT /tools/7, If-Match: "1", 6 times at once; one of them may be 200
func changesOnce(method string) func(d *draft.Draft, x *resources.Resource) []scenario.Step {
	return func(d *draft.Draft, x *resources.Resource) []scenario.Step {
		thing := x.Thing(nil)
		before := &version{}
		changed := &successes{}
		steps := append([]scenario.Step{{Create: thing}}, readVersion(d, thing, before)...)
		return append(steps, scenario.Later(func() []scenario.Step {
			if strings.HasPrefix(before.etag, "W/") {
				return draft.Untried(weakETags)
			}
			calls := changesOf(d, x.Operations[method], thing, before.etag)
			if calls == nil {
				return draft.Untried("its values do not vary")
			}
			after := &version{}
			return append(append([]scenario.Step{changed.atOnce(calls)}, readVersion(d, thing, after)...), scenario.Verify(func() error {
				if len(changed.all) <= 1 {
					return nil
				}
				cause := scenario.Cause{Kind: scenario.SeveralChangesAtOnce, Operation: x.Operations[method].ID}
				if after.etag == before.etag {
					cause = leavesETag(x, method)
				}
				return scenario.BrokenBy(cause, "of %d changes at the same time with If-Match: %s, %d have succeeded", together, before.etag, len(changed.all))
			}))
		}))
	}
}

// changesOf are calls that change a thing, each to other values: a change to what is there may leave the ETag. None, if
// the values do not differ.
func changesOf(d *draft.Draft, operation *document.Operation, thing *scenario.Thing, etag string) (calls []scenario.Call) {
	described := operation.BodySchema()
	if described == nil {
		return nil
	}
	seen := map[string]bool{}
	for range together {
		body := d.Values.Varied(described)
		seen[string(jsonvalue.Encode(body))] = true
		calls = append(calls, scenario.Call{
			Operation: operation.ID,
			Of:        thing,
			Header:    http.Header{"If-Match": {etag}},
			Body:      body,
		})
	}
	if len(seen) < together {
		return nil
	}
	return calls
}

// takesIfMatch reports whether an operation of a resource takes If-Match, and reads have an ETag.
func takesIfMatch(method string) func(x *resources.Resource) bool {
	return func(x *resources.Resource) bool {
		return x.HasETag() && x.Operations[method].Parameter("header", "If-Match") != nil
	}
}
