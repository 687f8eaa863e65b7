package contracttest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// resource is something that operations create and work on.
type resource struct {
	create   *route
	member   string // of the create's body, or of its response, that identifies it
	assigned bool
	schema   *openapi3.Schema  // of the identity
	uses     map[string]*route // the operations on one resource, by method
}

// resourceUse says that a path parameter of an operation identifies a resource.
type resourceUse struct {
	*resource
	parameter string
}

// findResources finds the resources that links and the options declare.
func (s *suite) findResources() {
	s.uses = map[*route]*resourceUse{}
	for _, r := range s.document.routes {
		for _, response := range r.operation.Responses.Map() {
			for _, name := range slices.Sorted(maps.Keys(response.Value.Links)) {
				s.addLink(r, response.Value.Links[name].Value)
			}
		}
	}
	for _, declared := range s.contract.options.Resources {
		create := s.document.operation(declared.Create)
		for _, id := range []string{declared.Read, declared.Replace, declared.Change, declared.Delete} {
			if r := s.document.operation(id); r != nil && create != nil && len(r.names) > 0 {
				s.addUse(create, r, declared.ID, declared.Assigned, r.names[len(r.names)-1])
			}
		}
	}
	s.findFeeds()
}

func (s *suite) addLink(from *route, link *openapi3.Link) {
	to := s.document.operation(link.OperationID)
	for parameter, expression := range link.Parameters {
		text := fmt.Sprint(expression)
		member, sent := strings.CutPrefix(text, "$request.body#/")
		if !sent {
			var received bool
			if member, received = strings.CutPrefix(text, "$response.body#/"); !received {
				s.skip("%s, link to %s by %s", from.operation.OperationID, link.OperationID, text)
				continue
			}
		}
		if to == nil || from.method != http.MethodPost || len(from.names) > 0 || len(to.names) != 1 || strings.Contains(member, "/") {
			s.skip("%s, link to %s: only a POST without path parameters can be followed", from.operation.OperationID, link.OperationID)
			continue
		}
		s.addUse(from, to, member, !sent, strings.TrimPrefix(parameter, "path."))
	}
}

func (s *suite) addUse(create, r *route, member string, assigned bool, parameter string) {
	i := slices.IndexFunc(s.resources, func(x *resource) bool { return x.create == create })
	if i < 0 {
		x := &resource{create: create, member: member, assigned: assigned, uses: map[string]*route{}}
		if _, schema := create.body(); !assigned && schema != nil {
			if property := s.gen.flatten(schema).Properties[member]; property != nil {
				x.schema = property.Value
				s.gen.identities[x.schema] = true
			}
		}
		i, s.resources = len(s.resources), append(s.resources, x)
	}
	x := s.resources[i]
	if x.schema == nil { // the service assigns it: the path says what it looks like
		p := slices.IndexFunc(r.parameters, func(p *openapi3.Parameter) bool { return p.Name == parameter })
		if p < 0 {
			return
		}
		x.schema, _ = parameterSchema(r.parameters[p])
	}
	x.uses[r.method] = r
	s.uses[r] = &resourceUse{x, parameter}
}

// Create creates a resource and returns what was sent and its identity. The
// resource is that of the operation with the given id.
func (v *Session) create(x *resource, id any) (sent map[string]any, identity any) {
	return v.createAs(x, id, nil)
}

// createAs is create with a body; nil is the plainest one.
func (v *Session) createAs(x *resource, id any, body map[string]any) (sent map[string]any, identity any) {
	mediaType, schema := x.create.body()
	if sent = body; schema != nil && sent == nil {
		sent, _ = v.suite.gen.base(schema).(map[string]any)
		if sent == nil {
			v.Failf("the body of %s is not an object", x.create.operation.OperationID)
		}
	}
	if sent == nil {
		sent = map[string]any{}
	} else if !x.assigned {
		sent[x.member] = id
	}
	got := v.send(x.create, x.create.template, nil, http.Header{"Content-Type": {mediaType}}, encode(sent))
	v.Accepted(got)
	v.shows(got, sent, x.create)
	if !x.assigned {
		return sent, id
	}
	value, err := decode(got.Body)
	object, ok := value.(map[string]any)
	if err != nil || !ok || object[x.member] == nil {
		v.Failf("the response to a create has no %s: %s", x.member, got.Body)
	}
	return sent, object[x.member]
}

// on calls an operation on one resource.
func (v *Session) on(r *route, id any, header http.Header, body any) Interaction {
	use := v.suite.uses[r]
	text := ""
	for _, p := range r.parameters {
		if p.In == "path" && p.Name == use.parameter {
			text, _ = written(p, id)
		}
	}
	path := strings.Replace(r.template, "{"+use.parameter+"}", text, 1)
	if header == nil {
		header = http.Header{}
	}
	var query []string
	for _, p := range r.parameters {
		if p.Required && p.In == "query" {
			pair, _ := v.suite.gen.baseParameter(p)
			query = append(query, pair)
		}
		if p.Required && p.In == "header" && header.Get(p.Name) == "" {
			value, _ := v.suite.gen.baseParameter(p)
			header.Set(p.Name, value)
		}
	}
	var encoded []byte
	if body != nil {
		mediaType, _ := r.body()
		header.Set("Content-Type", mediaType)
		encoded = encode(body)
	}
	return v.send(r, path, query, header, encoded)
}

// plainBody is the plainest body of an operation, or nil.
func (v *Session) plainBody(r *route) any {
	if _, schema := r.body(); schema != nil {
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

func (v *Session) remove(x *resource, id any) {
	if r := x.uses[http.MethodDelete]; r != nil {
		v.on(r, id, nil, nil)
	}
}
