package httpapi

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
	"github.com/go-chi/chi/v5"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// parameter is one parameter of the document.
type parameter struct {
	name     string
	header   string // of a header: the canonical form of its name
	in       plantapi.ErrorDetailIn
	required bool
	schema   *openapi3.Schema
	plain    bool // the schema has a type and no other constraint
}

func loadParameter(p *openapi3.Parameter) (parameter, error) {
	loaded := parameter{
		name:     p.Name,
		in:       plantapi.ErrorDetailIn(p.In),
		required: p.Required,
		schema:   p.Schema.Value,
		plain:    isPlain(p.Schema.Value),
	}
	if loaded.in == plantapi.InHeader {
		loaded.header = http.CanonicalHeaderKey(p.Name)
	}
	if !loaded.in.Valid() || loaded.required && loaded.in == plantapi.InHeader {
		return loaded, fmt.Errorf("parameter %s: in %q with required %t is not implemented", p.Name, p.In, p.Required)
	}
	if !loaded.schema.Type.Is("integer") && !loaded.schema.Type.Is("string") {
		return loaded, fmt.Errorf("parameter %s: type %v is not implemented, need integer or string",
			p.Name, loaded.schema.Type)
	}
	return loaded, nil
}

// isPlain reports whether a schema constrains only the type. parseInt checks the type
// and the size of an integer.
func isPlain(schema *openapi3.Schema) bool {
	rest := *schema
	rest.Extensions, rest.Origin = nil, nil
	rest.Title, rest.Description, rest.ExternalDocs = "", "", nil
	rest.Default, rest.Example, rest.Examples, rest.Deprecated = nil, nil, nil, false
	if rest.Type.Is("integer") && (rest.Format == "int32" || rest.Format == "int64") {
		rest.Format = ""
	}
	return reflect.DeepEqual(rest, openapi3.Schema{Type: schema.Type})
}

// checkParameters validates the parameters of a request against the document. It joins
// the lines of a header, because the generated code accepts only one.
func checkParameters(r *http.Request, op *operation) error {
	query, details := checkQuery(r.URL.RawQuery, op)
	r.Form = query
	for _, p := range op.parameters {
		switch p.in {
		case plantapi.InPath:
			details = append(details, p.check(pathValue(r, p.name))...)
		case plantapi.InHeader:
			// A list in several lines is the list in one (RFC 9110, section 5.3).
			values := r.Header[p.header]
			if len(values) > 1 {
				values = []string{strings.Join(values, ", ")}
				r.Header[p.header] = values
			}
			if len(values) > 0 {
				details = append(details, p.check(values[0])...)
			}
		}
	}
	if len(details) == 0 {
		return nil
	}
	return invalid(plantapi.CodeInvalidParameter, wrongParameter, details)
}

const wrongParameter = "a parameter is not valid"

// checkQuery validates a query string against the document and returns its values.
func checkQuery(query string, op *operation) (url.Values, []plantapi.ErrorDetail) {
	var given url.Values
	if query != "" && (op.takesQuery || !op.ignoresUnknown) {
		var err error
		if given, err = url.ParseQuery(query); err != nil {
			const message = "is not a well-formed query: escape %, & and ; as RFC 3986 says"
			return nil, []plantapi.ErrorDetail{{In: plantapi.InQuery, Message: message}}
		}
	}
	var details []plantapi.ErrorDetail
	known := 0
	for _, p := range op.parameters {
		if p.in != plantapi.InQuery {
			continue
		}
		values, isGiven := given[p.name]
		if isGiven {
			known++
		}
		switch {
		case len(values) > 1:
			details = append(details, p.fault("is given more than once"))
		case len(values) == 1:
			details = append(details, p.check(values[0])...)
		case p.required:
			details = append(details, p.fault("is required"))
		}
	}
	if op.ignoresUnknown || known == len(given) {
		return given, details
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !op.hasQueryParameter(name) {
			unknown := parameter{name: name, in: plantapi.InQuery}
			details = append(details, unknown.fault("is not known"))
		}
	}
	return given, details
}

func (op *operation) hasQueryParameter(name string) bool {
	return slices.ContainsFunc(op.parameters, func(p parameter) bool {
		return p.in == plantapi.InQuery && p.name == name
	})
}

// check validates the text of a parameter against its schema.
func (p parameter) check(text string) []plantapi.ErrorDetail {
	if !p.schema.Type.Is("integer") {
		if p.in != plantapi.InHeader && !utf8.ValidString(text) {
			return []plantapi.ErrorDetail{p.fault("must be valid UTF-8")}
		}
		if p.plain {
			return nil
		}
		return p.visit(text)
	}
	n, wrong := parseInt(text, p.schema)
	if wrong != "" {
		return []plantapi.ErrorDetail{p.fault(wrong)}
	}
	if p.plain {
		return nil
	}
	return p.visit(n)
}

// visit validates a value against the schema with kin-openapi.
func (p parameter) visit(value any) []plantapi.ErrorDetail {
	var details []plantapi.ErrorDetail
	for _, e := range flatten(p.schema.VisitJSON(value, openapi3.MultiErrors(), openapi3.VisitAsRequest())) {
		d := p.fault(detail(e).Message)
		if strings.HasPrefix(p.header, "If-") { // a pattern, which explains nothing
			d.Message = `must be ETags in quotes, as in "abc", or *`
		}
		details = append(details, d)
	}
	return details
}

// maxQuoted is how many bytes of a client's text a response repeats.
const maxQuoted = 64

func (p parameter) fault(message string) plantapi.ErrorDetail {
	return plantapi.ErrorDetail{In: p.in, Pointer: pointerTo(p.name), Message: message}
}

// pointerTo returns a pointer to a name that the client chose, which may be long.
func pointerTo(name string) string { return pointer([]string{shorten(name)}) }

// shorten returns at most maxQuoted bytes of a client's text.
func shorten(text string) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	if len(text) > maxQuoted {
		text = strings.ToValidUTF8(text[:maxQuoted], "") + "…"
	}
	return text
}

// parseInt parses an integer, or returns what is wrong. It refuses +5, 05 and -0, which
// routers, validators and binders read differently.
func parseInt(text string, schema *openapi3.Schema) (n int64, wrong string) {
	size, err := strconv.Atoi(bits(schema))
	if err != nil {
		size = 64
	}
	n, err = strconv.ParseInt(text, 10, size)
	var buf [len("-9223372036854775808")]byte
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Sprintf("must be an integer of %d bits", size)
	case err != nil:
		return 0, "must be an integer"
	case string(strconv.AppendInt(buf[:0], n, 10)) != text:
		return 0, fmt.Sprintf("must be written as %d", n)
	}
	return n, ""
}

// pathValue returns a path parameter without its escapes. Chi returns it as it was
// sent if r.URL.RawPath is set.
func pathValue(r *http.Request, name string) string {
	text := chi.URLParam(r, name)
	if r.URL.RawPath == "" {
		return text
	}
	if unescaped, err := url.PathUnescape(text); err == nil {
		text = unescaped
	}
	return text
}
