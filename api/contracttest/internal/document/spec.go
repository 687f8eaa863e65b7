package document

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// What a document is made of, beside its operations. A reader takes it from the tree of the document, in which each schema
// is a reference into the library of schemas. What has the wrong type there is read as if it were absent.

// Parameter is a parameter of a request.
type Parameter struct {
	Name, In, Description string
	Required              bool
	Style                 string // empty: that of its place
	Explode               *bool  // nil: as its style says
	Schema                *schema.Schema
	Content               Content
	Example               any
	AllowEmptyValue       bool
}

// Content is a body by media type.
type Content map[string]*MediaType

// MediaType is what a body of a media type looks like.
type MediaType struct {
	Schema   *schema.Schema
	Example  any
	Examples map[string]any
}

// Response is what an operation may respond with.
type Response struct {
	Headers map[string]*Header
	Content Content
	Links   map[string]*Link
}

// Header is a header of a response.
type Header struct {
	Required bool
	Schema   *schema.Schema
}

// Link says which operation takes what a response has.
type Link struct {
	OperationID string
	Parameters  map[string]any
}

// Scheme is a security scheme.
type Scheme struct{ Type, Scheme, Name, In string }

// Requirement is a set of security schemes that opens an operation, by name, with scopes.
type Requirement map[string][]string

// Server is where a service may be.
type Server struct {
	URL       string
	Variables map[string]string // with their defaults
}

// Get returns what describes a media type: one with the same parameters, the type itself, or a range with it. Documents also
// have parameters in their keys, as "application/json; charset=utf-8", which a message need not have.
func (c Content) Get(mediaType string) *MediaType {
	bare := withoutParameters(mediaType)
	kind, _, _ := strings.Cut(bare, "/")
	all := jsonvalue.Names(c)
	for _, key := range all {
		if same := strings.EqualFold(withoutSpaces(key), withoutSpaces(mediaType)); same {
			return c[key]
		}
	}
	for _, wanted := range []string{bare, kind + "/*", "*/*"} {
		for _, key := range all {
			if withoutParameters(key) == wanted {
				return c[key]
			}
		}
	}
	return nil
}

func withoutSpaces(mediaType string) string { return strings.ReplaceAll(mediaType, " ", "") }

// withoutParameters is the type and the subtype, in small letters.
func withoutParameters(mediaType string) string {
	bare, _, _ := strings.Cut(mediaType, ";")
	return strings.ToLower(strings.TrimSpace(bare))
}

// reader takes the parts of a document from its tree.
type reader struct {
	root              map[string]any
	request, received *schema.Schemas
}

// object returns the object that a node is, or that it refers to; nil: there is none.
func (r *reader) object(node any) map[string]any {
	return jsonvalue.Object(jsonvalue.Resolve(r.root, node))
}

// component returns the components of a kind.
func (r *reader) component(kind string) map[string]any {
	return r.object(r.object(r.root["components"])[kind])
}

// textAt is a member of an object that is a text, or nothing.
func textAt(object map[string]any, name string) string {
	text, _ := object[name].(string)
	return text
}

// textsOf are the texts in a list.
func textsOf(node any) (all []string) {
	for _, item := range jsonvalue.List(node) {
		if text, isText := item.(string); isText {
			all = append(all, text)
		}
	}
	return all
}

// parameter reads a parameter. One of the path is required, which some documents forget to say. Its example is the one that stands
// alone, or else the first by name of several.
func (r *reader) parameter(node any) *Parameter {
	object := r.object(node)
	p := &Parameter{
		Name:            textAt(object, "name"),
		In:              textAt(object, "in"),
		Description:     textAt(object, "description"),
		Required:        object["required"] == true || object["in"] == "path",
		AllowEmptyValue: object["allowEmptyValue"] == true,
		Style:           textAt(object, "style"),
		Schema:          r.request.Of(object["schema"]),
		Content:         r.content(object["content"], r.request),
		Example:         object["example"],
	}
	examples := r.object(object["examples"])
	for _, name := range jsonvalue.Names(examples) {
		if p.Example == nil {
			p.Example = r.object(examples[name])["value"]
		}
	}
	if explode, isSaid := object["explode"].(bool); isSaid {
		p.Explode = &explode
	}
	return p
}

// content reads bodies by media type.
func (r *reader) content(node any, schemas *schema.Schemas) Content {
	content := Content{}
	for mediaType, node := range r.object(node) {
		object := r.object(node)
		media := &MediaType{Schema: schemas.Of(object["schema"]), Example: object["example"], Examples: map[string]any{}}
		for name, example := range r.object(object["examples"]) {
			media.Examples[name] = r.object(example)["value"]
		}
		content[mediaType] = media
	}
	return content
}

// headers reads headers by name.
func (r *reader) headers(node any) map[string]*Header {
	headers := map[string]*Header{}
	for name, node := range r.object(node) {
		object := r.object(node)
		headers[name] = &Header{Required: object["required"] == true, Schema: r.received.Of(object["schema"])}
	}
	return headers
}

// responses reads responses by status. Members that begin with x- are extensions.
func (r *reader) responses(node any) map[string]*Response {
	responses := map[string]*Response{}
	for status, node := range r.object(node) {
		if strings.HasPrefix(status, "x-") {
			continue
		}
		object := r.object(node)
		response := &Response{
			Headers: r.headers(object["headers"]), Content: r.content(object["content"], r.received), Links: map[string]*Link{},
		}
		for name, node := range r.object(object["links"]) {
			link := r.object(node)
			response.Links[name] = &Link{OperationID: textAt(link, "operationId"), Parameters: r.object(link["parameters"])}
		}
		responses[status] = response
	}
	return responses
}

// requirements reads what opens an operation; nil: nothing is said of it.
func requirements(node any) []Requirement {
	if node == nil {
		return nil
	}
	all := []Requirement{}
	for _, item := range jsonvalue.List(node) {
		requirement := Requirement{}
		for name, scopes := range jsonvalue.Object(item) {
			requirement[name] = textsOf(scopes)
		}
		all = append(all, requirement)
	}
	return all
}

// schemes reads the security schemes.
func (r *reader) schemes() map[string]*Scheme {
	schemes := map[string]*Scheme{}
	for name, node := range r.component("securitySchemes") {
		object := r.object(node)
		schemes[name] = &Scheme{
			Type: textAt(object, "type"), Scheme: textAt(object, "scheme"), Name: textAt(object, "name"), In: textAt(object, "in"),
		}
	}
	return schemes
}

// servers reads where the service may be.
func (r *reader) servers() (all []Server) {
	for _, node := range jsonvalue.List(r.root["servers"]) {
		object := r.object(node)
		server := Server{URL: textAt(object, "url"), Variables: map[string]string{}}
		for name, variable := range r.object(object["variables"]) {
			server.Variables[name] = textAt(r.object(variable), "default")
		}
		all = append(all, server)
	}
	return all
}

// operations reads the operations of all paths. One that has something of the wrong type is reported and left out. If no
// operation is left, the last such report is an error.
func (r *reader) operations(report reporter) (all []*Operation, wrong error) {
	paths := r.object(r.root["paths"])
	for _, template := range jsonvalue.Names(paths) {
		item := r.object(paths[template])
		for _, method := range methods {
			if item[method] == nil {
				continue
			}
			name := strings.ToUpper(method)
			object := r.object(item[method])
			if member := r.wrongMember(item, object); member != "" {
				wrong = fmt.Errorf("%s %s: %s has the wrong type", name, template, member)
				report("%s", wrong)
				continue
			}
			all = append(all, r.operation(name, template, item, object))
		}
	}
	if len(all) == 0 {
		return nil, wrong
	}
	return all, nil
}

// wrongMember is a member of an operation that has the wrong type, or nothing.
func (r *reader) wrongMember(item, operation map[string]any) string {
	if operation == nil {
		return "the operation"
	}
	for _, name := range []string{"responses", "requestBody"} {
		if operation[name] != nil && jsonvalue.Object(operation[name]) == nil {
			return name
		}
	}
	for _, parameters := range []any{operation["parameters"], item["parameters"]} {
		if parameters != nil && jsonvalue.List(parameters) == nil {
			return "parameters"
		}
		for _, node := range jsonvalue.List(parameters) {
			parameter := r.object(node)
			if member := wrongIn(parameter); member != "" {
				return fmt.Sprintf("%s of the parameter %v", member, parameter["name"])
			}
		}
	}
	return ""
}

// wrongIn is a member of a parameter that has the wrong type, or nothing.
func wrongIn(parameter map[string]any) string {
	for _, name := range jsonvalue.Names(typed) {
		if value := parameter[name]; value != nil && reflect.TypeOf(value) != reflect.TypeOf(typed[name]) {
			return name
		}
	}
	return ""
}

// typed is a parameter whose members have the types that they must have.
var typed = map[string]any{"name": "", "in": "", "style": "", "required": false, "explode": false}

// extensions are the members of an object that begin with x-.
func extensions(object map[string]any) map[string]any {
	own := maps.Clone(object)
	maps.DeleteFunc(own, func(name string, _ any) bool { return !strings.HasPrefix(name, "x-") })
	return own
}

// methods are the members of a path that are operations. Others, such as its parameters, are for all of them.
var methods = []string{"get", "put", "post", "delete", "options", "head", "patch", "trace"}

// reserved are headers that OpenAPI says are no parameters: HTTP, and the security of the document, have them.
var reserved = []string{"Accept", "Content-Type", "Authorization"}

// isReserved reports whether OpenAPI ignores a parameter.
func isReserved(parameter *Parameter) bool {
	return parameter.In == "header" && slices.Contains(reserved, http.CanonicalHeaderKey(parameter.Name))
}

// parameters reads the parameters of an operation, which replace those of its path with the same name.
func (r *reader) parameters(item, operation map[string]any) (all []*Parameter) {
	for _, node := range jsonvalue.List(operation["parameters"]) {
		all = append(all, r.parameter(node))
	}
	own := len(all)
	for _, node := range jsonvalue.List(item["parameters"]) {
		parameter := r.parameter(node)
		isReplaced := slices.ContainsFunc(all[:own], func(other *Parameter) bool {
			return other.In == parameter.In && other.Name == parameter.Name
		})
		if !isReplaced {
			all = append(all, parameter)
		}
	}
	return slices.DeleteFunc(all, isReserved)
}
