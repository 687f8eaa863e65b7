package contract

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/internal/paths"
)

// inBody is the place of a [Fault] in a body, beside those of parameters.
const inBody = "body"

// parameter is a parameter of the document. It is read here, because the functions of kin-openapi's openapi3filter do
// not return the value that they have checked: it would be parsed again.
type parameter struct {
	name, in   string
	faultIn    string // of a field of a form: body; otherwise empty
	isRequired bool
	mayBeEmpty bool // allowEmptyValue
	isPlain    bool // the type says everything
	kind       parameterKind
	schema     schema
	style      style

	find      func(r *Request, p *parameter) (texts []string)
	pathIndex int // among the parameters of the path
}

// parameterKind says what the texts of a parameter are made of.
type parameterKind int

const (
	oneText parameterKind = iota // a text, number or boolean
	list
	record // an object
	jsonText
)

func (l *loader) parameter(path string, described *openapi3.Parameter) parameter {
	loaded := parameter{
		name:       described.Name,
		in:         described.In,
		isRequired: described.Required,
		mayBeEmpty: described.AllowEmptyValue,
		find:       places[described.In],
		pathIndex:  slices.Index(paths.Names(path), described.Name),
	}
	l.setSchema(&loaded, described)
	method, err := described.SerializationMethod()
	l.need(err == nil, "parameter %s: %v", described.Name, err)
	if err == nil {
		loaded.style = style{method.Style, method.Explode}
	}
	return loaded
}

// setSchema sets the schema of a parameter, which is beside it or in its content.
func (l *loader) setSchema(loaded *parameter, described *openapi3.Parameter) {
	ofValue := described.Schema
	for mediaType, content := range described.Content { // a valid document has one
		ofValue = content.Schema
		if isJSON(mediaType) {
			loaded.kind = jsonText
		}
	}
	loaded.schema = l.schema(ofValue)
	if loaded.kind == jsonText {
		return
	}
	loaded.kind = kindOf(loaded.schema.node)
	loaded.isPlain = loaded.kind == oneText && loaded.schema.isPlain()
}

// kindOf returns what a value of a schema is made of, unless it is JSON.
func kindOf(schema *node) parameterKind {
	allowed := scalars(schema)
	switch {
	case allowed.has(typeArray):
		return list
	case allowed.has(typeObject):
		return record
	}
	return oneText
}

// checkParameters reads the values of all parameters and holds them to their schemas.
func (r *Request) checkParameters() error {
	all, ofQuery := r.Operation.parameters, len(r.Operation.query)
	r.values = make([]any, len(all))
	faults := slices.Concat(
		r.parseQuery(),
		r.checkEach(all[:ofQuery], r.values),
		r.checkNames(),
		r.checkEach(all[ofQuery:], r.values[ofQuery:]),
	)
	if len(faults) == 0 {
		return nil
	}
	return &Refusal{Kind: InvalidParameter, Message: "a parameter is not valid", Faults: faults}
}

// parseQuery parses the query, unless nothing in it matters.
func (r *Request) parseQuery() []Fault {
	isIgnored := r.Operation.ignoresUnknown && len(r.Operation.query) == 0
	if r.http.URL.RawQuery == "" || isIgnored {
		return nil
	}
	var err error
	if r.query, err = url.ParseQuery(r.http.URL.RawQuery); err != nil {
		const message = "is not a well-formed query: escape %, & and ; as RFC 3986 says"
		return []Fault{{In: openapi3.ParameterInQuery, Message: message}}
	}
	return nil
}

// checkEach checks some parameters and sets their values.
func (r *Request) checkEach(parameters []parameter, values []any) (faults []Fault) {
	for i := range parameters {
		value, found := parameters[i].check(r)
		values[i] = value
		faults = append(faults, found...)
	}
	return faults
}

// checkNames returns a fault for each name in the query that is not a parameter.
func (r *Request) checkNames() (faults []Fault) {
	for name := range r.query {
		if !r.Operation.knows(name) {
			faults = append(faults, faultAt(openapi3.ParameterInQuery, name, "is not known"))
		}
	}
	slices.SortFunc(faults, func(a, b Fault) int { return strings.Compare(a.Pointer, b.Pointer) })
	return faults
}

// faultAt returns a fault of a parameter.
func faultAt(in, name, message string) Fault {
	return Fault{In: in, Pointer: pointerTo(shorten(name)), Message: message}
}

// fault returns the only fault of the parameter.
func (p *parameter) fault(message string) []Fault {
	return []Fault{faultAt(cmp.Or(p.faultIn, p.in), p.name, message)}
}

// check reads the value of a parameter and holds it to its schema.
func (p *parameter) check(r *Request) (value any, faults []Fault) {
	texts := p.find(r, p)
	if len(texts) == 0 {
		return nil, p.missing()
	}
	isMany := p.kind == record || p.kind == list && p.isRepeated()
	if len(texts) > 1 && !isMany {
		return nil, p.fault("is given more than once")
	}
	if isEmpty := len(texts) == 1 && texts[0] == ""; isEmpty {
		return p.empty(r)
	}
	return p.read(texts)
}

// missing returns the fault of a parameter that is not given.
func (p *parameter) missing() []Fault {
	if p.isRequired {
		return p.fault("is required")
	}
	return nil
}

// empty returns the value of a parameter whose text is empty. Generated code cannot bind a required header that is empty, and
// no number, so an empty one that is allowed is taken out of the query.
func (p *parameter) empty(r *Request) (value any, faults []Fault) {
	isInQuery := p.in == openapi3.ParameterInQuery
	isText := scalars(p.schema.node) == typeString
	switch {
	case p.mayBeEmpty && isText:
		return "", nil
	case p.mayBeEmpty:
		r.removeFromQuery(p.name)
		return nil, p.missing()
	case p.isRequired && !isInQuery:
		return nil, p.fault("must not be empty")
	}
	return p.read([]string{""})
}

// read reads the value from texts that are not empty, and holds it to the schema.
func (p *parameter) read(texts []string) (value any, faults []Fault) {
	if p.kind != oneText {
		if value, faults = p.parse(texts); len(faults) > 0 {
			return nil, faults
		}
		return value, p.schema.faults(value, p.in, pointerTo(p.name))
	}
	text, isStyled := p.plainText(texts[0])
	if !isStyled {
		return nil, p.fault(p.wrongStyle())
	}
	return p.readText(text)
}

// parse reads the value of a list, an object or JSON.
func (p *parameter) parse(texts []string) (value any, faults []Fault) {
	switch p.kind {
	case jsonText:
		return p.readJSON(texts[0])
	case list:
		return p.readItems(p.items(texts))
	}
	return p.readMembers(p.members(texts))
}

func (p *parameter) wrongStyle() string { return "is not written in the style " + p.style.name }

// readText reads a text of one of several types, and holds it to the schema. The first type that is allowed counts.
func (p *parameter) readText(text string) (value any, faults []Fault) {
	var isRead bool
	for _, reader := range readersOf(scalars(p.schema.node)) {
		read, wrong := reader.read(text, p.schema.node)
		if wrong != "" {
			if !isRead {
				faults = p.fault(wrong)
			}
			continue
		}
		if p.isPlain {
			return read, nil
		}
		value, isRead = read, true
		if faults = p.schema.faults(value, p.in, pointerTo(p.name)); len(faults) == 0 {
			return value, nil
		}
	}
	return value, faults
}

func (p *parameter) readJSON(text string) (value any, faults []Fault) {
	plain := body{text: []byte(p.unescape(text))}
	if err := plain.decodeJSON(p.schema.wanted(), p.schema.maxDepth); err != nil {
		return nil, p.fault("must be one well-formed JSON value: " + err.Error())
	}
	return plain.value, nil
}

// readItems reads the items of an array.
func (p *parameter) readItems(texts []string, isStyled bool) (value any, faults []Fault) {
	if !isStyled {
		return nil, p.fault(p.wrongStyle())
	}
	items := make([]any, len(texts))
	for i, text := range texts {
		item, wrong := readAs(p.schema.item(i), text)
		items[i] = item
		if wrong != "" {
			faults = append(faults, p.faultBelow(wrong, strconv.Itoa(i)))
		}
	}
	return items, faults
}

// readMembers reads the members of an object.
func (p *parameter) readMembers(pairs []pair, isStyled bool) (value any, faults []Fault) {
	if !isStyled {
		return nil, p.fault(p.wrongStyle())
	}
	members := map[string]any{}
	for _, pair := range pairs {
		wrong := pair.addTo(members, p.schema.node)
		if wrong != "" {
			faults = append(faults, p.faultBelow(wrong, pair.path...))
		}
	}
	return members, faults
}

func (p *parameter) faultBelow(message string, path ...string) Fault {
	fault := faultAt(cmp.Or(p.faultIn, p.in), p.name, message)
	for _, step := range path {
		fault.Pointer += pointerTo(shorten(step))
	}
	return fault
}

// places return the texts of a parameter, none if the request does not have it. Cookies are not unescaped, as in the
// code that oapi-codegen generates.
var places = map[string]func(r *Request, p *parameter) []string{
	openapi3.ParameterInPath:   (*Request).inPath,
	openapi3.ParameterInQuery:  (*Request).inQuery,
	openapi3.ParameterInHeader: (*Request).inHeader,
	openapi3.ParameterInCookie: (*Request).inCookie,
}

// inQuery returns the texts of a parameter in the query. Those of a list in one text are still escaped: a comma in an
// item is.
func (r *Request) inQuery(p *parameter) []string {
	switch {
	case p.kind == record && p.isRepeated():
		return p.pairsInQuery(r.query)
	case p.isEscaped():
		return rawTexts(r.http.URL.RawQuery, p.name)
	}
	return r.query[p.name]
}

// rawTexts returns the texts of a name in a query, which are still escaped.
func rawTexts(query, name string) (texts []string) {
	for part := range strings.SplitSeq(query, "&") {
		escaped, text, _ := strings.Cut(part, "=")
		if plain, err := url.QueryUnescape(escaped); err == nil && plain == name {
			texts = append(texts, text)
		}
	}
	return texts
}

// removeFromQuery takes a parameter out of the query that the handler gets.
func (r *Request) removeFromQuery(name string) {
	kept := slices.DeleteFunc(strings.Split(r.http.URL.RawQuery, "&"), func(part string) bool {
		return len(rawTexts(part, name)) > 0
	})
	changed := *r.http.URL
	changed.RawQuery = strings.Join(kept, "&")
	r.http.URL = &changed
}

// inHeader joins the lines of a header: a list in several lines is the list in one (RFC 9110, section 5.3). Generated code
// reads one line, without blanks between items.
func (r *Request) inHeader(p *parameter) []string {
	lines := r.http.Header.Values(p.name)
	if len(lines) == 0 {
		return nil
	}
	joined := strings.Join(lines, ",")
	if p.kind == list || p.kind == record {
		joined = headerComma.ReplaceAllString(strings.Trim(joined, " \t"), ",")
	}
	if joined != lines[0] {
		r.http.Header = r.http.Header.Clone()
		r.http.Header.Set(p.name, joined)
	}
	return r.http.Header.Values(p.name)
}

// headerComma is between the items of a list in a header.
var headerComma = regexp.MustCompile(`[ \t]*,[ \t]*`)

func (r *Request) inCookie(p *parameter) (texts []string) {
	for _, cookie := range r.http.CookiesNamed(p.name) {
		texts = append(texts, cookie.Value)
	}
	return texts
}

// inPath returns the text of a parameter in the path, which is still escaped.
func (r *Request) inPath(p *parameter) []string {
	return r.path[p.pathIndex : p.pathIndex+1]
}
