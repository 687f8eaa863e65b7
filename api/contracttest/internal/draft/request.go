package draft

import (
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// How a call becomes the request that is sent.

// ReadBefore is the call that reads the thing of another call, which requires its ETag, or false. The ETag is read as late
// as possible: another request may have changed the thing.
func (d *Draft) ReadBefore(call scenario.Call) (read scenario.Call, isNeeded bool) {
	operation := d.Document.Operation(call.Operation)
	hasETag := http.Header(call.Header).Get("If-Match") != ""
	if operation == nil || !operation.NeedsIfMatch() || hasETag || call.Of == nil {
		return read, false
	}
	use := d.Resources.UseOf(operation)
	if use == nil || use.Operations[http.MethodGet] == nil {
		return read, false
	}
	return d.CallOf(http.MethodGet, call.Of, nil), true
}

// Request is a call as it is sent: what the operation requires is added. etag is that of the thing, or nothing.
func (d *Draft) Request(call scenario.Call, etag string) (request scenario.Request, err error) {
	operation := d.Document.Operation(call.Operation)
	if operation == nil {
		return request, noOperation(call.Operation)
	}
	header := http.Header{}
	maps.Copy(header, call.Header)
	if etag != "" {
		header.Set("If-Match", etag)
	}
	request = scenario.Request{
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
	return Encoded(operation, request), nil
}

// noOperation is a mistake of a test.
func noOperation(id string) error { return scenario.Brokenf("the document has no operation %s", id) }

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
	isLeft := func(parameter *document.Parameter) bool { return strings.Contains(path, "{"+parameter.Name+"}") }
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

// FirstPage is the request of the first page of a list.
func (d *Draft) FirstPage(id string, query url.Values) (request scenario.Request, err error) {
	operation := d.Document.Operation(id)
	if operation == nil {
		return request, noOperation(id)
	}
	return scenario.Request{
		Method: operation.Method,
		Path:   operation.Template,
		Query:  []string{query.Encode()},
		Header: http.Header{},
	}, nil
}

// NextPage is the request to which the Link of a page leads, if it has one.
func (d *Draft) NextPage(page scenario.Interaction) (next scenario.Request, isThere bool, err error) {
	link := page.NextLink()
	if link == "" {
		return next, false, nil
	}
	next = scenario.Request{Method: page.Method, Header: http.Header{}}
	next.Path, next.Query, err = page.LeadsTo(link)
	return next, true, err
}
