package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// The media types of bodies: JSON, and JSON Merge Patch (RFC 7396).
const (
	jsonType       = "application/json"
	mergePatchType = "application/merge-patch+json"
)

// checkBody reads the body of a request, once, decodes it, once, holds it
// against the schema, and leaves the very value that it checked for the
// generated code to bind.
func (v validator) checkBody(w http.ResponseWriter, r *http.Request, op *operation) error {
	if err := announced(r); err != nil {
		return err
	}
	schema, err := bodySchema(r.Header, op)
	if err != nil {
		return err
	}
	body, err := v.readBody(w, r)
	if err != nil {
		return err
	}
	value, err := decodeJSON(body)
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
	r.Body = checkedBody{value}
	return nil
}

var errMissingBody = fail(plantapi.CodeMissingBody, "a request body is required")

// announced fails if there is no body. Without a Content-Length only the body
// itself can tell, so its first byte is read and put back.
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

// bodySchema finds the schema for the media type of a request.
func bodySchema(h http.Header, op *operation) (*openapi3.Schema, error) {
	if encoding := h.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, unsupported("Content-Encoding is not supported: send the body as it is")
	}
	if len(h["Content-Type"]) != 1 {
		return nil, unsupported("Content-Type must be " + op.mediaTypes())
	}
	contentType := h.Get("Content-Type")
	if schema, ok := op.bodies[contentType]; ok {
		return schema, nil
	}
	mediaType, params, err := mime.ParseMediaType(contentType)
	schema, ok := op.bodies[mediaType]
	if err != nil || !ok {
		return nil, unsupported("Content-Type must be " + op.mediaTypes())
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return nil, unsupported("charset must be utf-8")
	}
	return schema, nil
}

func unsupported(message string) *failure { return fail(plantapi.CodeUnsupportedMediaType, message) }

var errIncompleteBody = fail(plantapi.CodeIncompleteBody, "body was cut short or came too slowly")

// readBody reads a body up to the limit. One that is announced as larger is
// refused unread.
func (v validator) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > v.maxBody {
		w.Header().Set("Connection", "close") // rather than read the rest of it
		return nil, v.tooLarge()
	}
	var buf bytes.Buffer
	if r.ContentLength > 0 {
		buf.Grow(int(r.ContentLength) + bytes.MinRead) // or ReadFrom grows it once more
	}
	switch _, err := buf.ReadFrom(http.MaxBytesReader(w, r.Body, v.maxBody)); {
	case err == nil:
		return buf.Bytes(), nil
	case isTooLarge(err):
		return nil, v.tooLarge()
	default:
		return nil, errIncompleteBody
	}
}

func (v validator) tooLarge() *failure {
	return fail(plantapi.CodeBodyTooLarge, fmt.Sprintf("body is larger than the limit of %d bytes", v.maxBody))
}

func isTooLarge(err error) bool {
	_, ok := errors.AsType[*http.MaxBytesError](err)
	return ok
}

// checkedBody carries a value that has been checked to the generated code:
// runtime.BindJSONBody asks a body for its ValidatedValue before it reads. A
// second parse could see another value than the one that was checked, so there
// is nothing to read.
type checkedBody struct{ value any }

func (b checkedBody) ValidatedValue() any { return b.value }

func (checkedBody) Read([]byte) (int, error) {
	return 0, errors.New("the body matches the schema but cannot be bound to its Go type")
}

func (checkedBody) Close() error { return nil }
