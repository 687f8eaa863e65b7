package contract

import (
	"cmp"
	"errors"
	"io"
	"iter"
	"maps"
	"mime"
	"mime/multipart"
	"strconv"
	"strings"
	"unicode/utf8"
)

var errNoForm = errors.New("a well-formed form")

// formStream is a multipart form that is checked while the handler reads it. Its files are not kept. What comes before the
// first of them is checked before the handler is called.
type formStream struct {
	checker *Checker
	request *Request
	form    form

	source  io.ReadCloser
	pending []byte // was read, and is not with the handler yet
	atEnd   error  // that of the source, after what is pending
	refused *Refusal

	// The parser runs while something is fed to it, and waits for more.
	input   []byte
	isEnd   bool
	next    func() (struct{}, bool)
	stop    func()
	yield   func(struct{}) bool
	hasFile bool // the parser has come to the first file
	maxText int64
}

// newFormStream reads a form up to its first file.
func (c *Checker) newFormStream(request *Request, content *content, source io.ReadCloser) (*formStream, error) {
	stream := &formStream{
		checker: c,
		request: request,
		form:    form{content: content, members: map[string]any{}},
		source:  source,
		maxText: c.options.MaxBody,
	}
	_, parameters, _ := mime.ParseMediaType(request.http.Header.Get("Content-Type")) // it was parsed before
	stream.next, stream.stop = iter.Pull(func(yield func(struct{}) bool) {
		stream.yield = yield
		stream.parse(parameters["boundary"])
	})
	for !stream.hasFile && stream.refused == nil && stream.atEnd == nil {
		buffer := make([]byte, 4<<10)
		count, err := source.Read(buffer)
		stream.pending = append(stream.pending, buffer[:count]...)
		stream.feed(buffer[:count], err)
	}
	if stream.refused != nil {
		return stream, stream.refused
	}
	return stream, nil
}

// feed gives the parser what was read.
func (s *formStream) feed(text []byte, err error) {
	s.input, s.isEnd, s.atEnd = text, err == io.EOF, err
	if err != nil && err != io.EOF {
		s.refuse(readRefusal(err))
		return
	}
	s.next()
}

// source of the parser: it waits until something is fed.
type fedReader struct{ *formStream }

// Read implements [io.Reader].
func (r fedReader) Read(p []byte) (int, error) {
	for len(r.input) == 0 {
		if r.isEnd {
			return 0, io.EOF
		}
		if !r.yield(struct{}{}) {
			return 0, io.ErrUnexpectedEOF
		}
	}
	count := copy(p, r.input)
	r.input = r.input[count:]
	return count, nil
}

// parse reads the parts of the form, and holds them to the schema.
func (s *formStream) parse(boundary string) {
	reader := multipart.NewReader(fedReader{s}, boundary)
	for {
		part, err := reader.NextRawPart()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = s.readPart(part)
		}
		if err != nil {
			s.refuse(asRefusal(err, MalformedBody))
			return
		}
	}
	s.finish()
}

// readPart reads a field, or reads a file and keeps nothing of it.
func (s *formStream) readPart(part *multipart.Part) error {
	name := part.FormName()
	if name == "" {
		return s.malformed("multipart/form-data: a part has no name")
	}
	field := s.form.content.fields[name]
	isFile := part.FileName() != "" || field != nil && isFile(field.schema.node)
	if wrong := s.wrongType(name, part.Header.Get("Content-Type")); wrong != "" {
		return invalidBody([]Fault{faultAt(inBody, name, wrong)})
	}
	if isFile {
		s.hasFile = true
		s.form.members[name] = ""
		if _, err := io.Copy(io.Discard, part); err != nil {
			return s.malformed("a well-formed form")
		}
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(part, s.maxText+1))
	if err != nil || !utf8.Valid(text) {
		return s.malformed("a well-formed form of UTF-8")
	}
	if s.maxText -= int64(len(text)); s.maxText < 0 {
		return BodyTooLarge(s.checker.options.MaxBody)
	}
	return s.addField(field, name, string(text))
}

// isFile reports whether a member is a file: a binary text, or a list of these.
func isFile(schema *node) bool {
	return schema.isBinary || schema.items != nil && schema.items.isBinary
}

// wrongType says what is wrong with the media type of a part.
func (s *formStream) wrongType(name, given string) string {
	wanted := s.form.content.contents[name]
	if wanted == "" || given == "" {
		return ""
	}
	mediaType, _, _ := mime.ParseMediaType(given)
	for each := range strings.SplitSeq(wanted, ",") {
		if isInRange(mediaType, strings.TrimSpace(each)) {
			return ""
		}
	}
	return "must have the Content-Type " + wanted
}

// addField adds a field, and holds it to its schema at once.
func (s *formStream) addField(field *parameter, name, text string) error {
	before, isGiven := s.form.members[name]
	isList := field == nil || field.kind == list && field.isRepeated()
	switch {
	case isGiven && !isList:
		return invalidBody(field.fault("is given more than once"))
	case isList:
		return s.addItem(field, name, before, text)
	}
	s.form.faults = nil
	s.form.add(field, []string{text})
	faults := s.form.faults
	if len(faults) == 0 {
		faults = field.schema.faults(s.form.members[name], inBody, pointerTo(name))
	}
	if len(faults) > 0 {
		return invalidBody(faults)
	}
	return nil
}

// addItem adds an item to a list, or to the texts of a field that the schema has no name for.
func (s *formStream) addItem(field *parameter, name string, before any, text string) error {
	items, isMany := before.([]any)
	if field == nil {
		others := s.form.content.schema.others
		switch {
		case isMany:
			s.form.members[name] = append(items, text)
		case before != nil:
			s.form.members[name] = []any{before, text}
		default:
			s.form.members[name], _ = readAs(others, text) // the schema of others finds what is wrong
		}
		return nil
	}
	item, wrong := readAs(field.schema.item(len(items)), text)
	if wrong != "" {
		return invalidBody([]Fault{field.faultBelow(wrong, strconv.Itoa(len(items)))})
	}
	s.form.members[name] = append(items, item)
	return nil
}

// finish holds the whole form to its schema. Files were not kept, so nothing is asked of them.
func (s *formStream) finish() {
	whole := *s.form.content.schema.node
	whole.members = maps.Clone(whole.members)
	for name, member := range whole.members {
		if isFile(member) {
			whole.members[name] = newNode()
		}
	}
	checked := s.form.content.schema
	checked.node = &whole
	if faults := checked.faults(s.form.members, inBody, ""); len(faults) > 0 {
		s.refuse(invalidBody(faults))
		return
	}
	s.request.body.value = s.form.members
}

func (s *formStream) malformed(what string) *Refusal {
	return &Refusal{Kind: MalformedBody, Message: "body is not " + what}
}

func (s *formStream) refuse(refusal *Refusal) {
	s.refused = cmp.Or(s.refused, refusal)
}

// Read implements [io.Reader]. Its error is a [Refusal] if the form is not what the document asks for.
func (s *formStream) Read(p []byte) (int, error) {
	if len(s.pending) > 0 {
		count := copy(p, s.pending)
		s.pending = s.pending[count:]
		return count, nil
	}
	if s.atEnd == nil && s.refused == nil {
		count, err := s.source.Read(p)
		s.feed(p[:count], err)
		if s.refused == nil {
			return count, err
		}
	}
	if s.refused != nil {
		return 0, s.checker.refusalOf(s.request.Operation, s.refused)
	}
	return 0, s.atEnd
}

// Close implements [io.Closer]. The middleware closes the stream after the handler.
func (s *formStream) Close() error {
	s.stop()
	return s.source.Close()
}
