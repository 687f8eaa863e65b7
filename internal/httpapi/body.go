package httpapi

import (
	"bytes"
	"cmp"
	"context"
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
	"time"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/limit"
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

// checkBody reads the body of a request, decodes it, and validates it against the schema. The
// generated code then binds the decoded body. The recorder releases the body.
func (v validator) checkBody(w http.ResponseWriter, r *http.Request, op *operation) error {
	schema, err := op.bodySchema(r.Header)
	if err != nil && r.ContentLength > 0 {
		return err // without reading
	}
	rec, body := recorderOf(w), checkedBodies.Get().(*checkedBody)
	rec.body = body
	readErr := body.read(v, w, r)
	r.Body = body
	switch {
	case readErr == nil && body.text.Len() == 0:
		return errMissingBody
	case err != nil:
		return err
	case readErr != nil:
		return readErr
	}
	return body.check(rec.ctx, v.memory, schema)
}

// checkedBody is the body of a request, which is decoded and checked.
type checkedBody struct {
	io.ReadCloser // without content: the generated code uses Value
	decoder
	from  io.LimitedReader // the body as it comes
	text  bytes.Buffer
	value any           // of text
	held  limit.Holding // of a large body
}

// Value returns the decoded body to [plantserver.ReadJSON], once: what it is bound to has all
// that the service needs.
func (b *checkedBody) Value() any {
	value := b.value
	b.value = nil
	return value
}

// read reads the body of a request. A body that is larger than the limit by its
// Content-Length is refused before it is read. When a body turns out to be large, all the
// memory that it can need is reserved at once.
func (b *checkedBody) read(v validator, w http.ResponseWriter, r *http.Request) error {
	largest := v.MaxBody
	if r.ContentLength > largest {
		w.Header().Set("Connection", "close") // so that the rest need not be read
		return v.tooLarge()
	}
	if r.ContentLength > 0 {
		largest = r.ContentLength
	}
	b.from = io.LimitedReader{R: r.Body, N: small + 1}
	_, err := b.text.ReadFrom(&b.from)
	if b.text.Len() > small {
		b.held = limit.Holding{Key: recorderOf(w).token, Bytes: bodySize(int(largest)), Client: w}
		b.from.N = v.MaxBody - small // one more, to see the end
		if !b.reserve(v.bodies) {
			_, _ = io.Copy(io.Discard, &b.from) // or the client may be disconnected before it reads the 503
			return fmt.Errorf("%w: large bodies take all their memory", limit.ErrFull)
		}
		b.text.Grow(int(largest) + bytes.MinRead) // or ReadFrom grows it to twice as much
		_, err = b.text.ReadFrom(&b.from)
		if !b.held.Keep() {
			return fmt.Errorf("%w: the client sent its body slowly, and others needed the memory", limit.ErrFull)
		}
	}
	switch {
	case int64(b.text.Len()) > v.MaxBody:
		return v.tooLarge()
	case err != nil:
		return errIncompleteBody
	}
	return nil
}

// reserve reserves the memory of a large body. It cuts off no client for it within a moment: of
// many bodies that come at the same time the first ones are not slow.
func (b *checkedBody) reserve(bodies *limit.Account) bool {
	for end := time.Now().Add(moment); time.Now().Before(end); time.Sleep(moment / 100) {
		if bodies.Hold(&b.held, false) {
			return true
		}
	}
	return bodies.Hold(&b.held, true)
}

func (v validator) tooLarge() *failure {
	return fail(plantapi.CodeBodyTooLarge, fmt.Sprintf("body is larger than the limit of %d bytes", v.MaxBody))
}

// check decodes the body and validates it against a schema. A large one waits until few others
// are decoded.
func (b *checkedBody) check(ctx context.Context, m memory, schema *openapi3.Schema) error {
	if b.text.Len() > small {
		if err := m.decoding.Acquire(ctx, 1); err != nil {
			return err
		}
		defer m.decoding.Release(1)
	}
	value, err := b.decode(b.text.Bytes(), schema)
	if err != nil {
		return fail(plantapi.CodeMalformedBody, "body is not one well-formed JSON value: "+err.Error())
	}
	if details := violations(schema, value); len(details) > 0 {
		return invalid(plantapi.CodeInvalidBody, "body does not match the schema", details)
	}
	b.value = value
	return nil
}

// checkedBodies are used again. New ones would cost 10 % of the CPU of the handler for each
// create.
var checkedBodies = sync.Pool{New: func() any { return &checkedBody{ReadCloser: http.NoBody} }}

// release returns the body to the pool. It must not be used after that.
func (b *checkedBody) release() {
	if b == nil {
		return
	}
	b.value, b.from = nil, io.LimitedReader{}
	b.text.Reset()
	if b.text.Cap() > 2*small {
		b.text, b.decoder = bytes.Buffer{}, decoder{} // which has the text, too
	}
	b.held.Release()
	checkedBodies.Put(b)
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
//
// It builds what the schema can need, because JSON of a megabyte can become forty: members
// with a name that the schema does not have are skipped, of an array there is at most one item
// more than it may have, and an object or array in place of something else is empty.
func (d *decoder) decode(text []byte, schema *openapi3.Schema) (any, error) {
	d.input = *bytes.NewBuffer(text)
	d.tokens.Reset(&d.input)
	value, err := d.value(schema)
	if err != nil {
		return nil, explainJSON(err, text)
	}
	if _, err := d.tokens.ReadToken(); err != io.EOF {
		return nil, fmt.Errorf("something follows the value, at byte %d", d.tokens.InputOffset())
	}
	return value, nil
}

// read reads the next token.
func (d *decoder) read() (jsontext.Token, error) {
	token, err := d.tokens.ReadToken()
	if err == nil && d.tokens.StackDepth() > maxDepth {
		err = fmt.Errorf("it is nested deeper than %d", maxDepth)
	}
	return token, err
}

func (d *decoder) value(schema *openapi3.Schema) (any, error) {
	token, err := d.read()
	if err != nil {
		return nil, err
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
		return d.array(schema)
	default: // '{': the decoder refuses a closing bracket in place of a value
		return d.object(schema)
	}
}

func (d *decoder) array(schema *openapi3.Schema) (any, error) {
	array := []any{}
	if !schema.Type.Is("array") {
		return array, d.skipRest()
	}
	for d.tokens.PeekKind() != ']' {
		if max := schema.MaxItems; max != nil && uint64(len(array)) > *max {
			return array, d.skipRest()
		}
		value, err := d.value(schema.Items.Value)
		if err != nil {
			return nil, err
		}
		array = append(array, value)
	}
	_, err := d.read()
	return array, err
}

func (d *decoder) object(schema *openapi3.Schema) (any, error) {
	object := map[string]any{}
	if !schema.Type.Is("object") {
		return object, d.skipRest()
	}
	for d.tokens.PeekKind() != '}' {
		token, err := d.read()
		if err != nil {
			return nil, err
		}
		name := token.String() // the token is void after the next read
		if member := schema.Properties[name]; member == nil {
			err = d.skip()
		} else {
			object[name], err = d.value(member.Value)
		}
		if err != nil {
			return nil, err
		}
	}
	_, err := d.read()
	return object, err
}

// skip checks a value and builds nothing.
func (d *decoder) skip() error {
	token, err := d.read()
	if kind := token.Kind(); err == nil && (kind == '{' || kind == '[') {
		err = d.skipRest()
	}
	return err
}

// skipRest skips what is left of an object or an array.
func (d *decoder) skipRest() error {
	for depth := d.tokens.StackDepth(); d.tokens.StackDepth() >= depth; {
		if _, err := d.read(); err != nil {
			return err
		}
	}
	return nil
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
