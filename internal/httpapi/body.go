package httpapi

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// The media types of bodies: JSON, and JSON Merge Patch (RFC 7396).
const (
	jsonType       = "application/json"
	mergePatchType = "application/merge-patch+json"
)

// checkBody reads the body of a request, decodes it, and validates it against the
// schema. The request then has the checked body, which the generated code decodes with
// the same rules. The body must be released after the request.
func (v validator) checkBody(w http.ResponseWriter, r *http.Request, op *operation) (*checkedBody, error) {
	if err := announced(r); err != nil {
		return nil, err
	}
	schema, err := op.bodySchema(r.Header)
	if err != nil {
		return nil, err
	}
	body := checkedBodies.Get().(*checkedBody)
	if err := body.check(v, w, r, schema); err != nil {
		return body, err
	}
	body.Reset(body.text)
	r.Body = body
	return body, nil
}

// checkedBody is the body of a request, to be read again after it has been checked.
type checkedBody struct {
	bytes.Reader
	decoder
	text []byte
}

func (b *checkedBody) check(v validator, w http.ResponseWriter, r *http.Request, schema *openapi3.Schema) (err error) {
	if b.text, err = v.readBody(w, r, b.text[:0]); err != nil {
		return err
	}
	value, err := b.decode(b.text)
	if err != nil {
		return fail(plantapi.CodeMalformedBody, "body is not one well-formed JSON value: "+err.Error())
	}
	if details := violations(schema, value); len(details) > 0 {
		return &failure{
			code:    plantapi.CodeInvalidBody,
			message: describe("body does not match the schema", details),
			details: details,
		}
	}
	return nil
}

func (*checkedBody) Close() error { return nil }

// checkedBodies are used again, except for large ones. New ones would cost 10 % of
// the CPU of the handler for each create.
var checkedBodies = sync.Pool{New: func() any { return new(checkedBody) }}

// maxPooled is the largest body that is used again.
const maxPooled = 64 << 10

// release returns the body to the pool. It must not be used after that.
func (b *checkedBody) release() {
	if b != nil && cap(b.text) <= maxPooled {
		checkedBodies.Put(b)
	}
}

var errMissingBody = fail(plantapi.CodeMissingBody, "a request body is required")

// announced returns an error if the request has no body. Without a Content-Length it
// reads the first byte of the body and puts it back.
func announced(r *http.Request) error {
	switch {
	case r.ContentLength == 0:
		return errMissingBody
	case r.ContentLength > 0:
		return nil
	}
	first := make([]byte, 1)
	switch _, err := io.ReadFull(r.Body, first); {
	case err == io.EOF:
		return errMissingBody
	case err != nil:
		return errIncompleteBody
	}
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(first), r.Body), r.Body}
	return nil
}

// bodySchema returns the schema for the media type of a request.
func (op *operation) bodySchema(h http.Header) (*openapi3.Schema, error) {
	if encoding := h.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, unsupported("Content-Encoding is not supported: send the body as it is")
	}
	contentType := strings.Join(h["Content-Type"], ", ")
	if schema, ok := op.bodies[contentType]; ok {
		return schema, nil
	}
	mediaType, params, err := mime.ParseMediaType(contentType)
	schema, ok := op.bodies[mediaType]
	if err != nil || !ok || len(h["Content-Type"]) > 1 {
		want := slices.Sorted(maps.Keys(op.bodies))
		return nil, unsupported(fmt.Sprintf("Content-Type must be %s, got %s: with curl, add -H 'Content-Type: %s'",
			strings.Join(want, " or "), shorten(cmp.Or(contentType, "none")), want[0]))
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return nil, unsupported("charset must be utf-8")
	}
	return schema, nil
}

func unsupported(message string) *failure { return fail(plantapi.CodeUnsupportedMediaType, message) }

var errIncompleteBody = fail(plantapi.CodeIncompleteBody, "body was cut short or came too slowly")

// readBody appends the body to a buffer. A body that is larger than the limit by its
// Content-Length is refused before it is read.
func (v validator) readBody(w http.ResponseWriter, r *http.Request, buf []byte) ([]byte, error) {
	if r.ContentLength > v.maxBody {
		w.Header().Set("Connection", "close") // so that the rest need not be read
		return buf, v.tooLarge()
	}
	if r.ContentLength > 0 { // net/http returns exactly that many bytes
		n := int(r.ContentLength)
		buf = slices.Grow(buf, n)[:n]
		if _, err := io.ReadFull(r.Body, buf); err != nil {
			return buf, errIncompleteBody
		}
		return buf, nil
	}
	read := bytes.NewBuffer(buf)
	switch _, err := read.ReadFrom(http.MaxBytesReader(w, r.Body, v.maxBody)); {
	case err == nil:
		return read.Bytes(), nil
	case isTooLarge(err):
		return read.Bytes(), v.tooLarge()
	default:
		return read.Bytes(), errIncompleteBody
	}
}

func (v validator) tooLarge() *failure {
	return fail(plantapi.CodeBodyTooLarge, fmt.Sprintf("body is larger than the limit of %d bytes", v.maxBody))
}

func isTooLarge(err error) bool {
	_, ok := errors.AsType[*http.MaxBytesError](err)
	return ok
}
