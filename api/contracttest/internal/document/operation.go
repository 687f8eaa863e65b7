package document

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Operation is an operation of the document.
type Operation struct {
	// The operationId, or method and path if it has none.
	ID               string
	Method, Template string
	// Says is its summary and its description.
	Says       string
	Tags       []string
	Extensions map[string]any
	// The names of the path parameters, in order.
	PathNames  []string
	Parameters []*Parameter // also those of the path
	// Content is the body of the request by media type; nil: the document describes none.
	Content   Content
	Responses map[string]*Response // by status
	// A request needs a schema, a parameter or a body that is not in the document, or not understood.
	NeedsUnread bool
	// No body is known that its schema allows.
	LacksBody bool
	// Takes and Gives are where requests and responses have the thing that the operation is about. Package resources finds out.
	Takes, Gives Wrapping

	// Matches an escaped path, with a group for each of PathNames.
	path         *regexp.Regexp
	shape        string // see Shape
	security     *[]Requirement
	examples     map[string]string
	needsBody    bool
	lacksBody    bool // its body is not in the document
	hasCallbacks bool
}

// parameterInPath finds a parameter in a path template, with its braces.
var parameterInPath = regexp.MustCompile(`\{[^}]*\}`)

// operation reads an operation, which has what its path item has for all its operations, too.
func (r *reader) operation(method, template string, item, object map[string]any) *Operation {
	o := &Operation{
		ID:           cmp.Or(textAt(object, "operationId"), method+" "+template),
		Method:       method,
		Template:     template,
		shape:        Shape(template),
		Says:         textAt(object, "summary") + " " + textAt(object, "description"),
		Tags:         textsOf(object["tags"]),
		Extensions:   extensions(object),
		Parameters:   r.parameters(item, object),
		Responses:    r.responses(object["responses"]),
		hasCallbacks: len(r.object(object["callbacks"])) > 0,
	}
	if body := r.object(object["requestBody"]); body != nil {
		o.Content = r.content(body["content"], r.request)
		o.needsBody = body["required"] == true
		o.lacksBody = body[unread] != nil
	}
	if said := requirements(object["security"]); said != nil {
		o.security = &said
	}
	o.fillHoles()
	literals := parameterInPath.Split(template, -1)
	for i, literal := range literals {
		literals[i] = regexp.QuoteMeta(literal)
	}
	o.path = regexp.MustCompile("^" + strings.Join(literals, "([^/]+)") + "$") // /things/{id}: ^/things/([^/]+)$
	for _, name := range parameterInPath.FindAllString(template, -1) {
		o.PathNames = append(o.PathNames, name[1:len(name)-1])
	}
	o.examples = o.parameterExamples()
	return o
}

// Declared is what the options are told about the operation. Extensions are how a document says what OpenAPI has
// no word for, as the scope that an operation needs.
func (o *Operation) Declared() scenario.Operation {
	return scenario.Operation{ID: o.ID, Extensions: o.Extensions}
}

// Matches reports whether an escaped path is one of the operation. A slash that is escaped is a part of a
// parameter, so the path must not be unescaped before.
func (o *Operation) Matches(path string) bool { return o.path.MatchString(path) }

// PathValues returns the parameters in an escaped path, in the order of PathNames; nil if it does not match.
func (o *Operation) PathValues(path string) []string {
	match := o.path.FindStringSubmatch(path)
	if match == nil {
		return nil
	}
	return match[1:]
}

// LastPathValue is the last parameter in an escaped path, unescaped; nil if the path has none, or does not match.
func (o *Operation) LastPathValue(path string) any {
	inPath := o.PathValues(path)
	if len(inPath) == 0 {
		return nil
	}
	text, _ := url.PathUnescape(inPath[len(inPath)-1]) // it was a path
	return text
}

// Above returns the path above the parameter at the end of a path: /things of /things/{id}. Without one it is the path itself.
func (o *Operation) Above() (path string, found bool) {
	return strings.CutSuffix(strings.TrimSuffix(o.Template, "/"), "/{"+o.LastPathName()+"}")
}

// LastPathName is the name of the last parameter of a path, or nothing if it has none.
func (o *Operation) LastPathName() string {
	if len(o.PathNames) == 0 {
		return ""
	}
	return o.PathNames[len(o.PathNames)-1]
}

// Shape is a path template without the names of its parameters, and without a slash at its end. Paths of one shape
// are the same to a reader, and authors name a parameter in one as they like: /things/{id} and /things/{thingId}/parts.
func Shape(template string) string {
	return strings.TrimSuffix(parameterInPath.ReplaceAllString(template, "{}"), "/")
}

// EndsWithParameter reports whether a path names one thing, and nothing below it.
func (o *Operation) EndsWithParameter() bool { return strings.HasSuffix(o.shape, "{}") }

// Prefix is the shape of a path up to the parameter with an index, or nothing before the first one, at -1. Of
// /things/{id}/parts/{part} it is /things/{} at 0.
func (o *Operation) Prefix(parameter int) string {
	if parameter < 0 {
		return ""
	}
	end := parameterInPath.FindAllStringIndex(o.Template, -1)[parameter][1]
	return Shape(o.Template[:end])
}

// Parameter returns a parameter, or nil.
func (o *Operation) Parameter(in, name string) *Parameter {
	return first(o.Parameters, func(p *Parameter) bool { return p.In == in && p.Name == name })
}

// NeedsIfMatch reports whether a request must have the header If-Match.
func (o *Operation) NeedsIfMatch() bool {
	parameter := o.Parameter("header", "If-Match")
	return parameter != nil && parameter.Required
}

// Response returns what the operation documents for a status: the status itself, its class as in 4XX,
// or the default; or nil.
func (o *Operation) Response(status int) *Response {
	_, response := o.ResponseAs(status)
	return response
}

// ResponseAs is Response with the key that it has in the document.
func (o *Operation) ResponseAs(status int) (key string, response *Response) {
	for _, candidate := range []string{strconv.Itoa(status), class(status), "default"} {
		if described := o.Responses[candidate]; described != nil {
			return candidate, described
		}
	}
	return "", nil
}

// Statuses are the keys of the documented responses, sorted.
func (o *Operation) Statuses() []string { return slices.Sorted(maps.Keys(o.Responses)) }

// class is the key of all statuses that begin as one does.
func class(status int) string { return fmt.Sprintf("%dXX", status/100) }

// Lists reports whether the document lists the status itself.
func (o *Operation) Lists(status int) bool { return o.Responses[strconv.Itoa(status)] != nil }

// Succeeds reports whether a status is a success of the operation. Where the document lists successes,
// "default" is not one of them. A default beside listed successes is for failures, whatever its status is.
func (o *Operation) Succeeds(status int) bool {
	if status >= http.StatusBadRequest {
		return false
	}
	key, _ := o.ResponseAs(status)
	isListed := key != "" && key != "default"
	return isListed || !o.listsSuccess()
}

// listsSuccess reports whether the document lists a success, as 201 or 2XX.
func (o *Operation) listsSuccess() bool {
	for key := range o.Responses {
		if strings.IndexAny(key, "23") == 0 {
			return true
		}
	}
	return false
}

// Result is the schema of what the operation responds with if it succeeds with 200, else with 201, or nil.
func (o *Operation) Result() *schema.Schema {
	for _, status := range []int{http.StatusOK, http.StatusCreated} {
		if result := o.ResultOf(status); result != nil && o.Succeeds(status) {
			return result
		}
	}
	return nil
}

// ResultOf returns the schema of the JSON in a response with a status, or nil.
func (o *Operation) ResultOf(status int) *schema.Schema {
	response := o.Response(status)
	if response == nil {
		return nil
	}
	_, described := JSONOf(response.Content)
	return described
}

// ResultName is the name of the schema of the JSON in a response with a status, or of its items; empty: it has none.
func (o *Operation) ResultName(status int) string {
	described := o.ResultOf(status)
	if described == nil {
		return ""
	}
	return cmp.Or(schema.Component(described), schema.Component(schema.Of(described.Items2020)))
}

// Sends reports whether the response that the document has for 200 has a header.
func (o *Operation) Sends(header string) bool {
	response := o.Response(http.StatusOK)
	return response != nil && HasHeader(response.Headers, header)
}

// SendsLocation reports whether any success has the header Location.
func (o *Operation) SendsLocation() bool {
	for status, response := range o.Responses {
		if strings.HasPrefix(status, "2") && HasHeader(response.Headers, "Location") {
			return true
		}
	}
	return false
}

// Streams reports whether the operation responds with an event stream.
func (o *Operation) Streams() bool {
	response := o.Response(http.StatusOK)
	return response != nil && response.Content[scenario.EventStream] != nil
}

// NeedsBody reports whether a request must have a body.
func (o *Operation) NeedsBody() bool { return o.needsBody }

// Body returns the media type of the body that tests send, which is JSON, a form or a text, and its schema; nil: they send none.
func (o *Operation) Body() (mediaType string, described *schema.Schema) { return bodyOf(o.Content) }

// HasJSON reports whether the body of the request is JSON.
func (o *Operation) HasJSON() bool {
	mediaType, _ := o.Body()
	return IsJSON(mediaType)
}

// BodySchema is the schema of the body of the request, or nil.
func (o *Operation) BodySchema() *schema.Schema {
	_, described := o.Body()
	return described
}

// BodyExamples are the named examples of the body of the request, see [Operation.Body].
func (o *Operation) BodyExamples() map[string]any {
	mediaType, described := o.Body()
	if described == nil {
		return nil
	}
	return o.Content[mediaType].Examples
}

// ExamplesOfBody are all examples of the body of the request: the named ones, the one without a name, and that of the schema.
func (o *Operation) ExamplesOfBody() (all []any) {
	mediaType, described := o.Body()
	if described == nil {
		return nil
	}
	named := o.BodyExamples()
	for _, name := range slices.Sorted(maps.Keys(named)) {
		all = append(all, named[name])
	}
	all = append(all, o.Content[mediaType].Example, schema.Example(described))
	return slices.DeleteFunc(all, func(example any) bool { return example == nil })
}

// ParameterExamples are the examples of the parameters of path and query, as a request has them.
func (o *Operation) ParameterExamples() map[string]string { return o.examples }

// parameterExamples writes the examples of the parameters of path and query. Those of headers are left out, because no example of
// a conditional one can be a version that exists.
func (o *Operation) parameterExamples() map[string]string {
	examples := map[string]string{}
	for _, parameter := range o.Parameters {
		isShown := parameter.In == "path" || parameter.In == "query"
		if text, ok := Written(parameter, jsonvalue.Normal(parameter.Example)); isShown && ok {
			examples[parameter.Name] = text
		}
	}
	return examples
}

// JSONOf returns the first media type of the content that is JSON, and its schema.
func JSONOf(content Content) (mediaType string, described *schema.Schema) {
	for _, mediaType := range slices.Sorted(maps.Keys(content)) {
		if IsJSON(mediaType) {
			return mediaType, schema.Of(content[mediaType].Schema)
		}
	}
	return "", nil
}

// IsJSON reports whether a media type is one of JSON.
func IsJSON(mediaType string) bool {
	bare := withoutParameters(mediaType)
	return bare == "application/json" || strings.HasSuffix(bare, "+json")
}

// HasHeader reports whether there is a header with a name, in upper or lower case, in a map by name.
func HasHeader[V any](headers map[string]V, name string) bool {
	for documented := range headers {
		if strings.EqualFold(documented, name) {
			return true
		}
	}
	return false
}
