package contracttest

import (
	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/judge"

	"net/url"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// oddBodies are bodies that services have crashed on: whatever the document says, the
// response must be one that it has, and not a failure of the service.
var oddBodies = []string{
	`[]`, `[[1]]`, `0`, `-1`, `1e999`, `"text"`, `true`, `null`, `{"":null}`, `{"a":{"b":[[[{}]]]}}`, "\xff", "{\"\xff\":\"\xff\"}", "\x00", "{",
}

// oddTexts are values of parameters in a path or a query, as they are sent, to the same end.
var oddTexts = []string{"%00", "%0A", "%7F", "%FF", "%25", "%20", "-", "99999999999999999999", "%F0%9F%8C%B5", "%22"}

// oddParameters tries odd texts for a parameter.
func (s *suite) oddParameters(r *document.Operation, p *openapi3.Parameter) (all []*testCase) {
	for _, text := range oddTexts {
		c := s.request(r, "odd parameter "+p.Name+": "+text, "odd parameter "+p.Name+", survived")
		c.use, c.id, c.odd = nil, nil, true
		if p.In == "query" {
			text = url.QueryEscape(p.Name) + "=" + text
		}
		c.set(p, text)
		all = append(all, c)
	}
	return all
}

// renamed gives an unknown member another name, if that changes nothing else.
func (g *generator) renamed(s *openapi3.Schema, v variant, name string) variant {
	if value := renameMember(v.value, name); g.valid(s, value) == g.valid(s, v.value) {
		v.value, v.pointer = value, strings.Replace(v.pointer, "/"+judge.UnknownMember, "/"+jsonvalue.Escape(name), 1)
	}
	return v
}

func renameMember(value any, name string) any {
	value = jsonvalue.Map(value, func(_ string, inner any) any { return renameMember(inner, name) })
	object := jsonvalue.Object(value)
	if inner, has := object[judge.UnknownMember]; has {
		delete(object, judge.UnknownMember)
		object[name] = inner
	}
	return value
}
