package contract

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"
)

// bodyDecoder sets the value of a body, or the faults that it finds in it. Its error says what the body is not.
type bodyDecoder func(c *content, body *body) error

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

// check decodes the text of a body and holds it to its schema.
func (c *content) check(body *body, decode bodyDecoder) error {
	err := decode(c, body)
	if err != nil {
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
	}
	body.value = value
	return nil
}

func (c *content) decodeBinary(body *body) error {
	body.value = string(body.text)
	return nil
}
