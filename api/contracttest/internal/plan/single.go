package plan

import (
	"cmp"
	"iter"
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

// Tests of one request are the largest family: one for each side of each keyword, of each parameter and
// body. All of them begin as the plainest valid request of the operation and then change one thing, so that
// a refusal can have one reason only.

// single is a test of one request that was made from the document.
type single struct {
	name    string
	promise scenario.Promise // what a pass shows

	operation  *document.Operation
	parameters map[string]string // of the path, escaped
	query      []string
	header     http.Header
	cookies    []string
	body       []byte
	access     scenario.Access

	// The resource that the path names, if a test can create it.
	use           *resources.Use
	id            any  // its identity; nil: a fresh one
	namesNothing  bool // the path names something that does not exist
	isPlaceholder bool // a position in a list is not from a response
	// Identities that other tests use, too; they are removed first.
	shared []any
	// The parameter, or the place in the body, that the test is about.
	about, keeps string

	why *scenario.Violation // nil: the service must not refuse it
	// What is odd about it, for the cause if it does.
	changed *scenario.Violation
	order   order
}

// plainest returns the plainest valid request of an operation.
func (p *Planner) plainest(operation *document.Operation, name string, promise scenario.Promise, drawn *values.Generator) *single {
	promise.Operation = operation.ID
	c := &single{
		name:       operation.ID + ", " + name,
		promise:    promise,
		operation:  operation,
		parameters: map[string]string{},
		header:     http.Header{},
		use:        p.Resources.UseOf(operation),
	}
	for _, parameter := range operation.Parameters {
		isIdentity := parameter.In == "path" && c.use.IsNamedBy(operation, parameter.Name)
		if isIdentity || !p.Values.IsSent(parameter) {
			continue
		}
		// Else the operation has no tests.
		text, _ := drawn.BaseParameter(parameter)
		c.set(parameter, text)
		c.namesNothing = c.namesNothing || parameter.In == "path"
		c.isPlaceholder = c.isPlaceholder || p.isOpaque(operation, parameter)
	}
	if mediaType, described := operation.Body(); described != nil {
		c.header.Set("Content-Type", mediaType)
		c.body = jsonvalue.Encode(drawn.Base(described))
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

// withoutResource makes a test one of a path that names nothing that a test creates, from one of its parameters on.
// Above that it names what a test creates.
func (c *single) withoutResource(from string, drawn *values.Generator) {
	c.id = nil
	c.shared = nil
	names := c.operation.PathNames
	for c.use != nil && slices.Index(names, c.use.Parameter) >= slices.Index(names, from) {
		c.use = c.use.Above(c.operation)
	}
	for _, parameter := range c.operation.Parameters {
		isUnnamed := parameter.In == "path" && !c.use.IsNamedBy(c.operation, parameter.Name)
		if isUnnamed && c.parameters[parameter.Name] == "" {
			text, _ := drawn.BaseParameter(parameter)
			c.set(parameter, text)
		}
	}
}

// withoutThing is a request whose path has the plainest parameters in place of the identities of a thing.
func (c *single) withoutThing(d *draft.Draft) *single {
	other := new(*c)
	other.parameters = maps.Clone(c.parameters)
	other.withoutResource(c.operation.PathNames[0], d.Values)
	return other
}

// set gives a request the text of one parameter.
func (c *single) set(parameter *document.Parameter, text string) {
	switch parameter.In {
	case "path":
		c.parameters[parameter.Name] = text
	case "query":
		c.query = append(withoutPair(c.query, parameter.Name), text)
	case "header":
		c.header[http.CanonicalHeaderKey(parameter.Name)] = []string{text}
	case "cookie":
		c.cookies = append(withoutPair(c.cookies, parameter.Name), text)
	}
}

// unset takes a parameter out of a request.
func (c *single) unset(parameter *document.Parameter) {
	c.query = withoutPair(c.query, parameter.Name)
	c.cookies = withoutPair(c.cookies, parameter.Name)
	if parameter.In == "header" {
		c.header.Del(parameter.Name)
	}
}

// withoutPair leaves out the pair with a name.
func withoutPair(pairs []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(pairs), func(pair string) bool {
		return strings.HasPrefix(pair, name+"=")
	})
}

// path returns the path with parameters filled in.
func (c *single) path(thing *scenario.Thing) string {
	path := c.operation.Template
	for name, text := range c.parameters {
		path = strings.Replace(path, "{"+name+"}", text, 1)
	}
	if c.use == nil {
		return path
	}
	return c.use.Fill(c.operation, path, thing)
}

// Request is the request as it is sent, without what a run adds. The member that names the resource must be
// that of the path, or the request would have two faults.
func (c *single) request(thing *scenario.Thing) scenario.Request {
	request := scenario.Request{
		Method: c.operation.Method, Path: c.path(thing), Query: c.query, Header: c.header.Clone(), Body: c.body, Access: c.access,
	}
	if len(c.cookies) > 0 {
		request.Header.Set("Cookie", strings.Join(c.cookies, "; "))
	}
	if c.use.IsOn(c.operation) && c.why == nil {
		request.Body = withMember(c.body, c.use.Member, thing.ID)
	}
	return draft.Encoded(c.operation, request)
}

// withMember sets a member of an object that has it.
func withMember(body []byte, name string, value any) []byte {
	// A body that is no JSON has no member.
	decoded, _ := jsonvalue.Decode(body)
	object := jsonvalue.Object(decoded)
	if _, has := object[name]; !has {
		return body
	}
	object[name] = value
	return jsonvalue.Encode(object)
}

// test is the test of the request: what is in its way is removed, what it needs is created, and then the
// response and what has changed are checked.
func (c *single) test(p *Planner) Test {
	test := newTest(c.name, c.promise, p.drafted(c.promise, func(t *draft.Trial) {
		c.remove(t)
		around := surroundings{single: c, Trial: t}
		around.run()
	}))
	test.Cleanup = p.drafted(c.promise, c.remove)
	if c.why != nil {
		test.Refuses = c.operation.ID
	}
	return test
}

// remove removes what a test creates under an identity that others use, too.
func (c *single) remove(t *draft.Trial) {
	// A batch is not on one resource.
	x := cmp.Or(t.Resources.Of(c.operation), c.use.Named(), t.Resources.FirstChosen())
	// What is below something else is below something new in each test.
	if x == nil || x.IsAssigned || x.Parent != nil {
		return
	}
	for _, id := range c.shared {
		t.Remove(x.Thing(id))
	}
}

// Requests makes the requests of the tests of one request without credentials, with fresh identities. They
// are for fuzzers and benchmarks, which need something to start from.
func (p *Planner) Requests() iter.Seq[scenario.Request] {
	return func(yield func(scenario.Request) bool) {
		for _, operation := range p.Document.Operations {
			for _, c := range p.testsOf(operation).singles {
				if c.isOfAccess() {
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

// isOdd reports whether the service may refuse the request or not, but must not fail.
func (c *single) isOdd() bool { return c.promise.Duty == scenario.MustSurvive }

// isOfAccess reports whether a test is about credentials, so that its request alone shows nothing.
func (c *single) isOfAccess() bool { return c.access.IsOfCredentials() }

// identityFor is the identity of what a request is about: that of the test, or one that is drawn.
func (p *Planner) identityFor(c *single) any {
	if c.use != nil && c.id == nil {
		return p.Values.Identity(c.use.Identity)
	}
	return c.id
}
