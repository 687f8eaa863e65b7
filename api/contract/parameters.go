package contract

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
)

// inBody is the place of a [Fault] in a body, beside those of parameters.
const inBody = "body"

// parameter is a parameter of the document, or a field of a form.
type parameter struct {
	name     string
	in       string
	header   string // the canonical name, in headers
	required bool
	empty    bool // allowEmptyValue
	explode  bool
	schema   *openapi3.Schema
	isArray  bool
	isPlain  bool // the type says everything

	// How a text is read: the whole one or, of an array, that of each item.
	read func(text string, p *parameter) (value any, wrong string)
	bits int // of an integer
}

func loadParameter(described *openapi3.Parameter) (parameter, error) {
	loaded := parameter{
		name: described.Name, in: described.In, required: described.Required, empty: described.AllowEmptyValue,
		header: http.CanonicalHeaderKey(described.Name),
	}
	if described.Schema == nil {
		return loaded, fmt.Errorf("parameter %s: content in place of a schema is not implemented", loaded.name)
	}
	method, err := described.SerializationMethod()
	if err != nil {
		return loaded, fmt.Errorf("parameter %s: %w", loaded.name, err)
	}
	if method.Style != openapi3.SerializationSimple && method.Style != openapi3.SerializationForm {
		return loaded, fmt.Errorf("parameter %s: style %s is not implemented, need simple or form", loaded.name, method.Style)
	}
	loaded.explode = method.Explode
	if err := loaded.loadSchema(described.Schema.Value); err != nil {
		return loaded, fmt.Errorf("parameter %s: %w", loaded.name, err)
	}
	return loaded, nil
}

// loadSchema sets how the text of the parameter is read.
func (p *parameter) loadSchema(schema *openapi3.Schema) (err error) {
	p.schema = schema
	ofItem := schema
	if p.isArray = schema.Type.Is(openapi3.TypeArray); p.isArray {
		if schema.Items == nil {
			return errors.New("an array without items is not implemented")
		}
		ofItem = schema.Items.Value
	}
	kind := typeOf(ofItem)
	if p.read = readers[kind]; p.read == nil {
		return fmt.Errorf("the type %q is not implemented, need string, integer, number, boolean, or an array of one", kind)
	}
	p.bits = 64
	if ofItem.Format == "int32" {
		p.bits = 32
	}
	p.isPlain = isPlain(schema)
	return nil
}

// typeOf returns the type of a schema, or the only type of the schemas that it is combined of, or an
// empty text.
func typeOf(schema *openapi3.Schema) string {
	if types := schema.Type.Slice(); len(types) > 0 {
		return types[0] // OpenAPI 3.0 has at most one
	}
	kind := ""
	for _, part := range slices.Concat(schema.AllOf, schema.OneOf, schema.AnyOf) {
		switch found := typeOf(part.Value); {
		case kind == "":
			kind = found
		case found != "" && found != kind:
			return ""
		}
	}
	return kind
}

// isPlain reports whether a schema constrains only the type, and the size of an integer, which is checked
// when its text is read. Most parameters are plain, and a schema costs several times as much.
func isPlain(schema *openapi3.Schema) bool {
	rest := *schema
	rest.Extensions, rest.Origin = nil, nil
	rest.Title, rest.Description, rest.ExternalDocs = "", "", nil
	rest.Default, rest.Example, rest.Examples, rest.Deprecated = nil, nil, nil, false
	if rest.Type.Is(openapi3.TypeInteger) && (rest.Format == "int32" || rest.Format == "int64") {
		rest.Format = ""
	}
	return schema.Type != nil && reflect.DeepEqual(rest, openapi3.Schema{Type: schema.Type})
}

// checkParameters reads the values of all parameters and holds them to their schemas.
func (r *Request) checkParameters() error {
	if count := len(r.Operation.parameters); count <= len(r.few) {
		r.values = r.few[:count]
	} else {
		r.values = make([]any, count)
	}
	faults := r.checkQuery()
	for i := range r.Operation.parameters {
		if r.Operation.parameters[i].in != openapi3.ParameterInQuery {
			_, found := r.checkParameter(i)
			faults = append(faults, found...)
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return &Refusal{Kind: InvalidParameter, Message: "a parameter is not valid", Faults: faults}
}

// checkQuery reads the query and checks its parameters.
func (r *Request) checkQuery() (faults []Fault) {
	isIgnored := r.Operation.ignoresUnknown && len(r.Operation.query) == 0
	if text := r.http.URL.RawQuery; text != "" && !isIgnored {
		var err error
		if r.query, err = url.ParseQuery(text); err != nil {
			const message = "is not a well-formed query: escape %, & and ; as RFC 3986 says"
			return []Fault{{In: openapi3.ParameterInQuery, Message: message}}
		}
	}
	known := 0
	for i := range r.Operation.parameters {
		if r.Operation.parameters[i].in != openapi3.ParameterInQuery {
			continue
		}
		isGiven, found := r.checkParameter(i)
		if isGiven {
			known++
		}
		faults = append(faults, found...)
	}
	if known < len(r.query) && !r.Operation.ignoresUnknown {
		faults = append(faults, r.Operation.unknownIn(r.query)...)
	}
	return faults
}

// checkParameter checks a parameter, by its index, and reports whether the request has it.
func (r *Request) checkParameter(index int) (isGiven bool, faults []Fault) {
	parameter := &r.Operation.parameters[index]
	texts, wrong := places[parameter.in](r, parameter)
	if wrong != "" {
		return true, []Fault{parameter.fault(wrong)}
	}
	r.values[index], faults = parameter.check(texts)
	return len(texts) > 0, faults
}

// unknownIn returns a fault for each name that is not a query parameter.
func (o *Operation) unknownIn(query url.Values) (faults []Fault) {
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(o.query, name) && !slices.Contains(o.keys, name) {
			unknown := parameter{in: openapi3.ParameterInQuery, name: name}
			faults = append(faults, unknown.fault("is not known"))
		}
	}
	return faults
}

// places return the texts of a parameter in a request, none if it is absent, or what is wrong.
var places = map[string]func(r *Request, p *parameter) (texts []string, wrong string){
	openapi3.ParameterInPath:   (*Request).inPath,
	openapi3.ParameterInQuery:  func(r *Request, p *parameter) ([]string, string) { return r.query[p.name], "" },
	openapi3.ParameterInHeader: (*Request).inHeader,
	openapi3.ParameterInCookie: (*Request).inCookie,
}

func (r *Request) inPath(p *parameter) (texts []string, wrong string) {
	text, found := r.Operation.pathValue(r.http.URL, p.name)
	if !found {
		return nil, "does not match the path of the document"
	}
	r.path[0] = text
	return r.path[:], ""
}

// inHeader joins the lines of a header: a list in several lines is the list in one (RFC 9110, section 5.3).
func (r *Request) inHeader(p *parameter) (texts []string, wrong string) {
	lines := r.http.Header[p.header]
	if len(lines) > 1 {
		lines = []string{strings.Join(lines, ", ")}
		r.http.Header[p.header] = lines
	}
	return lines, ""
}

func (r *Request) inCookie(p *parameter) (texts []string, wrong string) {
	for _, cookie := range r.http.CookiesNamed(p.name) {
		text, err := url.QueryUnescape(cookie.Value)
		if err != nil {
			return nil, "is not well escaped"
		}
		texts = append(texts, text)
	}
	return texts, ""
}

// pathValue returns the unescaped text of a parameter in a path.
func (o *Operation) pathValue(from *url.URL, name string) (text string, found bool) {
	path, isEscaped := from.Path, false
	if from.RawPath != "" {
		path, isEscaped = from.RawPath, true
	}
	for _, segment := range slices.Backward(o.segments) { // a base path may come before
		slash := strings.LastIndexByte(path, '/')
		if slash < 0 {
			return "", false
		}
		text, path = path[slash+1:], path[:slash]
		if segment.parameter != name {
			continue
		}
		text, isBehind := strings.CutPrefix(text, segment.before)
		text, isBefore := strings.CutSuffix(text, segment.after)
		if !isEscaped {
			return text, isBehind && isBefore
		}
		unescaped, err := url.PathUnescape(text)
		return unescaped, err == nil && isBehind && isBefore
	}
	return "", false
}

// check reads the value of a parameter from its texts and holds it to its schema.
func (p *parameter) check(texts []string) (value any, faults []Fault) {
	switch {
	case len(texts) == 0 && p.required:
		return nil, []Fault{p.fault("is required")}
	case len(texts) == 0:
		return nil, nil
	case len(texts) > 1 && !p.mayRepeat():
		return nil, []Fault{p.fault("is given more than once")}
	case p.empty && len(texts) == 1 && texts[0] == "":
		return nil, nil
	case p.isArray:
		value, faults = p.readItems(p.split(texts))
	default:
		var wrong string
		value, wrong = p.read(texts[0], p)
		if wrong != "" {
			return nil, []Fault{p.fault(wrong)}
		}
	}
	if len(faults) > 0 || p.isPlain {
		return value, faults
	}
	const most = 32
	return value, faultsOf(p.schema, value, p.in, pointerTo(p.name), most)
}

// mayRepeat reports whether each item of an array is a parameter of its own.
func (p *parameter) mayRepeat() bool {
	inQuery := p.in == openapi3.ParameterInQuery || p.in == inBody
	return p.isArray && p.explode && inQuery
}

// split returns the texts of the items of an array.
func (p *parameter) split(texts []string) []string {
	if p.mayRepeat() {
		return texts
	}
	items := strings.Split(texts[0], ",")
	if p.in == openapi3.ParameterInHeader {
		for i, item := range items {
			items[i] = strings.Trim(item, " \t")
		}
	}
	return items
}

// readItems reads the items of an array.
func (p *parameter) readItems(texts []string) (any, []Fault) {
	items := make([]any, len(texts))
	var faults []Fault
	for i, text := range texts {
		var wrong string
		if items[i], wrong = p.read(text, p); wrong != "" {
			fault := p.fault(wrong)
			fault.Pointer += "/" + strconv.Itoa(i)
			faults = append(faults, fault)
		}
	}
	return items, faults
}

func (p *parameter) fault(message string) Fault {
	return Fault{In: p.in, Pointer: pointerTo(shorten(p.name)), Message: message}
}

// readers read the text of each type, or return what is wrong with it.
var readers = map[string]func(text string, p *parameter) (value any, wrong string){
	openapi3.TypeInteger: func(text string, p *parameter) (any, string) { return readInteger(text, p.bits) },
	openapi3.TypeNumber:  func(text string, _ *parameter) (any, string) { return readNumber(text) },
	openapi3.TypeBoolean: func(text string, _ *parameter) (any, string) { return readBoolean(text) },
	openapi3.TypeString:  readText,
}

func readNumber(text string) (value any, wrong string) {
	number, err := strconv.ParseFloat(text, 64)
	isDecimal := strings.Trim(text, "0123456789+-.eE") == "" // not inf, nan, 0x1p-2 or 1_000
	if err != nil || !isDecimal {
		return nil, "must be a number"
	}
	return number, ""
}

func readBoolean(text string) (value any, wrong string) {
	if text != "true" && text != "false" {
		return nil, "must be true or false"
	}
	return text == "true", ""
}

func readText(text string, p *parameter) (value any, wrong string) {
	if p.in != openapi3.ParameterInHeader && !utf8.ValidString(text) {
		return nil, "must be valid UTF-8"
	}
	return text, ""
}

// readInteger reads an integer. It refuses +5, 05 and -0, which routers, validators and generated code
// read differently.
func readInteger(text string, bits int) (value any, wrong string) {
	number, err := strconv.ParseInt(text, 10, bits)
	var buffer [len("-9223372036854775808")]byte
	switch {
	case errors.Is(err, strconv.ErrRange):
		return nil, fmt.Sprintf("must be an integer of %d bits", bits)
	case err != nil:
		return nil, "must be an integer"
	case string(strconv.AppendInt(buffer[:0], number, 10)) != text:
		return nil, fmt.Sprintf("must be written as %d", number)
	}
	return number, ""
}
