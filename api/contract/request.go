package contract

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
)

// Request is a request that the document allows, with the values of its parameters and its body.
type Request struct {
	Operation *Operation

	ctx    requestContext
	http   http.Request // what the handler gets; here, it is no allocation of its own
	query  url.Values
	values []any    // by the index of a parameter of the operation
	path   []string // the texts of the parameters in the path, which are escaped
	body   body

	pathTexts [4]string // of path, which is no allocation of its own
}

// requestKey is the key of a [Request] in a context.
type requestKey struct{}

// requestContext is the context of the handler. [context.WithValue] would be one more allocation for each
// request.
type requestContext struct {
	context.Context
	request *Request
}

// Value implements [context.Context].
func (c *requestContext) Value(key any) any {
	if key == (requestKey{}) {
		return c.request
	}
	return c.Context.Value(key)
}

// RequestOf returns the request of a context, or nil if no [Checker] has checked it.
func RequestOf(ctx context.Context) *Request {
	request, _ := ctx.Value(requestKey{}).(*Request)
	return request
}

// OperationOf returns the operation of a context, or nil if no [Checker] has checked the request.
func OperationOf(ctx context.Context) *Operation {
	if request := RequestOf(ctx); request != nil {
		return request.Operation
	}
	return nil
}

// Body returns the decoded body of a request, or nil if there is none; see [Request.Body].
func Body(ctx context.Context) any {
	if request := RequestOf(ctx); request != nil {
		return request.Body()
	}
	return nil
}

// Body returns the decoded body: of JSON a string, bool, int64, float64, []any or map[string]any, and nil
// for null; of a form a map[string]any; otherwise a string. A number is an int64 if it is written as an
// integer that fits. Members that the schema cannot need are left out.
func (r *Request) Body() any { return r.body.value }

// TakeBody returns the decoded body and forgets it, and its text: a large body takes no memory while a
// client reads the response.
func (r *Request) TakeBody() any {
	value := r.body.value
	r.body = body{}
	return value
}

// Parameter returns the value of a parameter, or nil if the request or the operation does not have it: a string, bool,
// int64, float64, or []any or map[string]any of these. [Value] and [Optional] panic if the operation does not have it.
func (r *Request) Parameter(in, name string) any {
	value, _ := r.find(in, name)
	return value
}

// find returns the value of a parameter, and whether the operation has it.
func (r *Request) find(in, name string) (value any, isKnown bool) {
	for i := range r.Operation.parameters {
		if parameter := &r.Operation.parameters[i]; parameter.name == name && parameter.in == in {
			return r.values[i], true
		}
	}
	return nil, false
}

// Query returns the query of the request, which must not be changed. It is nil if there is none, or if the
// operation ignores it.
func (r *Request) Query() url.Values { return r.query }

// body is a body that was read and checked. It is the Body of the request that the handler gets,
// and can be read once more.
type body struct {
	text   []byte
	value  any
	faults []Fault // that were found while it was decoded

	// isChanged says that the value is read in place of the text: an object has a member that differs from one of its schema
	// in upper and lower case only, for which encoding/json would take it, or one that is readOnly, or a time in small letters.
	isChanged bool
	reader    *bytes.Reader // nil before the first read
}

var _ io.ReadCloser = (*body)(nil)

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	if b.reader == nil {
		text, err := b.checkedText()
		if err != nil {
			return 0, err
		}
		b.reader = bytes.NewReader(text)
	}
	return b.reader.Read(p)
}

// checkedText returns the text that the handler may read.
func (b *body) checkedText() ([]byte, error) {
	if b.isChanged {
		return json.Marshal(b.value)
	}
	return b.text, nil
}

// ValidatedValue returns the checked value. The code that oapi-codegen generates binds it in place of the text: its names are exact,
// and nothing is decoded again.
func (b *body) ValidatedValue() any { return b.value }

// Close implements [io.Closer].
func (b *body) Close() error { return nil }

// maxJudged is the size of the largest body that is kept for [Options.Judge].
const maxJudged = 1 << 20

// responseRecorder keeps a response for [Options.Judge].
type responseRecorder struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

// WriteHeader implements [http.ResponseWriter].
func (rec *responseRecorder) WriteHeader(status int) {
	if rec.status < http.StatusOK { // informational ones come before
		rec.status = status
	}
	rec.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (rec *responseRecorder) Write(text []byte) (int, error) {
	rec.status = cmp.Or(rec.status, http.StatusOK)
	if rec.body.Len() <= maxJudged {
		rec.body.Write(text)
	}
	return rec.ResponseWriter.Write(text)
}

// Unwrap lets [http.ResponseController] reach the connection.
func (rec *responseRecorder) Unwrap() http.ResponseWriter { return rec.ResponseWriter }

func (rec *responseRecorder) text() []byte {
	if rec.body.Len() > maxJudged {
		return nil
	}
	return append([]byte{}, rec.body.Bytes()...) // empty, not nil, if there is none
}
