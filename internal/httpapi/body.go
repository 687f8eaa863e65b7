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

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// The media types of bodies: JSON, and JSON Merge Patch (RFC 7396).
const (
	jsonType       = "application/json"
	mergePatchType = "application/merge-patch+json"
)

// checkBody reads and decodes the body of a request, validates it against the schema
// and keeps the validated value for bindBody.
func (v validator) checkBody(w http.ResponseWriter, r *http.Request, op *operation) error {
	if err := announced(r); err != nil {
		return err
	}
	schema, err := op.bodySchema(r.Header)
	if err != nil {
		return err
	}
	body := checkedBodies.Get().(*checkedBody)
	if err := body.check(v, w, r, schema); err != nil {
		body.release()
		return err
	}
	r.Body = body
	return nil
}

func (b *checkedBody) check(v validator, w http.ResponseWriter, r *http.Request, schema *openapi3.Schema) (err error) {
	if b.text, err = v.readBody(w, r, b.text[:0]); err != nil {
		return err
	}
	if b.value, err = b.decode(b.text); err != nil {
		return fail(plantapi.CodeMalformedBody, "body is not one well-formed JSON value: "+err.Error())
	}
	if details := violations(schema, b.value); len(details) > 0 {
		return &failure{
			code:    plantapi.CodeInvalidBody,
			message: describe("body does not match the schema", details),
			details: details,
		}
	}
	return nil
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
