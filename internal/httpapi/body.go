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
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// The media types of bodies: JSON, and JSON Merge Patch (RFC 7396).
const (
	jsonType       = "application/json"
	mergePatchType = "application/merge-patch+json"
)

var (
	errMissingBody    = fail(plantapi.CodeMissingBody, "a request body is required")
	errIncompleteBody = fail(plantapi.CodeIncompleteBody, "body was cut short or came too slowly")
)

// checkBody reads the body of a request, decodes it, and validates it against the
// schema. The request then has the checked body, which the generated code binds, or
// decodes with the same rules. The body must be released after the request.
func (v validator) checkBody(w http.ResponseWriter, r *http.Request, op *operation) (*checkedBody, error) {
	if r.ContentLength == 0 {
		return nil, errMissingBody
	}
	schema, err := op.bodySchema(r.Header)
	if err != nil && r.ContentLength > 0 {
		return nil, err // without reading
	}
	body := checkedBodies.Get().(*checkedBody)
	readErr := body.read(v, w, r)
	switch {
	case readErr == nil && len(body.text) == 0:
		return body, errMissingBody
	case err != nil:
		return body, err
	case readErr != nil:
		return body, readErr
	}
	if err := body.check(schema); err != nil {
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
	text    []byte
	value   any              // of text
	limited io.LimitedReader // reads text
}

// Value returns the decoded body to [plantserver.ReadJSON].
func (b *checkedBody) Value() any { return b.value }

// read reads the body of a request. A body that is larger than the limit by its
// Content-Length is refused before it is read.
func (b *checkedBody) read(v validator, w http.ResponseWriter, r *http.Request) error {
	if r.ContentLength > v.MaxBody {
		w.Header().Set("Connection", "close") // so that the rest need not be read
		return v.tooLarge()
	}
	b.limited = io.LimitedReader{R: r.Body, N: v.MaxBody + 1}
	text := bytes.NewBuffer(b.text[:0])
	text.Grow(int(max(r.ContentLength, 0)) + bytes.MinRead) // at once
	n, err := text.ReadFrom(&b.limited)
	b.text, b.limited.R = text.Bytes(), nil
	switch {
	case err != nil:
		return errIncompleteBody
	case n > v.MaxBody:
		return v.tooLarge()
	default:
		return nil
	}
}

func (v validator) tooLarge() *failure {
	return fail(plantapi.CodeBodyTooLarge, fmt.Sprintf("body is larger than the limit of %d bytes", v.MaxBody))
}

// check decodes the body and validates it against a schema.
func (b *checkedBody) check(schema *openapi3.Schema) (err error) {
	if b.value, err = b.decode(b.text); err != nil {
		return fail(plantapi.CodeMalformedBody, "body is not one well-formed JSON value: "+err.Error())
	}
	if details := violations(schema, b.value); len(details) > 0 {
		return invalid(plantapi.CodeInvalidBody, "body does not match the schema", details)
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
		b.value = nil
		checkedBodies.Put(b)
	}
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
	if err != nil || !ok {
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

// violations returns what is wrong with a decoded body, at most maxDetails faults. It does
// not change the value.
func violations(schema *openapi3.Schema, value any) []plantapi.ErrorDetail {
	first := schema.VisitJSON(value, openapi3.VisitAsRequest())
	if first == nil {
		return nil
	}
	faults := []error{first}
	// An array that is too long is the only fault of its body. The errors of 1 MiB with a
	// fault every three bytes would take 100 MiB.
	if e, ok := errors.AsType[*openapi3.SchemaError](first); !ok || e.SchemaField != "maxItems" {
		faults = flatten(schema.VisitJSON(value, openapi3.VisitAsRequest(), openapi3.MultiErrors()))
	}
	var details []plantapi.ErrorDetail
	for _, fault := range faults[:min(len(faults), maxDetails)] {
		details = append(details, detail(fault))
	}
	return details
}

// flatten returns the single errors in the error of a schema.
func flatten(err error) []error {
	if err == nil {
		return nil
	}
	multi, ok := err.(openapi3.MultiError)
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range multi {
		all = append(all, flatten(e)...)
	}
	return all
}

// detail describes one error of a schema. It quotes neither the value, which may be
// large or secret, nor the schema, which is in the document.
func detail(err error) plantapi.ErrorDetail {
	d := plantapi.ErrorDetail{In: plantapi.InBody, Message: "does not match the schema"}
	e, ok := errors.AsType[*openapi3.SchemaError](err)
	if !ok {
		return d
	}
	d.Pointer = pointer(e.JSONPointer())
	switch e.SchemaField {
	case "type":
		d.Message = mustBe(e.Schema, e.Value)
	case "required":
		d.Message = "is required"
	case "nullable":
		d.Message = "must not be null"
	case "maxLength":
		d.Message = fmt.Sprintf("must have at most %d characters", *e.Schema.MaxLength)
	case "pattern":
		d.Message = "does not match the pattern"
	default:
		if e.Reason != "" {
			d.Message = e.Reason
		}
	}
	return d
}

func mustBe(schema *openapi3.Schema, value any) string {
	want := strings.Join(schema.Type.Slice(), " or ")
	_, isInexact := value.(inexact)
	switch {
	case want == "integer" && isInexact:
		return fmt.Sprintf("must be an integer of %s bits, without fraction or exponent", bits(schema))
	case strings.ContainsAny(want[:1], "aio"):
		return "must be an " + want
	}
	return "must be a " + want
}

func bits(schema *openapi3.Schema) string {
	return strings.TrimPrefix(schema.Format, "int")
}

// pointer writes a path as a JSON Pointer (RFC 6901).
func pointer(path []string) (text string) {
	for _, step := range path {
		text += "/" + pointerEscaper.Replace(step)
	}
	return text
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// maxDepth is how deep arrays and objects may be nested.
const maxDepth = 64

// decoder decodes one JSON text after the other, with the same buffers.
type decoder struct {
	input  bytes.Buffer
	tokens jsontext.Decoder
}

// decode decodes exactly one JSON value (RFC 8259) and refuses what parsers
// disagree about: duplicate names, invalid UTF-8, lone surrogates, trailing
// bytes. Objects become map[string]any, arrays []any. A number is an int64 if
// it is written as an integer that fits, else [inexact].
func (d *decoder) decode(text []byte) (any, error) {
	d.input = *bytes.NewBuffer(text)
	d.tokens.Reset(&d.input)
	value, err := d.value()
	if err != nil {
		return nil, explainJSON(err, text)
	}
	if _, err := d.tokens.ReadToken(); err != io.EOF {
		return nil, fmt.Errorf("something follows the value, at byte %d", d.tokens.InputOffset())
	}
	return value, nil
}

func (d *decoder) value() (any, error) {
	token, err := d.tokens.ReadToken()
	if err != nil {
		return nil, err
	}
	if d.tokens.StackDepth() > maxDepth {
		return nil, fmt.Errorf("it is nested deeper than %d", maxDepth)
	}
	switch token.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return token.Bool(), nil
	case '"':
		return token.String(), nil
	case '0':
		return number(token), nil
	case '[':
		return d.array()
	default: // '{': the decoder refuses a closing bracket in place of a value
		return d.object()
	}
}

func (d *decoder) array() (any, error) {
	array := []any{}
	for d.tokens.PeekKind() != ']' {
		value, err := d.value()
		if err != nil {
			return nil, err
		}
		array = append(array, value)
	}
	_, err := d.tokens.ReadToken()
	return array, err
}

func (d *decoder) object() (any, error) {
	object := map[string]any{}
	for d.tokens.PeekKind() != '}' {
		token, err := d.tokens.ReadToken()
		if err != nil {
			return nil, err
		}
		name := token.String() // the token is void after the next read
		if object[name], err = d.value(); err != nil {
			return nil, err
		}
	}
	_, err := d.tokens.ReadToken()
	return object, err
}

// inexact is a number that is not written as an integer of 64 bits, such as 1.0, 1e2 or
// 2^63. No schema accepts it. kin-openapi compares numbers as float64, and would accept
// these as integers. The document has no numbers that are not integers.
type inexact struct{}

func number(token jsontext.Token) any {
	if n, err := strconv.ParseInt(token.String(), 10, 64); err == nil {
		return n
	}
	return inexact{}
}

var (
	surrogate = regexp.MustCompile(`^\\u[dD][89a-fA-F][[:xdigit:]]{2}`)
	escape    = regexp.MustCompile(`^\\(["\\/bfnrt]|$)`) // right within a string
)

// explainJSON describes the error in our own words, which do not change with the
// version of the decoder and do not quote the body.
func explainJSON(err error, body []byte) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends too early")
	}
	syntactic, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		return err // of value
	}
	reason, at := "syntax error", syntactic.ByteOffset
	rest := body[min(at, int64(len(body))):]
	r, size := utf8.DecodeRune(rest)
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		reason = "a member name occurs twice in one object"
	case surrogate.Match(rest), r == utf8.RuneError && size == 1:
		reason = "a string is not valid Unicode" // a surrogate, or a byte that is not UTF-8
	case escape.Match(rest):
		reason = "a backslash is not in a string: remove it"
	case bytes.HasPrefix(rest, []byte(`\`)):
		reason = `a string has an unknown escape: write a backslash as \\`
	}
	return fmt.Errorf("%s, at byte %d", reason, at)
}
