package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// Case is one request that was made from the document, and how it must be
// answered. Cases are made anew from each document: an operation, a parameter or
// a keyword that it gains is tried without a word of test code.
type Case struct {
	Name string

	promise   string // the entry in the ledger that a pass makes
	route     documentRoute
	path      string // with parameters filled in
	query     string
	header    http.Header
	body      []byte
	needs     *int64 // a plant that must be there
	mayNot    []int64
	anonymous string // "none" or "bad": what is sent for credentials; "scope": a token without the scope

	want  plantapi.ErrorCode // 0: must not be refused
	in    plantapi.ErrorDetailIn
	point string // where a detail must point, if in is set
}

// suite makes cases from one document.
type suite struct {
	doc   *document
	gen   *generator
	links map[string]link // by operation: where the plant comes from that its path names
}

// link says that a path parameter of an operation takes what a body of the
// source had, as the links of the document say.
type link struct {
	source    documentRoute
	member    string // of the source's body
	parameter string
}

func newSuite(doc *document, firstID int64) *suite {
	s := &suite{doc: doc, links: map[string]link{}}
	s.gen = &generator{identities: map[*openapi3.Schema]bool{}, first: firstID, next: firstID}
	for _, r := range doc.routes {
		for _, ref := range r.operation.Responses.Map() {
			for _, l := range ref.Value.Links {
				for parameter, expression := range l.Value.Parameters {
					member, ok := strings.CutPrefix(fmt.Sprint(expression), "$request.body#/")
					if !ok {
						continue
					}
					s.links[l.Value.OperationID] = link{r, member, parameter}
					for _, media := range r.operation.RequestBody.Value.Content {
						s.gen.identities[media.Schema.Value.Properties[member].Value] = true
					}
				}
			}
		}
	}
	return s
}

// cases returns every case, in an order that does not change.
func (s *suite) cases() (all []Case) {
	for _, r := range s.doc.routes {
		all = append(all, s.credentials(r)...)
		all = append(all, s.parameters(r)...)
		if r.operation.RequestBody != nil {
			all = append(all, s.bodies(r)...)
		}
	}
	return all
}

// request returns the plainest valid request of an operation.
func (s *suite) request(r documentRoute, name, promise string) Case {
	c := Case{
		Name:    r.operation.OperationID + ", " + name,
		promise: r.operation.OperationID + ", " + promise,
		route:   r, path: r.template, header: http.Header{},
	}
	if l, ok := s.links[r.operation.OperationID]; ok {
		s.gen.next++
		id := s.gen.next
		c.needs = &id
		c.path = strings.Replace(c.path, "{"+l.parameter+"}", strconv.FormatInt(id, 10), 1)
	}
	if r.operation.RequestBody != nil {
		mediaType, schema := bodyOf(r)
		c.header.Set("Content-Type", mediaType)
		c.body = encode(s.gen.base(schema))
	}
	return c
}

// refused makes a case one that must be refused.
func (c Case) refused(code plantapi.ErrorCode) Case {
	c.want = code
	return c
}

// at makes a refusal point somewhere.
func (c Case) at(in plantapi.ErrorDetailIn, pointer string) Case {
	c.in, c.point = in, pointer
	return c
}

func (s *suite) credentials(r documentRoute) []Case {
	var all []Case
	for _, c := range []struct {
		anonymous string
		want      plantapi.ErrorCode
	}{{"none", plantapi.CodeNoCredentials}, {"bad", plantapi.CodeBadCredentials}, {"scope", plantapi.CodeInsufficientScope}} {
		request := s.request(r, "credentials "+c.anonymous, "security, "+c.anonymous).refused(c.want)
		request.anonymous = c.anonymous
		all = append(all, request)
	}
	return append(all, s.request(r, "credentials good", "security, good"))
}

// parameters tries every parameter, and one that is unknown.
func (s *suite) parameters(r documentRoute) []Case {
	var all []Case
	for _, ref := range r.operation.Parameters {
		p := ref.Value
		in := plantapi.ErrorDetailIn(p.In)
		make := func(v parameterVariant, outcome string) Case {
			keyword := fmt.Sprintf("parameter %s %s, %s", p.Name, v.keyword, outcome)
			return s.set(s.request(r, fmt.Sprintf("%s: %.40q", keyword, v.texts), keyword), p, v.texts)
		}
		for _, v := range obeyingParameter(p) {
			all = append(all, make(v, "obeyed"))
		}
		for _, v := range breakingParameter(p) {
			all = append(all, make(v, "broken").refused(plantapi.CodeInvalidParameter).at(in, "/"+p.Name))
		}
	}
	unknown := s.request(r, "unknown parameter", "unknown parameter")
	unknown.query = "unknown-parameter=1"
	if r.operation.Extensions["x-unknown-parameters"] != "ignored" {
		unknown = unknown.refused(plantapi.CodeInvalidParameter).at(plantapi.InQuery, "/unknown-parameter")
	}
	return append(all, unknown)
}

// set gives a request the texts of one parameter.
func (s *suite) set(c Case, p *openapi3.Parameter, texts []string) Case {
	switch p.In {
	case "path":
		c.path = strings.Replace(c.route.template, "{"+p.Name+"}", url.PathEscape(texts[0]), 1)
		c.needs = nil
		if id, err := strconv.ParseInt(texts[0], 10, 64); err == nil {
			c.needs, c.mayNot = &id, []int64{id}
		}
	case "query":
		c.query = url.Values{p.Name: texts}.Encode()
	case "header":
		c.header[http.CanonicalHeaderKey(p.Name)] = texts
	}
	return c
}

// parameterVariant is a parameter as it is written, with one thing about it.
type parameterVariant struct {
	keyword string
	texts   []string // more than one: the parameter is there more than once
}

func obeyingParameter(p *openapi3.Parameter) (all []parameterVariant) {
	s := p.Schema.Value
	if p.Example != nil {
		if s.Example == nil {
			copied := *s
			s, copied.Example = &copied, p.Example
		}
		all = append(all, parameterVariant{"example", []string{fmt.Sprint(p.Example)}})
	}
	g := &generator{}
	for _, v := range g.obeying(s) {
		if text, ok := v.value.(string); ok && p.In == "header" && s.Pattern == "" && text != strings.TrimSpace(text) {
			continue // no header has spaces around it
		}
		all = append(all, parameterVariant{v.keyword, []string{fmt.Sprint(v.value)}})
	}
	return all
}

func breakingParameter(p *openapi3.Parameter) (all []parameterVariant) {
	add := func(keyword string, texts ...string) {
		all = append(all, parameterVariant{keyword, texts})
	}
	s := p.Schema.Value
	switch {
	case s.Type.Is("integer"):
		for _, text := range []string{"x", "+1", "01", "-0", "1.0", "1e0", "1 ", "1,2", "0x1", "١"} {
			add("type", text)
		}
		if p.In == "query" {
			add("type", "")
		}
		low, high := limits(s)
		add(edge(s.Min != nil, "minimum", "format"), oneOff(low, -1).String())
		add(edge(s.Max != nil, "maximum", "format"), oneOff(high, 1).String())
		if s.Format == "int32" {
			add("format", strconv.Itoa(math.MaxInt32+1))
		}
	case s.Pattern != "":
		add("pattern", unmatched(s))
	case p.In == "query":
		add("type", "\xff") // no string is made of this
	}
	if p.In == "query" {
		all = append(all, parameterVariant{"once", []string{"1", "1"}})
	}
	return all
}

// parameterKeywords lists what there is to obey and to break in a parameter.
func parameterKeywords(p *openapi3.Parameter) (all []string) {
	at := "parameter " + p.Name
	for _, keyword := range keywords(p.Schema.Value, at) {
		if strings.Contains(keyword, " nullable, ") || keyword == at+" type, broken" && p.In == "header" {
			continue // text is never null, and any text is a string
		}
		if keyword == at+" type, broken" && p.In == "path" && !p.Schema.Value.Type.Is("integer") {
			continue
		}
		all = append(all, keyword)
	}
	if p.In == "query" {
		all = append(all, at+" once, broken")
	}
	return all
}

// bodies tries the body: as it should be, in every way that its schema allows
// and forbids, of another media type, malformed, and missing.
func (s *suite) bodies(r documentRoute) []Case {
	mediaType, schema := bodyOf(r)
	var all []Case
	add := func(name, promise string, body []byte) *Case {
		c := s.request(r, name, promise)
		c.body = body
		all = append(all, c)
		return &all[len(all)-1]
	}
	for _, v := range s.gen.obeying(schema) {
		promise := fmt.Sprintf("body %s %s, obeyed", place(v.pointer), v.keyword)
		c := add(promise+fmt.Sprintf(": %.60s", encode(v.value)), promise, encode(v.value))
		c.mayNot = s.notFresh(schema, v.value)
	}
	for _, v := range s.gen.breaking(schema) {
		at := place(strings.TrimSuffix(v.pointer, "/"+unknownMember)) // the object is what forbids it
		promise := fmt.Sprintf("body %s %s, broken", at, v.keyword)
		c := add(promise+fmt.Sprintf(": %.60s", encode(v.value)), promise, encode(v.value))
		*c = c.refused(plantapi.CodeInvalidBody).at(plantapi.InBody, v.pointer)
		c.mayNot = s.notFresh(schema, v.value)
	}
	examples := requestExamples(r)
	for _, name := range slices.Sorted(maps.Keys(examples)) {
		value := normal(examples[name].Examples[name].Value.Value)
		c := add("example "+name, "request example "+name, encode(value))
		c.mayNot = s.notFresh(schema, value)
	}

	plain := func() []byte { return encode(s.gen.base(schema)) }
	add("media type, obeyed", "media type "+mediaType+", obeyed", plain()).header.Set("Content-Type", mediaType+"; charset=utf-8")
	for _, other := range []string{"", "text/plain", "application/xml", mediaType + "; charset=utf-16", mediaType + "x"} {
		c := add(fmt.Sprintf("media type %q", other), "media type "+mediaType+", broken", plain())
		*c = c.refused(plantapi.CodeUnsupportedMediaType)
		c.header.Set("Content-Type", other)
	}
	missing := add("no body", "body required, broken", nil)
	*missing = missing.refused(plantapi.CodeMissingBody)
	base := string(plain())
	for _, malformed := range [][2]string{
		{"truncated", base[:len(base)-1]},
		{"trailing value", base + "{}"},
		{"trailing byte", base + "x"},
		{"not UTF-8", strings.Replace(base, "Ficus", "\xff", 1)},
		{"lone surrogate", strings.Replace(base, "Ficus", `\ud800`, 1)},
		{"a member twice", strings.Replace(base, "{", `{"x":1,"x":1,`, 1)},
		{"nested deep", strings.Repeat("[", 100) + strings.Repeat("]", 100)},
		{"no JSON", "plant"},
	} {
		if malformed[1] != base {
			c := add("malformed body: "+malformed[0], "body well-formed, broken", []byte(malformed[1]))
			*c = c.refused(plantapi.CodeMalformedBody)
		}
	}
	return all
}

// bodyPromises lists what bodies has to try.
func bodyPromises(r documentRoute) []string {
	if r.operation.RequestBody == nil {
		return nil
	}
	mediaType, schema := bodyOf(r)
	all := []string{"media type " + mediaType + ", obeyed", "media type " + mediaType + ", broken", "body required, broken", "body well-formed, broken"}
	return append(all, keywords(schema, "body ")...)
}

// bodyOf returns the media type of an operation's body and its schema.
func bodyOf(r documentRoute) (string, *openapi3.Schema) {
	content := r.operation.RequestBody.Value.Content
	mediaType := slices.Sorted(maps.Keys(content))[0]
	return mediaType, content[mediaType].Schema.Value
}

// identities lists the ids in a body.
func (s *suite) identities(schema *openapi3.Schema, value any) (ids []int64) {
	switch value := value.(type) {
	case int64:
		if s.gen.identities[schema] {
			return []int64{value}
		}
	case json.Number:
		if n, err := value.Int64(); err == nil && s.gen.identities[schema] {
			return []int64{n}
		}
	case []any:
		if schema.Items != nil {
			for _, item := range value {
				ids = append(ids, s.identities(schema.Items.Value, item)...)
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if property := schema.Properties[name]; property != nil {
				ids = append(ids, s.identities(property.Value, value[name])...)
			}
		}
	}
	return ids
}

// notFresh lists the ids in a body that the generator has not drawn: the ends of
// the range and the like, which other cases use, too.
func (s *suite) notFresh(schema *openapi3.Schema, value any) []int64 {
	return slices.DeleteFunc(s.identities(schema, value), func(id int64) bool { return s.gen.first < id && id <= s.gen.next })
}

// encode writes a value as the body of a request.
func encode(value any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		panic(err) // only values of our own making come here
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}
