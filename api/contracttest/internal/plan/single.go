package plan

import (
	"fmt"
	"iter"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// operationTests are the tests of one request of an operation, and what they lack.
type operationTests struct {
	singles     []*single
	demanded    []string // promises of constraints, whether tests try them or not
	unsupported []string
}

// testsOf returns the tests of one request of an operation. They are made when they are first asked for.
func (p *Planner) testsOf(operation *document.Operation) *operationTests {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.made[operation] == nil {
		maker := singleMaker{Planner: p, operation: operation, values: p.values.ForTest(numberOf(operation.ID)), tests: &operationTests{}}
		maker.make()
		p.made[operation] = maker.tests
	}
	return p.made[operation]
}

// singleMaker makes the tests of one request of an operation.
type singleMaker struct {
	*Planner
	operation *document.Operation
	values    *values.Generator
	tests     *operationTests
}

// make adds the tests, unless no request of the operation can be written at all.
func (m *singleMaker) make() {
	if m.isLeftOut(m.operation) {
		m.unsupport("requests: the options leave it out")
		return
	}
	m.credentials()
	m.parameters()
	described := m.operation.BodySchema()
	if described != nil {
		m.bodies()
	}
	m.otherMediaTypes()
	switch name := m.unwritable(); {
	case name != "":
		m.unsupport("requests: no value for its required parameter %s", name)
		m.tests.singles = nil
	case described == nil && m.operation.NeedsBody():
		m.unsupport("requests: its body is required and has no JSON media type")
		m.tests.singles = nil
	}
	if m.values.TakeExhausted() {
		m.unsupport("values of schemas that refer to each other in many ways")
	}
}

func (m *singleMaker) unsupport(format string, args ...any) {
	m.tests.unsupported = append(m.tests.unsupported, m.operation.ID+", "+fmt.Sprintf(format, args...))
}

// demand adds a promise of the operation, whether a test tries it or not.
func (m *singleMaker) demand(promise string) {
	m.tests.demanded = append(m.tests.demanded, m.operation.ID+", "+promise)
}

// otherMediaTypes reports bodies that are not JSON.
func (m *singleMaker) otherMediaTypes() {
	used, _ := m.operation.Body()
	for _, other := range slices.Sorted(maps.Keys(m.operation.Content())) {
		if other != used && !document.IsJSON(other) {
			m.unsupport("body as %s", other)
		}
	}
}

// unwritable returns the required parameter that no value is known for.
func (m *singleMaker) unwritable() string {
	for _, parameter := range m.operation.Parameters {
		if _, ok := m.values.BaseParameter(parameter); !ok && parameter.Required {
			return parameter.Name
		}
	}
	return ""
}

// single is a test of one request that was made from the document.
type single struct {
	name    string
	promise string // what a pass shows

	operation  *document.Operation
	parameters map[string]string // of the path, escaped
	query      []string
	header     http.Header
	cookies    []string
	body       []byte
	access     scenario.Access

	use    *use  // the resource that the path names, if a test can create it
	id     any   // its identity; nil: a fresh one
	absent bool  // the path names something that does not exist
	madeUp bool  // a position in a list is not from a response
	shared []any // identities that other tests use, too; they are removed first

	why    *scenario.Violation // nil: the service must not refuse it
	odd    bool                // it may refuse it or not, but must not fail
	judged *judgedValue        // nil: the body was not made of a value
}

// judgedValue is the value of a body that the second judge must judge as the first has.
type judgedValue struct{ value any }

// plainest returns the plainest valid request of an operation.
func (p *Planner) plainest(operation *document.Operation, name, promise string, drawn *values.Generator) *single {
	c := &single{
		name:       operation.ID + ", " + name,
		promise:    operation.ID + ", " + promise,
		operation:  operation,
		parameters: map[string]string{},
		header:     http.Header{},
		use:        p.uses[operation],
	}
	for _, parameter := range operation.Parameters {
		isIdentity := parameter.In == "path" && c.use.isNamed(parameter.Name)
		if isIdentity || !parameter.Required {
			continue
		}
		text, _ := drawn.BaseParameter(parameter) // else the operation has no tests
		c.set(parameter, text)
		c.absent = c.absent || parameter.In == "path"
	}
	if mediaType, described := operation.Body(); described != nil {
		c.header.Set("Content-Type", mediaType)
		c.body = jsonvalue.Encode(drawn.Base(described))
	}
	return c
}

// add adds the plainest valid request, which the caller changes.
func (m *singleMaker) add(name, promise string) *single {
	c := m.plainest(m.operation, name, promise, m.values)
	m.tests.singles = append(m.tests.singles, c)
	return c
}

// refused makes a test one that the service must refuse.
func (c *single) refused(kind scenario.Kind, in, pointer string) *single {
	c.why = &scenario.Violation{Kind: kind, In: in, Pointer: pointer}
	return c
}

// withoutResource makes a test one of a path that names nothing that a test creates.
func (c *single) withoutResource() { c.use, c.id, c.shared = nil, nil, nil }

func (c *single) order() order {
	isValid := c.why == nil && !c.odd
	switch {
	case strings.Contains(c.name, ", odd "):
		return odd
	case isValid && c.operation.Method == http.MethodPost:
		return creating
	}
	return usual
}

// set gives a request the text of one parameter.
func (c *single) set(parameter *openapi3.Parameter, text string) {
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
func (c *single) unset(parameter *openapi3.Parameter) {
	c.query, c.cookies = withoutPair(c.query, parameter.Name), withoutPair(c.cookies, parameter.Name)
	if parameter.In == "header" {
		c.header.Del(parameter.Name)
	}
}

// withoutPair leaves out the pair with a name.
func withoutPair(pairs []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(pairs), func(pair string) bool { return strings.HasPrefix(pair, name+"=") })
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
	return c.use.fill(c.operation, path, thing.ID)
}

// Request is the request as it is sent, without what a run adds.
func (c *single) request(thing *scenario.Thing) scenario.Request {
	request := scenario.Request{
		Method: c.operation.Method, Path: c.path(thing), Query: c.query, Header: c.header.Clone(), Body: c.body, Access: c.access,
	}
	if len(c.cookies) > 0 {
		request.Header.Set("Cookie", strings.Join(c.cookies, "; "))
	}
	if c.use != nil && c.why == nil {
		request.Body = withMember(c.body, c.use.member, thing.ID)
	}
	return request
}

// withMember sets a member of an object that has it.
func withMember(body []byte, name string, value any) []byte {
	decoded, _ := jsonvalue.Decode(body) // a body that is no JSON has no member
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
	remove := func() []scenario.Step { return p.Draft(c.name).removals(c) }
	return Test{Number: numberOf(c.name), Test: scenario.Test{
		Name: c.name, Shows: []string{c.promise}, Cleanup: remove,
		Steps: func() []scenario.Step {
			around := surroundings{single: c, draft: p.Draft(c.name)}
			return append(remove(), around.steps()...)
		},
	}}
}

// removals remove what a test creates under an identity that others use, too.
func (d *Draft) removals(c *single) (steps []scenario.Step) {
	if len(c.shared) == 0 {
		return nil
	}
	x := d.resourceOf(c.operation)
	if x == nil { // a batch creates several
		x = first(d.resources, func(x *resource) bool { return !x.assigned })
	}
	if x == nil || x.assigned {
		return nil
	}
	for _, id := range c.shared {
		steps = append(steps, d.remove(x.thing(id))...)
	}
	return steps
}

// surroundings are the steps around one request.
type surroundings struct {
	*single
	draft *Draft

	thing  *scenario.Thing // that the path names; its identity is nil if it names none
	absent bool            // there is no such thing
	before bool            // it was read before the request
}

func (s *surroundings) steps() (steps []scenario.Step) {
	s.thing, s.absent = &scenario.Thing{ID: s.id}, s.single.absent
	if s.judged != nil {
		steps = append(steps, scenario.Verify(s.judgesAgree))
	}
	if s.operation.Streams() && len(s.draft.resources) > 0 { // so that there is something to stream
		steps = append(steps, scenario.Step{Create: s.draft.resources[0].thing(nil)})
	}
	if s.use != nil {
		s.thing = s.use.thing(s.id)
		steps = append(steps, scenario.Step{Create: s.thing, Optional: s.use.inferred}, scenario.Step{Then: s.readBefore})
	}
	return append(steps, scenario.Step{
		Send:  func() (scenario.Request, error) { return s.request(s.thing), nil },
		Check: s.check,
		Then:  s.after,
	})
}

// longNumber finds numbers that a float64 may not hold.
var longNumber = regexp.MustCompile(`[0-9]{16}`)

// Inexact is why a test is not run on which the two judges differ for a known reason.
const Inexact scenario.Untried = "kin-openapi reads its number as a float64, which does not hold it"

// judgesAgree fails if the second judge finds the request valid that the first finds invalid, or the
// other way round.
func (s *surroundings) judgesAgree() error {
	err := s.draft.Judge.Second.Differs(s.why == nil, s.judged.value, schema.Request, s.operation.BodyPlace()...)
	switch {
	case err == nil:
		return nil
	case longNumber.Match(s.body):
		return Inexact
	}
	return scenario.Broken{
		Cause: "two oracles differ on " + s.promise, Rank: scenario.Oracles, Unsent: true,
		Message: fmt.Sprintf("the request was not sent: %v: %.300s", err, s.body),
	}
}

// readBefore reads what the request is about, so that a change is seen.
func (s *surroundings) readBefore(scenario.Interaction) []scenario.Step {
	s.absent = s.absent || s.thing.Missing
	if s.absent {
		return nil
	}
	steps := s.draft.read(s.thing)
	s.before = len(steps) > 0
	return steps
}

// check says whether the response to the request is right.
func (s *surroundings) check(x scenario.Interaction) error {
	isNotFound := s.absent && x.Status == http.StatusNotFound
	switch {
	case s.odd:
		return s.checkOdd(x, isNotFound)
	case isNotFound && s.isOfBody():
		return s.notFound()
	case s.why != nil:
		return s.draft.Judge.Refused(x, *s.why, s.promise)
	}
	return s.checkValid(x)
}

const (
	noResource scenario.Untried = "it needs something that exists, and no test knows what creates it: name this operation in the links of that response"
	noIdentity scenario.Untried = "it conflicts with what exists, and no test knows what is free"
)

// checkOdd checks the response to a request that a service may refuse or not.
func (s *surroundings) checkOdd(x scenario.Interaction, isNotFound bool) error {
	if x.Status >= http.StatusInternalServerError {
		return s.draft.Judge.Crashed(x, "no request may make the service fail")
	}
	if isNotFound && strings.Contains(s.promise, "odd body") {
		return noResource
	}
	return nil
}

// isOfBody reports whether a service that looks for what the path names first need not see what is wrong.
func (s *surroundings) isOfBody() bool {
	return s.why == nil || slices.Contains([]string{"body", ""}, s.why.In)
}

// notFound is what a test has shown of which the path names nothing. A parameter was read, or the
// service would have refused it.
func (s *surroundings) notFound() error {
	isOfParameter := strings.Contains(s.promise, ", parameter ")
	if isOfParameter && !strings.Contains(s.promise, ", refused") {
		return nil
	}
	return noResource
}

// checkValid checks the response to a valid request.
func (s *surroundings) checkValid(x scenario.Interaction) error {
	isConflict := x.Status == http.StatusConflict
	isUnknown := s.use == nil && !s.draft.creates(s.operation)
	isRefused := x.Status >= http.StatusBadRequest && x.Status < http.StatusInternalServerError
	switch {
	case isConflict && isUnknown:
		return noIdentity
	case isConflict && len(s.shared) > 0:
		return scenario.Untried("the identity is taken, and no test can remove it")
	case isRefused && s.madeUp:
		return scenario.Untried("only the service knows its values")
	}
	// A position, of an example too, need not be valid any more.
	if key, _ := s.operation.ResponseAs(x.Status); key == strconv.Itoa(http.StatusGone) {
		return nil
	}
	return s.draft.Accepted(x)
}

// after checks that a refused request has changed nothing.
func (s *surroundings) after(scenario.Interaction) (steps []scenario.Step) {
	if s.why == nil || s.odd {
		return nil
	}
	if s.before {
		steps = append(steps, s.draft.unchanged(s.thing, "a refused request")...)
	}
	return append(steps, s.createdNothing()...)
}

// mostLookups is how many identities of a refused body are looked up.
const mostLookups = 3

// createdNothing are steps that fail if a refused create has left something behind.
func (s *surroundings) createdNothing() (steps []scenario.Step) {
	described := s.operation.BodySchema()
	if described == nil {
		return nil
	}
	value, _ := jsonvalue.Decode(s.body) // a malformed body names nothing
	ids := s.draft.values.Identities(described, value)
	for _, x := range s.draft.resources {
		if x.uses[http.MethodGet] == nil || x.assigned {
			continue
		}
		for _, id := range ids[:min(len(ids), mostLookups)] {
			steps = append(steps, s.draft.call(http.MethodGet, x.thing(id), nil, func(x scenario.Interaction) error {
				if x.Status < http.StatusBadRequest {
					return scenario.Brokenf("the create was refused, but %v exists: %s", id, x.Body)
				}
				return nil
			}))
		}
	}
	return steps
}

// Requests makes the requests of the tests of one request without credentials, with fresh identities.
func (p *Planner) Requests() iter.Seq[scenario.Request] {
	return func(yield func(scenario.Request) bool) {
		for _, operation := range p.Document.Operations {
			for _, c := range p.testsOf(operation).singles {
				if c.access.Chosen || c.access.WithoutScope != "" {
					continue
				}
				thing := &scenario.Thing{ID: c.id}
				if c.use != nil && c.id == nil {
					thing.ID = p.values.Identity(c.use.identity)
				}
				if !yield(c.request(thing)) {
					return
				}
			}
		}
	}
}
