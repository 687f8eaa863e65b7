package contract

import (
	"bytes"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// formStream is a multipart form that is checked while the handler reads it. Its files are not kept. What comes before the
// first of them is checked before the handler is called.
type formStream struct {
	checker *Checker
	request *Request
	content *content

	source  io.ReadCloser
	failure error        // of the source
	pending bytes.Buffer // what was read, and is not with the handler yet
	latest  int          // bytes of it that may not be parsed yet

	parts    *multipart.Reader
	file     *multipart.Part // the one that is read at present
	buffer   []byte          // for it
	files    map[string]any  // by name; their texts are not kept
	texts    url.Values
	textSize int64
	isParsed bool  // to the end
	refused  error // what every read returns from then on
}

// newFormStream reads a form up to its first file.
func (c *Checker) newFormStream(request *Request, content *content, source io.ReadCloser) (*formStream, error) {
	_, parameters, _ := mime.ParseMediaType(request.http.Header.Get("Content-Type")) // it was parsed before
	stream := &formStream{
		checker: c, request: request, content: content, source: source,
		buffer: make([]byte, 4<<10), files: map[string]any{}, texts: url.Values{},
	}
	stream.parts = multipart.NewReader(formSource{stream}, parameters["boundary"])
	for stream.file == nil && !stream.isParsed {
		if err := stream.parse(); err != nil {
			return stream, err
		}
	}
	_, faults := content.readFields(stream.texts, "")
	if len(faults) > 0 {
		return stream, invalidBody(faults)
	}
	return stream, nil
}

// formSource is what the parser reads. The handler gets the same.
type formSource struct{ *formStream }

// Read implements [io.Reader].
func (s formSource) Read(p []byte) (int, error) {
	count, err := s.source.Read(p)
	s.pending.Write(p[:count])
	s.latest = count
	if err != io.EOF {
		s.failure = err
	}
	return count, err
}

// parse reads the next field, or the next piece of a file, of which nothing is kept.
func (s *formStream) parse() error {
	if s.file != nil {
		_, err := s.file.Read(s.buffer)
		if err == io.EOF {
			s.file = nil
			return nil
		}
		return s.malformed(err, "a well-formed form")
	}
	part, err := s.parts.NextRawPart()
	if err == io.EOF {
		s.isParsed = true
		return s.checkWhole()
	}
	if err != nil {
		return s.malformed(err, "a well-formed form")
	}
	return s.readPart(part)
}

// malformed returns the refusal of a form that cannot be parsed, or read; or nil if there is no error.
func (s *formStream) malformed(err error, what string) error {
	switch {
	case s.failure != nil:
		return readRefusal(s.failure)
	case err != nil:
		return &Refusal{Kind: MalformedBody, Message: "body is not " + what}
	}
	return nil
}

// readPart reads a field, or begins with a file.
func (s *formStream) readPart(part *multipart.Part) error {
	name := part.FormName()
	if name == "" {
		return s.malformed(errNoForm, "multipart/form-data: a part has no name")
	}
	if wrong := s.wrongType(name, part.Header.Get("Content-Type")); wrong != "" {
		return invalidBody([]Fault{faultAt(inBody, name, wrong)})
	}
	field := s.content.fields[name]
	if part.FileName() != "" || field != nil && isFile(field.schema.node) {
		s.file, s.files[name] = part, ""
		return nil
	}
	limit := s.checker.options.MaxBody
	text, err := io.ReadAll(io.LimitReader(part, limit-s.textSize+1))
	if err != nil || !utf8.Valid(text) {
		return s.malformed(errNoForm, "a well-formed form of UTF-8")
	}
	if s.textSize += int64(len(text)); s.textSize > limit {
		return BodyTooLarge(limit)
	}
	s.texts.Add(name, string(text))
	return nil
}

// isFile reports whether a member is a file: a binary text, or a list of these.
func isFile(schema *node) bool {
	return schema.isBinary || schema.items != nil && schema.items.isBinary
}

// wrongType says what is wrong with the media type of a part.
func (s *formStream) wrongType(name, given string) string {
	wanted := s.content.contents[name]
	if wanted == "" || given == "" {
		return ""
	}
	mediaType, _, _ := mime.ParseMediaType(given)
	isWanted := func(each string) bool { return isInRange(mediaType, strings.TrimSpace(each)) }
	if slices.ContainsFunc(strings.Split(wanted, ","), isWanted) {
		return ""
	}
	return "must have the Content-Type " + wanted
}

// checkWhole holds the whole form to its schema. Files were not kept, so nothing is asked of them.
func (s *formStream) checkWhole() error {
	members, faults := s.content.readFields(s.texts, "")
	maps.Copy(members, s.files)
	if len(faults) == 0 {
		faults = s.content.withoutFiles().faults(members, inBody, "")
	}
	if len(faults) > 0 {
		return invalidBody(faults)
	}
	s.request.body.value = members
	return nil
}

// withoutFiles returns the schema of a form whose files may be anything.
func (c *content) withoutFiles() schema {
	whole := *c.schema.node
	whole.members = maps.Clone(whole.members)
	for name, member := range whole.members {
		if isFile(member) {
			whole.members[name] = &node{}
		}
	}
	checked := c.schema
	checked.node = &whole
	return checked
}

// Read implements [io.Reader]. Its error is a [Refusal] if the form is not what the document asks for. It hands on what was parsed,
// so that the end of a form that is refused does not come to the handler.
func (s *formStream) Read(p []byte) (int, error) {
	for s.refused == nil && !s.isParsed && s.pending.Len() <= s.latest {
		if err := s.parse(); err != nil {
			s.refused = s.checker.refusalOf(s.request.Operation, err)
		}
	}
	if s.refused != nil {
		return 0, s.refused
	}
	if s.isParsed {
		s.latest = 0
	}
	if ready := s.pending.Len() - s.latest; ready > 0 {
		return copy(p, s.pending.Next(min(ready, len(p)))), nil
	}
	count, err := s.source.Read(p) // what follows the form
	if err != nil && err != io.EOF {
		return count, s.checker.refusalOf(s.request.Operation, readRefusal(err))
	}
	return count, err
}

// Close implements [io.Closer].
func (s *formStream) Close() error { return s.source.Close() }
