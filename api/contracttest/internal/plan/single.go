package plan

import (
	"cmp"
	"iter"
	"net/http"
	"slices"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/draft"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Tests of one request are the largest family: one for each side of each keyword, of each parameter and
// body. All of them begin as the plainest valid request of the operation and then change one thing, so that
// a refusal can have one reason only.

// single is a test of one request that was made from the document.
type single struct {
	name    string
	promise scenario.Promise // what a pass shows

	draft.Slots
	query  []string // what is no parameter of the operation
	header http.Header
	body   []byte
	keeps  string // the place in the body that the test is about
	access scenario.Access

	// The resource that the path names, if a test can create it.
	use          *resources.Use
	id           any  // its identity; nil: a fresh one
	namesNothing bool // the path names something that does not exist
	// Identities that other tests use, too; they are removed first.
	shared []any

	isDrawn bool                // its body was drawn at random
	why     *scenario.Violation // nil: the service must not refuse it
	// What a robustness test has changed, for the cause if the service fails.
	changed *scenario.Violation
	order   order
}

// plainest returns a test of the plainest valid request of an operation: with the parameters that are always sent, and the
// plainest body.
func (p *Planner) plainest(operation *document.Operation, name string, promise scenario.Promise, generator *values.Generator) *single {
	promise.Operation = operation.ID
	c := &single{
		name:    operation.ID + ", " + name,
		promise: promise,
		Slots:   draft.Slots{Operation: operation},
		header:  http.Header{},
		use:     p.Resources.UseOf(operation),
	}
	for _, parameter := range operation.Parameters {
		isIdentity := parameter.In == "path" && c.use.IsNamedBy(operation, parameter.Name)
		if isIdentity || !p.Values.IsSent(parameter) {
			continue
		}
		c.Free(parameter, generator)
		c.namesNothing = c.namesNothing || parameter.In == "path"
	}
	if mediaType, described := operation.Body(); described != nil {
		c.header.Set("Content-Type", mediaType)
		c.body = jsonvalue.Encode(generator.Base(described))
	}
	return c
}

// add adds the plainest valid request, which the caller changes.
func (m *singleMaker) add(name string, promise scenario.Promise) *single {
	c := m.plainest(m.operation, name, promise, m.Values)
	m.tests.singles = append(m.tests.singles, c)
	return c
}

// refused makes a test one that the service must refuse.
func (c *single) refused(kind scenario.Kind, in, pointer string) *single {
	c.why = &scenario.Violation{Kind: kind, In: in, Pointer: pointer}
	return c
}

// withoutResource makes a test one of a path that names nothing that a test creates, from one of its parameters on, where it
// has the plainest values. Before that parameter it still names what the test creates.
//
//	/tickets/{id}/comments/{comment}, from comment: the ticket is created, and {comment} has the plainest value
func (c *single) withoutResource(from string, generator *values.Generator) {
	c.id = nil
	c.shared = nil
	names := c.Operation.PathNames
	for c.use != nil && slices.Index(names, c.use.Parameter) >= slices.Index(names, from) {
		c.use = c.use.Above(c.Operation)
	}
	for _, parameter := range c.Operation.Parameters {
		isUnnamed := parameter.In == "path" && !c.use.IsNamedBy(c.Operation, parameter.Name)
		if isUnnamed && !c.Has(parameter) {
			c.Free(parameter, generator)
		}
	}
}

// withoutThing is a request whose path has the plainest parameters in place of the identities of a thing.
func (c *single) withoutThing(d *draft.Draft) *single {
	other := new(*c)
	other.withoutResource(c.Operation.PathNames[0], d.Values)
	return other
}

// request is the request of a test on a thing, without what a run adds. If the body of a valid request has the identity, it
// is that of the path: two that differ are a fault.
func (c *single) request(thing *scenario.Thing) scenario.Request {
	request := scenario.Request{
		Method: c.Operation.Method, Path: c.Operation.Template, Header: c.header.Clone(), Body: c.body, Access: c.access,
	}
	c.Write(&request)
	request.Query = append(request.Query, c.query...)
	if c.use != nil {
		request.Path = c.use.Fill(c.Operation, request.Path, thing)
	}
	if c.use.IsOn(c.Operation) && c.why == nil {
		request.Body = c.withIdentity(thing)
	}
	return draft.Encoded(c.Operation, request)
}

// withIdentity is the body with the identity of a thing, if the body has a member for it; otherwise it stays as it is, byte
// by byte.
func (c *single) withIdentity(thing *scenario.Thing) []byte {
	decoded, _ := jsonvalue.Decode(c.body) // what is no JSON has none
	if same := c.use.WithIdentity(c.Operation, decoded, thing.ID); !jsonvalue.Same(same, decoded) {
		return jsonvalue.Encode(same)
	}
	return c.body
}

// test is the test of the request: what is in its way is removed, what it needs is created, and then the
// response and what has changed are checked.
func (c *single) test(p *Planner) Test {
	test := newTest(c.name, c.promise, p.drafted(c.promise, func(t *draft.Trial) {
		c.remove(t)
		around := surroundings{single: c, Trial: t}
		around.run()
	}))
	if c.isDrawn {
		test.Shows = append(test.Shows, randomBodies(c.Operation))
	}
	test.Cleanup = p.drafted(c.promise, c.remove)
	if c.why != nil {
		test.Refuses = c.Operation.ID
	}
	if c.order == clearing {
		test.Area = p.areaOf(test)
	}
	return test
}

// remove removes what a test creates under an identity that others use, too.
func (c *single) remove(t *draft.Trial) {
	// A batch is not on one resource.
	x := cmp.Or(t.Resources.Of(c.Operation), c.use.Named(), t.Resources.FirstChosen())
	// What is below something else is below something new in each test.
	if x == nil || x.IsAssigned || x.Parent != nil {
		return
	}
	for _, id := range c.shared {
		t.Remove(x.Thing(id))
	}
}

// Requests makes the requests of the tests of one request, but for those of credentials and of random bodies, with identities
// that are drawn where a test has none. They are for fuzzers and benchmarks, which need something to start from.
func (p *Planner) Requests() iter.Seq[scenario.Request] {
	return func(yield func(scenario.Request) bool) {
		for _, operation := range p.Document.Operations {
			for _, c := range p.testsOf(operation).singles {
				if c.isOfAccess() || c.isDrawn {
					continue
				}
				thing := &scenario.Thing{ID: p.identityFor(c)}
				if !yield(c.request(thing)) {
					return
				}
			}
		}
	}
}

// isOfRobustness reports whether the service may refuse the request or not, but must not fail.
func (c *single) isOfRobustness() bool { return c.promise.Duty == scenario.MustSurvive }

// isOfAccess reports whether a test is about credentials, so that its request alone shows nothing.
func (c *single) isOfAccess() bool { return !c.access.IsUsual() }

// identityFor is the identity of what a request is about: that of the test, or one that is drawn.
func (p *Planner) identityFor(c *single) any {
	if c.use != nil && c.id == nil {
		return p.Values.Identity(c.use.Identity)
	}
	return c.id
}
