package contract

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/internal/paths"
)

// inBody is the place of a [Fault] in a body, beside those of parameters.
const inBody = "body"

// parameter is a parameter of the document. It is read here, because the functions of kin-openapi's openapi3filter do
// not return the value that they have checked: it would be parsed again.
type parameter struct {
	name, in   string
	leastTexts int  // 1 if the parameter is required
	mostTexts  int  // more than 1 if each item of an array is a text of its own, as in n=1&n=2
	mayBeEmpty bool // allowEmptyValue
	isArray    bool
	isPlain    bool // the type says everything
	schema     schema

	find      func(r *Request, p *parameter) (texts []string)
	pathIndex int // among the parameters of the path

	// How a text is read: the whole one or, of an array, that of each item.
	read reader
	bits int // of an integer
}

func (l *loader) parameter(path string, described *openapi3.Parameter) parameter {
	ofValue := cmp.Or(described.Schema, openapi3.NewStringSchema().NewRef())
	ofItem := ofValue
	isArray := ofValue.Value.Type.Is(openapi3.TypeArray)
	if isArray {
		ofItem = ofValue.Value.Items // which a valid document has
	}
	method, _ := described.SerializationMethod() // the document is valid
	isInteger := ofItem.Value.Type.Is(openapi3.TypeInteger)
	checked := l.schema(ofValue)
	loaded := parameter{
		name:       described.Name,
		in:         described.In,
		mostTexts:  1,
		mayBeEmpty: described.AllowEmptyValue,
		isArray:    isArray,
		isPlain:    isPlain(ofValue.Value) && (isInteger || checked.format == nil),
		schema:     checked,
		find:       places[described.In],
		pathIndex:  slices.Index(paths.Names(path), described.Name),
		read:       readers[typesOfParts(l.nodes.of(ofItem))],
		bits:       sizeOf(ofItem.Value.Format),
	}
	if described.Required {
		loaded.leastTexts = 1
	}
	isExploded := isArray && method.Explode
	if isExploded && described.In == openapi3.ParameterInQuery {
		loaded.mostTexts = math.MaxInt
	}
	l.needParameter(&loaded, described, typesOfParts(l.nodes.of(ofItem)).String())
	return loaded
}

// needParameter notes what cannot be read of a parameter.
func (l *loader) needParameter(loaded *parameter, described *openapi3.Parameter, typeOfText string) {
	need := func(isMet bool, what string) {
		l.need(isMet, "parameter %s: %s: not implemented", described.Name, what)
	}
	method, _ := described.SerializationMethod() // the document is valid
	isOneText := !loaded.isArray || !method.Explode
	need(described.Schema != nil, "content in place of a schema")
	need(loaded.read != nil, fmt.Sprintf("the type %q", typeOfText))
	need(implemented[method.Style], "style "+method.Style)
	need(isOneText || loaded.in != openapi3.ParameterInCookie, "an array in a cookie without explode: false")
}

// implemented are the styles of parameters.
var implemented = map[string]bool{openapi3.SerializationSimple: true, openapi3.SerializationForm: true}

// sizeOf returns the size of an integer.
func sizeOf(format string) int {
	if format == "int32" {
		return 32
	}
	return 64
}

// isPlain reports whether a schema constrains only the type, and the size of an integer, which is checked
// when its text is read. Most parameters are plain, and a schema costs several times as much.
func isPlain(schema *openapi3.Schema) bool {
	rest := *schema
	rest.Extensions, rest.Origin = nil, nil
	rest.Title, rest.Description, rest.ExternalDocs = "", "", nil
	rest.Default, rest.Example, rest.Examples, rest.Deprecated = nil, nil, nil, false
	if slices.Contains([]string{"int32", "int64"}, rest.Format) {
		rest.Format = ""
	}
	return reflect.DeepEqual(rest, openapi3.Schema{Type: schema.Type})
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
		parameter := &parameters[i]
		value, found := parameter.check(parameter.find(r, parameter))
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
	return []Fault{faultAt(p.in, p.name, message)}
}

// check reads the value of a parameter from its texts and holds it to its schema.
func (p *parameter) check(texts []string) (value any, faults []Fault) {
	if len(texts) > p.mostTexts {
		return nil, p.fault("is given more than once")
	}
	if len(texts) < p.leastTexts {
		return nil, p.fault("is required")
	}
	isEmpty := p.mayBeEmpty && strings.Join(texts, ",") == ""
	if len(texts) == 0 || isEmpty {
		return nil, nil
	}
	if value, faults = p.valueOf(texts); len(faults) > 0 || p.isPlain {
		return value, faults
	}
	return value, p.schema.faults(value, p.in, pointerTo(p.name))
}

// valueOf reads the value of a parameter.
func (p *parameter) valueOf(texts []string) (value any, faults []Fault) {
	if p.isArray {
		return p.readItems(p.split(texts))
	}
	value, wrong := p.read(texts[0], p)
	if wrong != "" {
		return nil, p.fault(wrong)
	}
	return value, nil
}

// split returns the texts of the items of an array.
func (p *parameter) split(texts []string) []string {
	if p.mostTexts > 1 {
		return texts
	}
	if p.in == openapi3.ParameterInHeader {
		return headerComma.Split(strings.Trim(texts[0], " \t"), -1)
	}
	return strings.Split(texts[0], ",")
}

// headerComma is between the items of a list in a header.
var headerComma = regexp.MustCompile(`[ \t]*,[ \t]*`)

// readItems reads the items of an array.
func (p *parameter) readItems(texts []string) (value any, faults []Fault) {
	items := make([]any, len(texts))
	for i, text := range texts {
		item, wrong := p.read(text, p)
		items[i] = item
		if wrong != "" {
			fault := faultAt(p.in, p.name, wrong)
			fault.Pointer += "/" + strconv.Itoa(i)
			faults = append(faults, fault)
		}
	}
	return items, faults
}

// places return the texts of a parameter, none if the request does not have it. Cookies are not unescaped, as in the
// code that oapi-codegen generates.
var places = map[string]func(r *Request, p *parameter) []string{
	openapi3.ParameterInPath:   (*Request).inPath,
	openapi3.ParameterInQuery:  (*Request).inQuery,
	openapi3.ParameterInHeader: (*Request).inHeader,
	openapi3.ParameterInCookie: (*Request).inCookie,
}

func (r *Request) inQuery(p *parameter) []string { return r.query[p.name] }

// inHeader joins the lines of a header: a list in several lines is the list in one (RFC 9110, section 5.3).
func (r *Request) inHeader(p *parameter) []string {
	lines := r.http.Header.Values(p.name)
	if len(lines) > 1 {
		lines = []string{strings.Join(lines, ", ")}
		r.http.Header[http.CanonicalHeaderKey(p.name)] = lines
	}
	return lines
}

func (r *Request) inCookie(p *parameter) (texts []string) {
	for _, cookie := range r.http.CookiesNamed(p.name) {
		texts = append(texts, cookie.Value)
	}
	return texts
}

// inPath returns the text of a parameter in the path.
func (r *Request) inPath(p *parameter) []string {
	text := &r.path[p.pathIndex]
	*text = unescapePath(*text)
	return r.path[p.pathIndex : p.pathIndex+1]
}

// reader reads the text of a type, or returns what is wrong with it.
type reader func(text string, p *parameter) (value any, wrong string)

var readers = map[types]reader{
	typeInteger: readInteger,
	typeNumber:  readNumber,
	typeBoolean: readBoolean,
	typeString:  readText,
}

func readNumber(text string, _ *parameter) (value any, wrong string) {
	number, err := strconv.ParseFloat(text, 64)
	isDecimal := strings.Trim(text, "0123456789+-.eE") == "" // not inf, nan, 0x1p-2 or 1_000
	if err != nil || !isDecimal {
		return nil, "must be a number"
	}
	return number, ""
}

var booleans = map[string]any{"true": true, "false": false}

func readBoolean(text string, _ *parameter) (value any, wrong string) {
	if value = booleans[text]; value == nil {
		return nil, "must be true or false"
	}
	return value, ""
}

func readText(text string, p *parameter) (value any, wrong string) {
	if p.in != openapi3.ParameterInHeader && !utf8.ValidString(text) {
		return nil, "must be valid UTF-8"
	}
	return text, ""
}

// readInteger reads an integer. It refuses +5, 05 and -0, which routers, validators and generated code
// read differently.
func readInteger(text string, p *parameter) (value any, wrong string) {
	number, err := strconv.ParseInt(text, 10, p.bits)
	if errors.Is(err, strconv.ErrRange) {
		return nil, fmt.Sprintf("must be an integer of %d bits", p.bits)
	}
	if err != nil {
		return nil, "must be an integer"
	}
	var buffer [len("-9223372036854775808")]byte // FormatInt would allocate
	if string(strconv.AppendInt(buffer[:0], number, 10)) != text {
		return nil, fmt.Sprintf("must be written as %d", number)
	}
	return number, ""
}
