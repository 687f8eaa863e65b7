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

// Media types that are not JSON and are read.
const (
	binaryType    = "application/octet-stream"
	formType      = "application/x-www-form-urlencoded"
	multipartType = "multipart/form-data"
)

// content is a body of one media type, or of a range of them.
type content struct {
	mediaType  string
	parameters map[string]string // of the media type in the document
	schema     schema
	fields     map[string]*parameter
	contents   map[string]string // media types of the fields of a form
	maxBytes   int64
	isChecked  bool // or else the handler gets it as it is
}

// decoder sets the value of a body. Its error says what the body is not.
type bodyDecoder func(c *content, body *body) error

// decoderOf returns the decoder of a media type, or nil.
func (c *content) decoderOf(mediaType string) bodyDecoder {
	isText := strings.HasPrefix(mediaType, "text/")
	isBytes := c.schema.types == typeString || c.schema.types == 0 && !c.schema.isCombined()
	switch {
	case isJSON(mediaType):
		return (*content).decodeJSON
	case mediaType == formType || mediaType == multipartType:
		return (*content).decodeForm
	case isText && !isXML(mediaType) && !scalars(c.schema.node).has(typeObject|typeArray):
		return (*content).decodeText
	case mediaType == binaryType || isBytes:
		return (*content).decodeBinary
	}
	return nil
}

// isJSON reports whether a media type, or each of a range, may be JSON.
func isJSON(mediaType string) bool {
	return strings.HasSuffix(mediaType, "/json") || strings.HasSuffix(mediaType, "+json")
}

func isXML(mediaType string) bool {
	return strings.HasSuffix(mediaType, "/xml") || strings.HasSuffix(mediaType, "+xml")
}

// setContents sets what the body of an operation may be. What cannot be checked is left out beside what can.
func (l *loader) setContents(operation *Operation, described *openapi3.RequestBody, options *Options) {
	operation.bodyRequired = described.Required
	var unchecked []string
	for _, key := range slices.Sorted(maps.Keys(described.Content)) {
		loaded := l.content(key, described.Content[key], options)
		isRange := strings.Contains(loaded.mediaType, "*")
		isNamed := slices.Contains(options.Unchecked, loaded.mediaType)
		loaded.isChecked = isRange || loaded.decoderOf(loaded.mediaType) != nil
		if !loaded.isChecked && !isNamed {
			unchecked = append(unchecked, loaded.mediaType)
			continue
		}
		operation.contents = append(operation.contents, loaded)
	}
	slices.SortStableFunc(operation.contents, func(a, b *content) int {
		return cmp.Or(cmp.Compare(strings.Count(a.mediaType, "*"), strings.Count(b.mediaType, "*")),
			cmp.Compare(len(b.mediaType), len(a.mediaType)), cmp.Compare(len(b.parameters), len(a.parameters)))
	})
	names := strings.Join(unchecked, ", ")
	isAlone := len(operation.contents) == 0
	l.need(len(unchecked) == 0 || !isAlone, "media type %q cannot be checked: name it in Options.Unchecked", names)
	if len(unchecked) > 0 && !isAlone {
		l.note("media type %s is refused: it cannot be checked", names)
	}
}

// content returns what a body of a media type must be.
func (l *loader) content(key string, described *openapi3.MediaType, options *Options) *content {
	mediaType, parameters, err := mime.ParseMediaType(key)
	l.need(err == nil, "media type %q is not valid: %v", key, err)
	described = cmp.Or(described, &openapi3.MediaType{})
	loaded := &content{
		mediaType:  mediaType,
		parameters: parameters,
		schema:     l.schema(described.Schema),
		maxBytes:   cmp.Or(options.MaxBodies[mediaType], options.MaxBody),
	}
	delete(loaded.parameters, "charset") // it is checked for all of them
	isForm := mediaType == formType || mediaType == multipartType
	if isForm {
		l.setFields(loaded, described.Encoding)
	}
	return loaded
}

// checkBody reads the body, decodes it and holds it to its schema. The handler gets what was read. A wrong media
// type is refused before the body is read if Content-Length says that there is one. Otherwise the body may be missing,
// so it is read first.
func (c *Checker) checkBody(w http.ResponseWriter, request *Request) error {
	r, operation := &request.http, request.Operation
	content, mediaType, unsupported := operation.contentOf(r.Header)
	if unsupported != nil && r.ContentLength > 0 {
		return unsupported
	}
	isStream := unsupported == nil && r.ContentLength != 0 && (mediaType == multipartType || !content.isChecked)
	if isStream {
		return c.checkStream(w, request, content)
	}
	text, checked, err := c.read(w, r, content)
	if checked != nil {
		defer checked()
	}
	r.Body = http.NoBody // or generated code would bind a value that was not sent
	if len(text) == 0 && err == nil {
		return operation.missingBody()
	}
	r.Body = &request.body
	if err = cmp.Or(unsupported, err); err != nil { // the media type is wrong even if the body could not be read
		return asRefusal(err, NotRead)
	}
	request.body.text = text
	request.setMediaType(mediaType)
	err = content.check(&request.body, content.decoderOf(mediaType))
	if request.body.isChanged {
		r.ContentLength = -1 // it is written again
	}
	return err
}

// checkStream checks a body while the handler reads it, or leaves it as it is.
func (c *Checker) checkStream(w http.ResponseWriter, request *Request, content *content) error {
	r := &request.http
	if r.ContentLength > content.maxBytes {
		w.Header().Set("Connection", "close") // so that the rest need not be read
		return BodyTooLarge(content.maxBytes)
	}
	limited := http.MaxBytesReader(w, r.Body, content.maxBytes)
	if !content.isChecked {
		r.Body = limited
		return nil
	}
	stream, err := c.newFormStream(request, content, limited)
	r.Body = stream
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

// read reads a body. One that is refused for its media type may be as large as any.
func (c *Checker) read(w http.ResponseWriter, r *http.Request, content *content) (text []byte, checked func(), err error) {
	if c.options.ReadBody != nil {
		return c.options.ReadBody(w, r)
	}
	limit := c.options.MaxBody
	if content != nil {
		limit = content.maxBytes
	}
	return readBody(w, r, limit)
}

// readBody reads at most so many bytes.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) (text []byte, checked func(), err error) {
	if r.ContentLength > limit {
		w.Header().Set("Connection", "close") // so that the rest need not be read
		return nil, nil, BodyTooLarge(limit)
	}
	text, err = io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		return nil, nil, readRefusal(err)
	}
	return text, nil, nil
}

// readRefusal returns the refusal of a body that cannot be read to its end.
func readRefusal(err error) *Refusal {
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return BodyTooLarge(tooLarge.Limit)
	}
	return BodyIncomplete()
}

// errInvalid means that the faults of a body are noted already.
var errInvalid = errors.New("a field is not valid")

// check decodes the text of a body and holds it to its schema.
func (c *content) check(body *body, decode bodyDecoder) error {
	err := decode(c, body)
	if err != nil && err != errInvalid {
		return &Refusal{Kind: MalformedBody, Message: "body is not " + err.Error()}
	}
	faults := body.faults
	if len(faults) == 0 {
		faults = c.schema.faults(body.value, inBody, "")
	}
	if len(faults) > 0 {
		return invalidBody(faults)
	}
	return nil
}

func invalidBody(faults []Fault) *Refusal {
	return &Refusal{Kind: InvalidBody, Message: "body does not match the schema", Faults: faults}
}

func (c *content) decodeJSON(body *body) error {
	if err := body.decodeJSON(c.schema.wanted(), c.schema.maxDepth); err != nil {
		return fmt.Errorf("one well-formed JSON value: %w", err)
	}
	return nil
}

// decodeText reads a text, or a number as one in a parameter.
func (c *content) decodeText(body *body) error {
	if !utf8.Valid(body.text) {
		return errors.New("valid UTF-8")
	}
	value, wrong := readAs(c.schema.node, string(body.text))
	if wrong != "" {
		body.faults = []Fault{{In: inBody, Message: wrong}}
		return errInvalid
	}
	body.value = value
	return nil
}

func (c *content) decodeBinary(body *body) error {
	body.value = string(body.text)
	return nil
}

// contentOf returns what the media type of a request says about its body, and that type.
func (o *Operation) contentOf(header http.Header) (found *content, mediaType string, err error) {
	if !strings.EqualFold(cmp.Or(header.Get("Content-Encoding"), "identity"), "identity") {
		return nil, "", unsupported("Content-Encoding is not supported: send the body as it is")
	}
	contentType := strings.Join(header["Content-Type"], ", ")
	for _, each := range o.contents {
		if each.mediaType == contentType && len(each.parameters) == 0 { // most are
			return each, contentType, nil
		}
	}
	mediaType, parameters, err := mime.ParseMediaType(contentType)
	if err == nil {
		found = o.match(mediaType, parameters)
	}
	if found == nil {
		return nil, "", o.wrongMediaType(contentType)
	}
	isUTF8 := strings.EqualFold(cmp.Or(parameters["charset"], "utf-8"), "utf-8")
	if !isUTF8 && mediaType != binaryType {
		return nil, "", unsupported("charset must be utf-8")
	}
	return found, mediaType, nil
}

// match returns the most exact content of a media type: one with its parameters, one without, or a range.
func (o *Operation) match(mediaType string, parameters map[string]string) (found *content) {
	for _, each := range o.contents {
		isReadable := each.mediaType == mediaType || each.decoderOf(mediaType) != nil
		if !isReadable || !isInRange(mediaType, each.mediaType) {
			continue
		}
		if hasAll(parameters, each.parameters) {
			return each
		}
		found = cmp.Or(found, each)
	}
	return found
}

// isInRange reports whether a media type is one of a range, such as application/*+json.
func isInRange(mediaType, wanted string) bool {
	begin, end, isRange := strings.Cut(wanted, "*")
	if !isRange || wanted == "*/*" {
		return isRange || mediaType == wanted
	}
	return strings.HasPrefix(mediaType, begin) && strings.HasSuffix(mediaType, end)
}

func hasAll(given, wanted map[string]string) bool {
	for name, value := range wanted {
		if given[name] != value {
			return false
		}
	}
	return true
}

func (o *Operation) wrongMediaType(contentType string) *Refusal {
	var wanted []string
	for _, each := range o.contents {
		wanted = append(wanted, each.mediaType)
	}
	slices.Sort(wanted)
	return unsupported(fmt.Sprintf("Content-Type must be %s, got %s: with curl, add -H 'Content-Type: %s'",
		strings.Join(wanted, " or "), shorten(cmp.Or(contentType, "none")), wanted[0]))
}

func unsupported(message string) *Refusal {
	return &Refusal{Kind: UnsupportedMediaType, Message: message}
}
