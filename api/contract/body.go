package contract

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
)

// The media types of bodies that are not JSON.
const (
	textType   = "text/plain"
	binaryType = "application/octet-stream"
	formType   = "application/x-www-form-urlencoded"
)

// content is a body of one media type.
type content struct {
	mediaType string
	schema    *openapi3.Schema // nil if any body will do
	shape     *shape           // of JSON
	fields    []parameter      // of a form
}

func loadContent(mediaType string, described *openapi3.MediaType) (*content, error) {
	loaded := &content{mediaType: mediaType}
	if described.Schema != nil {
		loaded.schema = described.Schema.Value
	}
	switch {
	case isJSON(mediaType):
		loaded.shape = shapes{}.of(loaded.schema)
	case mediaType == formType && loaded.schema != nil:
		for _, name := range slices.Sorted(maps.Keys(loaded.schema.Properties)) {
			field := parameter{name: name, in: inBody, explode: true}
			if err := field.loadSchema(loaded.schema.Properties[name].Value); err != nil {
				return nil, fmt.Errorf("field %s of a form: %w", name, err)
			}
			loaded.fields = append(loaded.fields, field)
		}
	case mediaType != textType && mediaType != binaryType:
		return nil, fmt.Errorf("media type %q is not implemented, need JSON, %s, %s or %s with a schema",
			mediaType, textType, binaryType, formType)
	}
	return loaded, nil
}

func isJSON(mediaType string) bool {
	return mediaType == "application/json" || strings.HasSuffix(mediaType, "+json")
}

// checkBody reads the body, decodes it and holds it to its schema. The handler gets what was read.
func (c *Checker) checkBody(w http.ResponseWriter, request *Request) error {
	r := request.http
	content, unsupported := request.Operation.contentOf(r.Header)
	if unsupported != nil && r.ContentLength > 0 {
		return unsupported // without reading
	}
	text, checked, err := c.options.ReadBody(w, r)
	if checked != nil {
		defer checked()
	}
	r.Body = &request.body
	isMissing := err == nil && len(text) == 0
	switch {
	case isMissing && request.Operation.bodyRequired:
		return &Refusal{Kind: MissingBody, Message: "a request body is required"}
	case isMissing:
		return nil
	case unsupported != nil:
		return unsupported // that is wrong however the body ends
	case err != nil:
		return asRefusal(err, NotRead)
	}
	request.body.text = text
	request.setMediaType(content.mediaType)
	err = c.decode(content, &request.body)
	if request.body.ambiguous {
		r.ContentLength = -1 // it is written again, and shorter
	}
	return err
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

// decode decodes the text of a body and holds it to its schema.
func (c *Checker) decode(content *content, body *body) (err error) {
	var faults []Fault
	switch {
	case content.shape != nil:
		body.value, body.ambiguous, err = decodeJSON(body.text, content.shape, c.options.MaxDepth)
		if err != nil {
			return &Refusal{Kind: MalformedBody, Message: "body is not one well-formed JSON value: " + err.Error()}
		}
	case content.mediaType == formType:
		body.value, faults, err = content.decodeForm(string(body.text))
		if err != nil {
			return &Refusal{Kind: MalformedBody, Message: "body is not a well-formed form: escape %, & and ; as RFC 3986 says"}
		}
	case content.mediaType == textType && !utf8.Valid(body.text):
		return &Refusal{Kind: MalformedBody, Message: "body is not valid UTF-8"}
	default:
		body.value = string(body.text)
	}
	if len(faults) == 0 && content.schema != nil {
		faults = faultsOf(content.schema, body.value, inBody, "", c.options.MaxFaults)
	}
	if len(faults) > 0 {
		return &Refusal{Kind: InvalidBody, Message: "body does not match the schema", Faults: faults}
	}
	return nil
}

// decodeForm reads the fields of a form. Those that the schema does not have are texts.
func (c *content) decodeForm(text string) (value map[string]any, faults []Fault, err error) {
	given, err := url.ParseQuery(text)
	if err != nil {
		return nil, nil, err
	}
	value = map[string]any{}
	for name, texts := range given {
		value[name] = texts[0]
	}
	for i := range c.fields {
		field := &c.fields[i]
		if texts := given[field.name]; len(texts) > 0 {
			var found []Fault
			value[field.name], found = field.check(texts)
			faults = append(faults, found...)
		}
	}
	return value, faults, nil
}

// contentOf returns what the media type of a request says about its body.
func (o *Operation) contentOf(header http.Header) (*content, error) {
	if encoding := header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
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
	charset, isGiven := parameters["charset"]
	if isGiven && mediaType != binaryType && !strings.EqualFold(charset, "utf-8") {
		return nil, unsupported("charset must be utf-8")
	}
	return found, nil
}

func unsupported(message string) *Refusal {
	return &Refusal{Kind: UnsupportedMediaType, Message: message}
}
