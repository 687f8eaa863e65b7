package contract

import (
	"bytes"
	"cmp"
	"fmt"
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
	count    int              // of the parts
	file     *filePart        // the one that is read at present
	buffer   []byte           // for it
	files    map[string][]any // the sizes of those that are read, by name
	texts    url.Values
	textSize int64
	isParsed bool  // to the end
	refused  error // what every read returns from then on
}

// filePart is a file in a form while it is read.
type filePart struct {
	*multipart.Part
	name string
	size fileSize
	most fileSize
}

// newFormStream reads a form up to its first file.
func (c *Checker) newFormStream(request *Request, content *content, source io.ReadCloser) (*formStream, error) {
	_, parameters, _ := mime.ParseMediaType(request.http.Header.Get("Content-Type")) // it was parsed before
	stream := &formStream{
		checker: c, request: request, content: content, source: source,
		buffer: make([]byte, 4<<10), files: map[string][]any{}, texts: url.Values{},
	}
	stream.parts = multipart.NewReader(formSource{stream}, parameters["boundary"])
	for stream.file == nil && !stream.isParsed {
		if err := stream.parse(); err != nil {
			return stream, err
		}
	}
	if stream.isParsed {
		return stream, nil
	}
	return stream, stream.checkBeginning()
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
		return s.readFile()
	}
	part, err := s.parts.NextPart()
	if err == io.EOF {
		s.isParsed = true
		return s.checkWhole()
	}
	if err != nil {
		return s.malformed(err, "a well-formed form")
	}
	if s.count++; s.count > maxParts {
		return &Refusal{Kind: TooLarge, Message: fmt.Sprintf("body has more than %d parts", maxParts)}
	}
	return s.readPart(part)
}

// maxParts is how many parts a form may have. [multipart.Reader.ReadForm] takes as many.
const maxParts = 1000

// readFile reads the next piece of a file.
func (s *formStream) readFile() error {
	count, err := s.file.Read(s.buffer)
	s.file.size += fileSize(count)
	if s.file.size > s.file.most {
		return invalidBody([]Fault{faultAt(inBody, s.file.name, "must have at most "+countOf(int(s.file.most), "byte"))})
	}
	if err == io.EOF {
		s.files[s.file.name] = append(s.files[s.file.name], s.file.size)
		s.file = nil
		return nil
	}
	return s.malformed(err, "a well-formed form")
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
	isFile, wrong := s.content.kindOfPart(name, part)
	if schema := s.content.schema.member(name); schema.isFile() && schema.items == nil && len(s.files[name]) > 0 {
		wrong = "is given more than once"
	}
	if wrong != "" {
		return invalidBody([]Fault{faultAt(inBody, name, wrong)})
	}
	if isFile {
		s.file = &filePart{Part: part, name: name, most: s.content.mostBytes(name)}
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

// kindOfPart reports whether a part is a file, or says what is wrong with it. Generated code takes each part with a file name for a
// file, and no other.
func (c *content) kindOfPart(name string, part *multipart.Part) (isFile bool, wrong string) {
	if wrong := cmp.Or(c.refuseName(name), c.wrongType(name, part.Header.Get("Content-Type"))); wrong != "" {
		return false, wrong
	}
	schema := c.schema.member(name)
	hasFileName := part.FileName() != ""
	switch {
	case schema.isFile() && !hasFileName:
		return false, "must be a file: send a filename with it"
	case !hasFileName || c.fields[name] != nil && c.fields[name].kind == jsonText && !schema.isFile():
		return false, "" // a Blob of a browser has a file name, also if it is JSON
	case !schema.takesFile():
		return false, "must not be a file: send it without a filename"
	}
	return true, ""
}

// mostBytes returns how many bytes a file may have.
func (c *content) mostBytes(name string) fileSize {
	schema := c.schema.member(name)
	if schema != nil && schema.items != nil {
		schema = schema.items
	}
	if schema == nil || schema.length == nil {
		return fileSize(unlimited)
	}
	return fileSize(schema.length.most)
}

// wrongType says what is wrong with the media type of a part, which is text/plain without one (RFC 7578, section 4.4).
func (c *content) wrongType(name, given string) string {
	wanted := c.contents[name]
	if wanted == "" {
		return ""
	}
	mediaType, _, _ := mime.ParseMediaType(cmp.Or(given, "text/plain"))
	isWanted := func(each string) bool { return isInRange(mediaType, strings.TrimSpace(each)) }
	if slices.ContainsFunc(strings.Split(wanted, ","), isWanted) {
		return ""
	}
	return "must have the Content-Type " + wanted
}

// checkBeginning holds what comes before the first file to what can be said of it.
func (s *formStream) checkBeginning() error {
	s.files[s.file.name] = []any{unread}
	_, err := s.check(s.content.beginning)
	clear(s.files)
	return err
}

// checkWhole holds the whole form to its schema. Its files are not in the body that the handler gets.
func (s *formStream) checkWhole() error {
	members, err := s.check(s.content)
	for name := range s.files {
		delete(members, name)
	}
	s.request.body.value = members
	return err
}

// check holds what was read of the form to a content.
func (s *formStream) check(content *content) (members map[string]any, err error) {
	members, faults := content.readFields(s.texts, "")
	for name, sizes := range s.files {
		members[name] = content.fileValue(name, sizes)
	}
	if len(faults) == 0 {
		faults = content.schema.faults(members, inBody, "")
	}
	if len(faults) > 0 {
		return nil, invalidBody(faults)
	}
	return members, nil
}

// fileValue returns the value of a field that is a file, or a list of files.
func (c *content) fileValue(name string, sizes []any) any {
	schema := c.schema.member(name)
	isList := schema != nil && schema.items != nil
	if isList || len(sizes) > 1 {
		return sizes
	}
	return sizes[0]
}

// beginningOf returns what the beginning of a form, or of a list in it, must be: nothing is asked of what may still come.
func beginningOf(whole *node, known map[*node]*node) *node {
	if known[whole] != nil {
		return known[whole]
	}
	made := &node{
		always: whole.always, isLegacy: whole.isLegacy, types: whole.types, members: maps.Clone(whole.members),
		patternMembers: whole.patternMembers, others: whole.others, names: whole.names,
		items: whole.items, prefixItems: whole.prefixItems, isUnique: whole.isUnique,
		memberCount: whole.memberCount.withoutLeast(), itemCount: whole.itemCount.withoutLeast(),
	}
	known[whole] = made
	for _, part := range whole.parts {
		made.parts = append(made.parts, beginningOf(part, known))
	}
	for name, member := range made.members {
		if kindOf(member) == list {
			made.members[name] = beginningOf(member, known)
		}
	}
	return made
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
