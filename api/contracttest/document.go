package contracttest

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// document is an OpenAPI document, prepared for lookups.
type document struct {
	skips  // what it contains that this package does not test
	doc    *openapi3.T
	base   string // the path of its first server, if it is fixed
	routes []*route
	oracle *oracle
}

// route is an operation of the document.
type route struct {
	method, template string
	pattern          *regexp.Regexp // matches an escaped path; one group for each name
	names            []string       // of the path parameters, in order
	operation        *openapi3.Operation
	parameters       []*openapi3.Parameter // also those of the path
	doc              *openapi3.T
	examples         map[string]string // see parameterExamples
}

// parse reads a document of OpenAPI 3. What it does not understand it reports and leaves out.
func parse(text []byte) (d *document, err error) {
	defer func() { // the validator has faults of its own
		if r := recover(); r != nil {
			d, err = nil, fmt.Errorf("cannot be read: %v", r)
		}
	}()
	d = &document{}
	doc, original, err := load(text, d.skip)
	if err != nil {
		return nil, err
	}
	d.doc, d.oracle = doc, newOracle(original)
	options := []openapi3.ValidationOption{openapi3.DisableSchemaPatternValidation(), openapi3.DisableSchemaDefaultsValidation()}
	if err := doc.Validate(context.Background(), options...); err != nil {
		reason, _, _ := strings.Cut(err.Error(), "\n")
		d.skip("the document, is not valid: %s", reason)
	}
	if len(doc.Servers) > 0 && !strings.Contains(doc.Servers[0].URL, "{") {
		if u, err := url.Parse(doc.Servers[0].URL); err == nil {
			d.base = strings.TrimSuffix(u.EscapedPath(), "/")
		}
	}
	for template, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			d.routes = append(d.routes, newRoute(doc, method, template, item, operation))
		}
	}
	// A literal path is matched before a template that it also fits.
	slices.SortFunc(d.routes, func(a, b *route) int {
		if n := strings.Count(a.template, "{") - strings.Count(b.template, "{"); n != 0 {
			return n
		}
		return strings.Compare(a.template+a.method, b.template+b.method)
	})
	d.prepareSchemas()
	return d, nil
}

var parameterInPath = regexp.MustCompile(`\{[^}]*\}`)

func newRoute(doc *openapi3.T, method, template string, item *openapi3.PathItem, operation *openapi3.Operation) *route {
	r := &route{method: method, template: template, operation: operation, doc: doc}
	if operation.OperationID == "" {
		operation.OperationID = method + " " + template
	}
	for _, ref := range operation.Parameters {
		r.parameters = append(r.parameters, ref.Value)
	}
	for _, ref := range item.Parameters {
		if operation.Parameters.GetByInAndName(ref.Value.In, ref.Value.Name) == nil {
			r.parameters = append(r.parameters, ref.Value)
		}
	}
	literals := parameterInPath.Split(template, -1)
	for i := range literals {
		literals[i] = regexp.QuoteMeta(literals[i])
	}
	r.pattern = regexp.MustCompile("^" + strings.Join(literals, "([^/]+)") + "$")
	for _, name := range parameterInPath.FindAllString(template, -1) {
		r.names = append(r.names, name[1:len(name)-1])
	}
	r.examples = r.parameterExamples()
	return r
}

// find returns the operation that serves a request, or nil.
func (d *document) find(method, path string) *route {
	return firstWhere(d.routes, func(r *route) bool { return r.method == method && r.pattern.MatchString(path) })
}

// parameter returns a parameter of an operation, or nil.
func (r *route) parameter(in, name string) *openapi3.Parameter {
	return firstWhere(r.parameters, func(p *openapi3.Parameter) bool { return p.In == in && p.Name == name })
}

// firstWhere returns the first element that is asked for, or the zero value.
func firstWhere[T any](all []T, is func(T) bool) (found T) {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i]
	}
	return found
}

// hasPath reports whether the document has the path, with any method.
func (d *document) hasPath(path string) bool {
	return slices.ContainsFunc(d.routes, func(r *route) bool { return r.pattern.MatchString(path) })
}

// skips are what cannot be tested, each once.
type skips struct{ skipped []string }

func (s *skips) skip(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(s.skipped, text) {
		s.skipped = append(s.skipped, text)
	}
}

// response returns what the operation documents for a status: the status
// itself, its class as in 4XX, or the default; or nil.
func (r *route) response(status int) *openapi3.Response {
	_, response := r.documentedAs(status)
	return response
}

// documentedAs is response with the key that it has in the document.
func (r *route) documentedAs(status int) (key string, response *openapi3.Response) {
	responses := r.operation.Responses.Map()
	for _, key := range []string{fmt.Sprint(status), fmt.Sprintf("%dXX", status/100), "default"} {
		if ref := responses[key]; ref != nil {
			return key, ref.Value
		}
	}
	return "", nil
}

// succeeds reports whether a status is a success of the operation. Where the
// document lists successes, "default" is not one of them.
func (r *route) succeeds(status int) bool {
	listed := false
	for key := range r.operation.Responses.Map() {
		if key[0] == '2' || key[0] == '3' {
			listed = true
			if key == fmt.Sprint(status) || key == fmt.Sprintf("%dXX", status/100) {
				return true
			}
		}
	}
	return !listed && status < 400
}

// jsonOf returns the first media type of the content that is JSON, and its schema.
func jsonOf(content openapi3.Content) (string, *openapi3.Schema) {
	for _, mediaType := range slices.Sorted(maps.Keys(content)) {
		if isJSON(mediaType) {
			return mediaType, schemaOf(content[mediaType].Schema)
		}
	}
	return "", nil
}

// body returns the JSON media type of an operation's request body and its schema;
// nil if it has none.
func (r *route) body() (string, *openapi3.Schema) {
	if r.operation.RequestBody == nil {
		return "", nil
	}
	return jsonOf(r.operation.RequestBody.Value.Content)
}

func isJSON(mediaType string) bool {
	mediaType, _, _ = strings.Cut(mediaType, ";")
	mediaType = strings.TrimSpace(mediaType)
	return mediaType == "application/json" || strings.HasSuffix(mediaType, "+json")
}

// prepareSchemas looks for what this package or Go cannot check, lists it, and
// takes out what would make the validator fail.
func (d *document) prepareSchemas() {
	seen := map[*openapi3.Schema]bool{}
	var visit func(where string, ref *openapi3.SchemaRef)
	visit = func(where string, ref *openapi3.SchemaRef) {
		if ref == nil || ref.Value == nil || seen[ref.Value] {
			return
		}
		s := ref.Value
		seen[s] = true
		if s.Pattern != "" {
			if _, err := regexp.Compile(goPattern(s.Pattern)); err != nil {
				d.skip("%s: pattern %q is not one that Go can check", where, s.Pattern)
				s.Pattern = ""
			}
		}
		if s.Discriminator != nil {
			d.skip("%s: the discriminator; its schemas are checked as oneOf or anyOf", where)
			s.Discriminator = nil
		}
		if s.Type.Is("string") && unknownFormat(s) {
			d.skip("%s: format %q", where, s.Format)
		}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			visit(where+"/"+name, s.Properties[name])
		}
		visit(where+"/*", s.Items)
		visit(where+"/additionalProperties", s.AdditionalProperties.Schema)
		for _, ref := range slices.Concat(s.AllOf, s.AnyOf, s.OneOf, openapi3.SchemaRefs{s.Not}) {
			visit(where, ref)
		}
	}
	content := func(where string, content openapi3.Content) {
		for _, mediaType := range slices.Sorted(maps.Keys(content)) {
			visit(where, content[mediaType].Schema)
		}
	}
	for _, r := range d.routes {
		where := r.operation.OperationID
		for _, p := range r.parameters {
			visit(where+", parameter "+p.Name, p.Schema)
			content(where+", parameter "+p.Name, p.Content)
		}
		if r.operation.RequestBody != nil {
			content(where+", body", r.operation.RequestBody.Value.Content)
		}
		for status, ref := range r.operation.Responses.Map() {
			content(where+", "+status, ref.Value.Content)
			for name, header := range ref.Value.Headers {
				visit(where+", "+status+", header "+name, header.Value.Schema)
			}
		}
		if len(r.operation.Callbacks) > 0 {
			d.skip("%s, callbacks", where)
		}
	}
}

// goPattern writes a pattern as the validator does.
func goPattern(pattern string) string { return unicodeEscape.ReplaceAllString(pattern, `\x{$1}`) }

var unicodeEscape = regexp.MustCompile(`\\u([0-9A-Fa-f]{4})`)
