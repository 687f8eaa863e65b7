package contracttest

import (
	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"

	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// resource is something that operations create and work on.
type resource struct {
	create   *document.Operation
	member   string // of the create's body, or of its response, that identifies it
	assigned bool
	schema   *openapi3.Schema               // of the identity
	uses     map[string]*document.Operation // the operations on one resource, by method
	inferred bool
	plain    bool // a create succeeds only without what is optional
}

// resourceUse says that a path parameter of an operation identifies a resource.
type resourceUse struct {
	*resource
	parameter string
}

// findResources finds the resources that links and the options declare, and infers others.
func (s *suite) findResources() {
	s.uses = map[*document.Operation]*resourceUse{}
	for _, r := range s.document.Operations {
		for _, response := range r.Spec.Responses.Map() {
			for _, name := range slices.Sorted(maps.Keys(response.Value.Links)) {
				s.addLink(r, response.Value.Links[name].Value)
			}
		}
	}
	for _, declared := range s.contract.options.Resources {
		s.addResource(declared, false)
	}
	s.inferResources()
	s.findLists()
}

// addResource adds a resource of the options, or an inferred one. An operation that was declared for
// another resource stays with that.
func (s *suite) addResource(declared Resource, inferred bool) {
	create := s.document.Operation(declared.Create)
	for _, id := range []string{declared.Read, declared.Replace, declared.Change, declared.Delete} {
		if r := s.document.Operation(id); r != nil && create != nil && len(r.PathNames) > 0 && !(inferred && s.uses[r] != nil) {
			s.addUse(create, r, declared.ID, declared.Assigned, r.PathNames[len(r.PathNames)-1], inferred)
		}
	}
}

// resourceOf returns the resource that an operation creates or works on, or nil.
func (s *suite) resourceOf(r *document.Operation) *resource {
	return firstWhere(s.resources, func(x *resource) bool { return x.create == r || x.uses[r.Method] == r })
}

func (s *suite) addLink(from *document.Operation, link *openapi3.Link) {
	to := s.document.Operation(link.OperationID)
	for parameter, expression := range link.Parameters {
		text := fmt.Sprint(expression)
		in, member, inBody := strings.Cut(text, ".body#/")
		sent := in == "$request"
		if !inBody || !sent && in != "$response" {
			s.skip("%s, link to %s by %s", from.ID, link.OperationID, text)
			continue
		}
		if to == nil || from.Method != http.MethodPost || len(from.PathNames) > 0 || len(to.PathNames) != 1 || strings.Contains(member, "/") {
			s.skip("%s, link to %s: only a POST without path parameters can be followed", from.ID, link.OperationID)
			continue
		}
		s.addUse(from, to, member, !sent, strings.TrimPrefix(parameter, "path."), false)
	}
}

func (s *suite) addUse(create, r *document.Operation, member string, assigned bool, parameter string, inferred bool) {
	x := firstWhere(s.resources, func(x *resource) bool { return x.create == create })
	if x == nil {
		x = &resource{create: create, member: member, assigned: assigned, uses: map[string]*document.Operation{}, inferred: inferred}
		if _, schema := create.Body(); schema != nil {
			if property := s.gen.flatten(schema).Properties[member]; property != nil && !s.gen.absent(property.Value) {
				s.gen.identities[property.Value] = true // also of one that the service may not take over
				if !assigned {
					x.schema = property.Value
				}
			}
		}
		s.resources = append(s.resources, x)
	}
	if x.schema == nil { // the service assigns it: the path says what it looks like
		p := r.Parameter("path", parameter)
		if p == nil {
			return
		}
		x.schema, _ = document.ParameterSchema(p)
	}
	x.uses[r.Method] = r
	s.uses[r] = &resourceUse{x, parameter}
}

// create creates a resource with values that vary, and returns what was sent and its identity.
func (v *Session) create(x *resource, id any) (sent map[string]any, identity any) {
	return v.createAs(x, id, nil)
}

// createAs is create with a body; nil is one that varies.
func (v *Session) createAs(x *resource, id any, body map[string]any) (sent map[string]any, identity any) {
	_, schema := x.create.Body()
	if sent = x.identified(body, id); schema != nil && sent == nil {
		if sent = v.varied(x, id); sent == nil {
			v.Failf("the body of %s is not an object", x.create.ID)
		}
	}
	if sent == nil {
		sent = map[string]any{}
	}
	if x.inferred {
		v.doubted = x
	}
	before := v.failures
	got := v.on(x.create, id, nil, sent)
	if got.Status >= 400 && body == nil && schema != nil && !x.plain && x.create.Method == http.MethodPost {
		// An optional member that makes it fail must not hide all else. Tests of the create report it.
		x.plain = true
		plain := v.varied(x, id)
		again := v.on(x.create, id, nil, plain)
		if x.plain = again.Status < 400; x.plain {
			v.failures, sent, got = before, plain, again
		}
	}
	if x.inferred && x.create.Method == http.MethodPut && got.Status == http.StatusNotFound {
		panic(noResource) // it only replaces
	}
	v.Accepted(got)
	if x.assigned { // also if the service lets the client propose one
		sent = maps.Clone(sent)
		delete(sent, x.member)
	}
	v.shows(got, sent, x.create)
	if !x.assigned {
		return sent, id
	}
	identity = got.Object()[x.member]
	if identity == nil && x.inferred {
		identity = v.locatedID(x, got)
	} else if identity == nil {
		v.Failf("the response to a create has no %s: %s", x.member, got.Body)
	}
	return sent, identity
}

// identified gives the body of a create an identity, if the client chooses that.
func (x *resource) identified(body map[string]any, id any) map[string]any {
	if body != nil && !x.assigned && x.create.Method == http.MethodPost {
		body[x.member] = id
	}
	return body
}

// varied draws the body of a create.
func (v *Session) varied(x *resource, id any) map[string]any {
	_, schema := x.create.Body()
	if schema == nil {
		return nil
	}
	body, _ := v.suite.gen.varied(schema).(map[string]any)
	if x.plain {
		required := v.suite.gen.flatten(schema).Required
		maps.DeleteFunc(body, func(name string, _ any) bool { return !slices.Contains(required, name) })
	}
	return x.identified(body, id)
}

// locatedID is the identity in Location.
func (v *Session) locatedID(x *resource, created Interaction) any {
	if location := created.Header.Get("Location"); location != "" {
		path, _ := v.leadsTo(created, location)
		if match := x.uses[http.MethodGet].PathValues(path); match != nil {
			if id, err := url.PathUnescape(match[0]); err == nil {
				return id
			}
		}
	}
	panic(untried("the response to a create does not say what it has created"))
}

// on calls an operation, on one resource if its path names one.
func (v *Session) on(r *document.Operation, id any, header http.Header, body any) Interaction {
	path := r.Template
	if use := v.suite.uses[r]; use != nil {
		if p := r.Parameter("path", use.parameter); p != nil {
			text, _ := document.Written(p, id)
			path = strings.Replace(path, "{"+use.parameter+"}", text, 1)
		}
		if object, ok := body.(map[string]any); ok && object[use.member] != nil {
			body = maps.Clone(object) // whose identity must be that of the path
			body.(map[string]any)[use.member] = id
		}
	}
	if header == nil {
		header = http.Header{}
	}
	if p := r.Spec.Parameters.GetByInAndName("header", "If-Match"); p != nil && p.Required && header.Get("If-Match") == "" && v.suite.uses[r] != nil {
		if got := v.read(v.suite.uses[r].resource, id); got != nil && got.Header.Get("ETag") != "" {
			header.Set("If-Match", got.Header.Get("ETag"))
		}
	}
	query := v.required(r, header)
	var encoded []byte
	if mediaType, _ := r.Body(); body != nil && mediaType != "" {
		header.Set("Content-Type", mediaType)
		encoded = jsonvalue.Encode(body)
	}
	return v.send(r, path, query, header, encoded)
}

// required returns the parameters that a query needs, and adds the headers that a request needs.
func (v *Session) required(r *document.Operation, header http.Header) (query []string) {
	for _, p := range r.Parameters {
		if p.Required && p.In == "query" {
			pair, _ := v.suite.gen.baseParameter(p)
			query = append(query, pair)
		}
		if p.Required && p.In == "header" && header.Get(p.Name) == "" {
			value, _ := v.suite.gen.baseParameter(p)
			header.Set(p.Name, value)
		}
	}
	return query
}

// plainBody is the plainest body of an operation, or nil.
func (v *Session) plainBody(r *document.Operation) any {
	if _, schema := r.Body(); schema != nil {
		return v.suite.gen.base(schema)
	}
	return nil
}

func (v *Session) read(x *resource, id any) *Interaction {
	get := x.uses[http.MethodGet]
	if get == nil {
		return nil
	}
	got := v.on(get, id, nil, nil)
	return &got
}

// unchanged fails if a resource is not as before.
func (v *Session) unchanged(x *resource, id any, before []byte, what string, args ...any) {
	if after := v.read(x, id); !bytes.Equal(before, after.Body) {
		v.Failf("%s has changed %v from %s to %s", fmt.Sprintf(what, args...), id, before, after.Body)
	}
}

func (v *Session) remove(x *resource, id any) {
	r := x.uses[http.MethodDelete]
	if r == nil {
		return
	}
	for _, p := range r.Parameters {
		if _, ok := document.Written(p, id); ok && p.In == "path" {
			v.on(r, id, nil, nil)
		}
	}
}

// varied is base with other values wherever the schema leaves them open, so that no two
// resources are alike.
func (g *generator) varied(s *openapi3.Schema) any {
	object, ok := g.base(s).(map[string]any)
	flat := g.flatten(s)
	for _, name := range slices.Sorted(maps.Keys(flat.Properties)) {
		property := flat.Properties[name].Value
		if old := object[name]; old != nil && !g.identities[property] {
			object[name] = g.vary(property, old)
		}
	}
	if !ok || !g.valid(s, object) {
		return g.base(s)
	}
	return object
}

func (g *generator) vary(s *openapi3.Schema, old any) any {
	flat, n := g.flatten(s), g.next.Add(1)
	var value any
	switch old.(type) {
	case bool:
		value = n%2 == 0
	case int64:
		low, high := limits(flat)
		low = max(low, 1)
		value = low + n%min(max(high-low, 0)+1, 1000)
	case json.Number:
		value = json.Number(fmt.Sprint(n % 100))
	case string:
		if value = fmt.Sprint("Ficus ", n); len(flat.Enum) > 0 {
			value = jsonvalue.Normal(flat.Enum[n%int64(len(flat.Enum))])
		}
	case []any:
		if value = old; flat.Items != nil {
			value = g.many(flat, flat.MinItems, g.vary(flat.Items.Value, g.base(flat.Items.Value)))
		}
	}
	if value == nil || !g.valid(s, value) {
		return old
	}
	return value
}
