package contract

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
)

// binaryType is the media type of bodies without a charset.
const binaryType = "application/octet-stream"

// content is a body of one media type.
type content struct {
	mediaType string
	schema    schema
	decode    func(c *content, body *body) error
	shape     *shape // of JSON
}

// decoders decode bodies by their media types. Their errors say what a body is not.
var decoders = map[string]func(c *content, body *body) error{
	"application/json": (*content).decodeJSON,
	"text/plain":       (*content).decodeText,
	binaryType:         (*content).decodeBinary,
}

// isJSON reports whether a media type is JSON.
func isJSON(mediaType string) bool {
	return strings.HasSuffix(mediaType, "/json") || strings.HasSuffix(mediaType, "+json")
}

// content returns what a body of a media type must be.
func (l *loader) content(mediaType string, described *openapi3.MediaType) *content {
	family := mediaType
	if isJSON(mediaType) {
		family = "application/json"
	}
	loaded := &content{
		mediaType: mediaType,
		schema:    l.schema(cmp.Or(described.Schema, openapi3.NewSchema().NewRef())), // any body will do
		decode:    decoders[family],
	}
	loaded.shape = shapes{}.of(false, loaded.schema.node)
	l.need(loaded.decode != nil, "media type %q is not implemented, need JSON, text/plain or %s", mediaType, binaryType)
	return loaded
}

// checkBody reads the body, decodes it and holds it to its schema. The handler gets what was read. A wrong media
// type is refused before the body is read if Content-Length says that there is one. Otherwise the body may be missing,
// so it is read first.
func (c *Checker) checkBody(w http.ResponseWriter, request *Request) error {
	r, operation := &request.http, request.Operation
	content, unsupported := operation.contentOf(r.Header)
	if unsupported != nil && r.ContentLength > 0 {
		return unsupported
	}
	text, checked, err := c.options.ReadBody(w, r)
	if checked != nil {
		defer checked()
	}
	r.Body = &request.body
	if len(text) == 0 && err == nil {
		return operation.missingBody()
	}
	if err = cmp.Or(unsupported, err); err != nil { // the media type is wrong even if the body could not be read
		return asRefusal(err, NotRead)
	}
	request.body.text = text
	request.setMediaType(content.mediaType)
	err = content.check(&request.body)
	if request.body.isChanged {
		r.ContentLength = -1 // it is written again
	}
	return err
}

// missingBody returns the refusal of a request without a body, if it needs one.
func (o *Operation) missingBody() error {
	if !o.bodyRequired {
		return nil
	}
	return &Refusal{Kind: MissingBody, Message: "a request body is required"}
}

// setMediaType writes the media type in the header as the document does, for code that compares
// them: APPLICATION/json is the same media type.
func (r *Request) setMediaType(mediaType string) {
	given := r.http.Header["Content-Type"][0]
	if strings.HasPrefix(given, mediaType) {
		return
	}
	_, parameters, isGiven := strings.Cut(given, ";")
	if isGiven {
		mediaType += ";" + parameters
	}
	r.http.Header = r.http.Header.Clone()
	r.http.Header.Set("Content-Type", mediaType)
}

// readBody reads at most [Options.MaxBody] bytes.
func (c *Checker) readBody(w http.ResponseWriter, r *http.Request) (text []byte, checked func(), err error) {
	if r.ContentLength > c.options.MaxBody {
		w.Header().Set("Connection", "close") // so that the rest need not be read
		return nil, nil, BodyTooLarge(c.options.MaxBody)
	}
	text, err = io.ReadAll(http.MaxBytesReader(w, r.Body, c.options.MaxBody))
	if _, isTooLarge := errors.AsType[*http.MaxBytesError](err); isTooLarge {
		return nil, nil, BodyTooLarge(c.options.MaxBody)
	}
	if err != nil {
		return nil, nil, BodyIncomplete()
	}
	return text, nil, nil
}

// check decodes the text of a body and holds it to its schema.
func (c *content) check(body *body) error {
	if err := c.decode(c, body); err != nil {
		return &Refusal{Kind: MalformedBody, Message: "body is not " + err.Error()}
	}
	if faults := c.schema.faults(body.value, inBody, ""); len(faults) > 0 {
		return &Refusal{Kind: InvalidBody, Message: "body does not match the schema", Faults: faults}
	}
	return nil
}

func (c *content) decodeJSON(body *body) error {
	if err := body.decodeJSON(c.shape, c.schema.maxDepth); err != nil {
		return fmt.Errorf("one well-formed JSON value: %w", err)
	}
	return nil
}

func (c *content) decodeText(body *body) error {
	if !utf8.Valid(body.text) {
		return errors.New("valid UTF-8")
	}
	return c.decodeBinary(body)
}

func (c *content) decodeBinary(body *body) error {
	body.value = string(body.text)
	return nil
}

// contentOf returns what the media type of a request says about its body.
func (o *Operation) contentOf(header http.Header) (*content, error) {
	if !strings.EqualFold(cmp.Or(header.Get("Content-Encoding"), "identity"), "identity") {
		return nil, unsupported("Content-Encoding is not supported: send the body as it is")
	}
	contentType := strings.Join(header["Content-Type"], ", ")
	if found := o.contents[contentType]; found != nil {
		return found, nil
	}
	mediaType, parameters, err := mime.ParseMediaType(contentType)
	found := o.contents[mediaType]
	if err != nil || found == nil {
		wanted := slices.Sorted(maps.Keys(o.contents))
		return nil, unsupported(fmt.Sprintf("Content-Type must be %s, got %s: with curl, add -H 'Content-Type: %s'",
			strings.Join(wanted, " or "), shorten(cmp.Or(contentType, "none")), wanted[0]))
	}
	isUTF8 := strings.EqualFold(cmp.Or(parameters["charset"], "utf-8"), "utf-8")
	if !isUTF8 && mediaType != binaryType {
		return nil, unsupported("charset must be utf-8")
	}
	return found, nil
}

func unsupported(message string) *Refusal {
	return &Refusal{Kind: UnsupportedMediaType, Message: message}
}
