package draft

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/judge"
	"github.com/plantstore/plantstore/api/contracttest/internal/lessons"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// A draft is where tests meet the service: steps say "read this thing", and a draft knows which operation
// that is, what else it needs, and how the identity is written into its path. Tests therefore name no
// operation and no path.

// Drafts make a draft for each run of a test, from what is known of a service.
type Drafts struct {
	Document  *document.Document
	Judge     *judge.Judge
	Resources *resources.Set
	Lessons   *lessons.Lessons
	Values    *values.Generator
}

// Draft makes the steps of one run of a test. What it draws depends on the name of the test only.
type Draft struct {
	*Drafts
	// Those of all tests, with the generator of this one.
	Lessons *lessons.Lessons
	Values  *values.Generator
	// What the things of a resource are below.
	parents map[*resources.Resource]*scenario.Thing
}

// Draft returns what makes the steps of one run of a test.
func (s *Drafts) Draft(test string) *Draft {
	generator := s.Values.ForTest(test)
	return &Draft{
		Drafts:  s,
		Lessons: s.Lessons.For(generator),
		Values:  generator,
		parents: map[*resources.Resource]*scenario.Thing{},
	}
}

// Expand returns the steps that a step consists of: one that creates a thing, walks through a list, or
// is a request in terms of the document. The steps before it are done.
func (d *Draft) Expand(step scenario.Step) []scenario.Step {
	switch {
	case step.Draw != nil:
		d.draw(step.Draw)
		return nil
	case step.Create != nil:
		return d.create(step)
	case step.Walk != nil:
		return d.walk(step)
	case step.Call != nil:
		return d.complete(step)
	}
	return []scenario.Step{step}
}

// draw gives things identities.
func (d *Draft) draw(things []*scenario.Thing) {
	for _, thing := range things {
		if x := d.Resources.CreatedBy(thing.Creator); x != nil {
			thing.ID = d.Values.Identity(x.Identity)
		}
	}
}

// Failing is a step that fails.
func Failing(format string, args ...any) []scenario.Step {
	return []scenario.Step{{Check: func(scenario.Interaction) error {
		return scenario.Brokenf(format, args...)
	}}}
}

// Untried is a step that ends a test without a failure.
func Untried(why scenario.Untried) []scenario.Step {
	return []scenario.Step{{Check: func(scenario.Interaction) error { return why }}}
}

// complete makes a request of a call: what the operation requires is added. A required If-Match is the ETag
// of the resource, which is read before. The ETag is read as late as possible: another step may have
// changed the resource.
func (d *Draft) complete(step scenario.Step) (steps []scenario.Step) {
	call := step.Call()
	operation := d.Document.Operation(call.Operation)
	if operation == nil {
		return Failing("the document has no operation %s", call.Operation)
	}
	header := http.Header{}
	maps.Copy(header, call.Header)
	lacksETag := operation.NeedsIfMatch() && header.Get("If-Match") == ""
	if lacksETag && d.canRead(operation, call.Of) {
		steps = append(steps, d.readETag(call.Of, header))
	}
	step.Call = nil
	step.Send = func() (scenario.Request, error) { return d.request(operation, call, header), nil }
	return append(steps, step)
}

// canRead reports whether an operation is on one thing, which another operation reads. Only then is there an
// ETag to send.
func (d *Draft) canRead(operation *document.Operation, thing *scenario.Thing) bool {
	use := d.Resources.UseOf(operation)
	isOfThing := use != nil && thing != nil
	return isOfThing && use.Operations[http.MethodGet] != nil
}

// readETag is a step that reads a thing and makes its ETag the condition of the next request.
func (d *Draft) readETag(thing *scenario.Thing, header http.Header) scenario.Step {
	return d.Call(http.MethodGet, thing, nil, func(got scenario.Interaction) error {
		if etag := got.Header.Get("ETag"); etag != "" {
			header.Set("If-Match", etag)
		}
		return nil
	})
}

// request is a call as it is sent.
func (d *Draft) request(operation *document.Operation, call scenario.Call, header http.Header) scenario.Request {
	request := scenario.Request{
		Method: operation.Method,
		Path:   operation.Template,
		Query:  d.Required(operation, call.Query, header),
		Header: header,
	}
	body := call.Body
	if use := d.Resources.UseOf(operation); use != nil && call.Of != nil {
		request.Path = use.Fill(operation, request.Path, call.Of)
		if use.IsOn(operation) {
			body = use.Named(body, call.Of.ID)
		}
	}
	request.Path = d.FilledPath(operation, request.Path)
	if mediaType, _ := operation.Body(); body != nil && mediaType != "" {
		header.Set("Content-Type", mediaType)
		request.Body = jsonvalue.Encode(body)
	}
	return Encoded(operation, request)
}

// Encoded is a request whose body is written as its media type says.
func Encoded(operation *document.Operation, request scenario.Request) scenario.Request {
	contentType, body := operation.Encoded(request.Header.Get("Content-Type"), request.Body)
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	request.Body = body
	return request
}

// FilledPath fills what is left of a path template with what is known, or is the plainest.
func (d *Draft) FilledPath(operation *document.Operation, path string) string {
	isLeft := func(parameter *openapi3.Parameter) bool { return strings.Contains(path, "{"+parameter.Name+"}") }
	if !strings.Contains(path, "{") {
		return path
	}
	chosen := d.Lessons.Path(operation, isLeft)
	for _, parameter := range operation.Parameters {
		if parameter.In != "path" || !isLeft(parameter) {
			continue
		}
		text := chosen[parameter.Name]
		if text == "" {
			text, _ = d.Values.BaseParameter(parameter)
		}
		path = strings.Replace(path, "{"+parameter.Name+"}", text, 1)
	}
	return path
}

// Required returns the pairs of a query with what the operation requires, and adds headers that it
// requires.
func (d *Draft) Required(operation *document.Operation, query url.Values, header http.Header) (pairs []string) {
	for _, parameter := range operation.Parameters {
		if !parameter.Required && !d.Values.IsGiven(parameter.Name) {
			continue
		}
		inQuery := parameter.In == "query" && !query.Has(parameter.Name)
		inHeader := parameter.In == "header" && header.Get(parameter.Name) == ""
		if inQuery {
			// Else the service refuses the request.
			text, _ := d.Values.BaseParameter(parameter)
			pairs = append(pairs, text)
		}
		if inHeader {
			text, _ := d.Values.BaseParameter(parameter)
			header.Set(parameter.Name, text)
		}
	}
	if len(query) > 0 {
		pairs = append(pairs, query.Encode())
	}
	return pairs
}

// Call is a step that calls the operation with a method on a thing.
func (d *Draft) Call(method string, thing *scenario.Thing, body any, check func(scenario.Interaction) error) scenario.Step {
	operation := d.Resources.CreatedBy(thing.Creator).Operations[method]
	return scenario.Step{
		Call: func() scenario.Call {
			return scenario.Call{Operation: operation.ID, Of: thing, Body: body}
		},
		Check: check,
	}
}

// CallAccepted is a step that calls the operation with a method on a thing, which must succeed, or the steps after it
// show nothing.
func (d *Draft) CallAccepted(method string, thing *scenario.Thing, body any) scenario.Step {
	step := d.Call(method, thing, body, nil)
	step.Expect = scenario.Accepted
	return step
}

// PlainBody is the plainest body of an operation, or nil.
func (d *Draft) PlainBody(operation *document.Operation) any {
	described := operation.BodySchema()
	if described == nil {
		return nil
	}
	return d.Lessons.Value(operation, d.Values.Base(described))
}

// Read reads a thing, if there is an operation for it, and remembers what is seen.
func (d *Draft) Read(thing *scenario.Thing, checks ...func(scenario.Interaction) error) []scenario.Step {
	if d.Resources.CreatedBy(thing.Creator).Operations[http.MethodGet] == nil {
		return nil
	}
	return []scenario.Step{d.Call(http.MethodGet, thing, nil, func(got scenario.Interaction) error {
		thing.Seen = got
		for _, check := range checks {
			if err := check(got); err != nil {
				return err
			}
		}
		return nil
	})}
}

// Unchanged reads a thing again, which must be as it was seen: byte by byte, because a client would take any
// difference for a change.
func (d *Draft) Unchanged(thing *scenario.Thing, what string, args ...any) []scenario.Step {
	before := thing.Seen.Body
	return d.Read(thing, func(after scenario.Interaction) error {
		isSame := bytes.Equal(before, after.Body)
		return scenario.Require(isSame, "%s has changed %v from %s to %s", fmt.Sprintf(what, args...), thing.ID, before, after.Body)
	})
}

// Remove removes a thing, if there is an operation for it and its path can name it.
func (d *Draft) Remove(thing *scenario.Thing) (steps []scenario.Step) {
	operation := d.Resources.CreatedBy(thing.Creator).Operations[http.MethodDelete]
	if operation == nil {
		return nil
	}
	for _, parameter := range operation.Parameters {
		if _, ok := document.Written(parameter, thing.ID); ok && parameter.In == "path" {
			steps = append(steps, d.Call(http.MethodDelete, thing, nil, nil))
		}
	}
	return steps
}

// Accepted returns an error unless a response is a success, as package judge says. An inferred resource
// may have no ETag of the form that a condition has. promise is what the request was made for, or nothing.
func (s *Drafts) Accepted(x scenario.Interaction, promise string) error {
	use := s.Resources.UseOf(s.Document.Serving(x.Method, x.Path))
	isCondition := x.Status == http.StatusBadRequest && x.HasRequestHeader("If-Match", "If-None-Match")
	isInferred := use != nil && use.IsInferred
	if isCondition && isInferred {
		return scenario.Untried("the header has no ETag of the service")
	}
	return s.Judge.Accepted(x, promise)
}
