package draft

import (
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// How a call becomes the request that is sent.

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
			body = use.WithIdentity(body, call.Of.ID)
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
	chosen := d.Lessons.Path(operation, isLeft)
	for _, parameter := range operation.Parameters {
		if parameter.In != "path" || !isLeft(parameter) {
			continue
		}
		text := chosen[parameter.Name]
		if text == "" {
			text, _ = d.Values.BaseParameter(parameter)
		}
		path = strings.ReplaceAll(path, "{"+parameter.Name+"}", text)
	}
	return path
}

// Required returns the pairs of a query with what the operation requires, and adds headers that it
// requires.
func (d *Draft) Required(operation *document.Operation, query url.Values, header http.Header) (pairs []string) {
	for _, parameter := range operation.Parameters {
		if !d.Values.IsSent(parameter) {
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
