package draft

import (
	"maps"
	"net/http"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// How a call becomes the request that is sent.

// ReadBefore is the call that reads the thing of another call, if that requires its ETag and does not have it, or false. The
// ETag is read as late as possible: another request may have changed the thing.
func (d *Draft) ReadBefore(call scenario.Call) (read scenario.Call, isNeeded bool) {
	operation := d.Document.Operation(call.Operation)
	requiresETag := operation != nil && operation.NeedsIfMatch()
	hasETag := http.Header(call.Header).Get("If-Match") != ""
	if !requiresETag || hasETag || call.Of == nil {
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
	request = scenario.Request{Method: operation.Method, Path: operation.Template, Header: http.Header{}}
	maps.Copy(request.Header, call.Header)
	if etag != "" {
		request.Header.Set("If-Match", etag)
	}
	body := d.wrapped(operation, call.Body)
	if use := d.Resources.UseOf(operation); use != nil && call.Of != nil {
		request.Path = use.Fill(operation, request.Path, call.Of)
		if use.IsOn(operation) {
			body = use.WithIdentity(operation, body, call.Of.ID)
		}
	}
	slots := d.openSlots(operation, call, request)
	slots.FillPath(d, slots.IsFree)
	slots.Write(&request)
	if len(call.Query) > 0 {
		request.Query = append(request.Query, call.Query.Encode())
	}
	if mediaType, _ := operation.Body(); body != nil && mediaType != "" {
		request.Header.Set("Content-Type", mediaType)
		request.Body = jsonvalue.Encode(body)
	}
	return Encoded(operation, request), nil
}

// wrapped is the body of a request. Where an operation takes a thing within a larger body, a body that is the thing alone is put
// into the plainest one.
func (d *Draft) wrapped(operation *document.Operation, body any) any {
	if operation.Takes.Members == "" {
		return body
	}
	return operation.Takes.Wrapped(d.PlainBody(operation), body)
}

// openSlots are the slots of the parameters that each request of an operation has, but for those that a call gives.
func (d *Draft) openSlots(operation *document.Operation, call scenario.Call, request scenario.Request) *Slots {
	slots := &Slots{Operation: operation}
	for _, parameter := range operation.Parameters {
		isGiven := false
		switch parameter.In {
		case "path":
			isGiven = !strings.Contains(request.Path, "{"+parameter.Name+"}")
		case "query":
			isGiven = call.Query.Has(parameter.Name)
		case "header":
			isGiven = request.Header.Get(parameter.Name) != ""
		}
		if !isGiven && d.Values.IsSent(parameter) {
			slots.Free(parameter, d.Values)
		}
	}
	return slots
}

// noOperation is the error of a test that names an operation that the document does not have.
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
