package contracttest

import (
	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/judge"
	sch "github.com/plantstore/plantstore/api/contracttest/internal/schema"

	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// testCase is one request that was made from the document, and how the service
// must respond to it.
type testCase struct {
	name    string
	promise string // what a pass shows

	route      *document.Operation
	parameters map[string]string // of the path, escaped
	query      []string
	header     http.Header
	cookies    []string
	body       []byte

	use         *resourceUse // the resource that the path names, if a test can create it
	id          any          // its identity, if the request has it
	absent      bool         // the path names something that does not exist
	madeUp      bool         // a position in a list is not from a response
	mayNot      []any        // identities that other cases use, too; they are removed first
	credentials func(*Session) (Credentials, bool)

	why     *Violation   // nil: the service must not refuse it
	odd     bool         // it may refuse it or not, but must not fail
	compare func() error // with the second oracle, whether the document allows the request
}

// suite makes cases from one document.
type suite struct {
	skips
	contract  *Contract
	document  *document.Document
	gen       *generator
	resources []*resource
	uses      map[*document.Operation]*resourceUse
	lists     []lister
	inferred  []string // see [Report.Inferred]

	demanded []string // promises of constraints, whether cases try them or not
}

// manyOperations is the size from which fewer values are tried in each place.
const manyOperations = 25

func newSuite(c *Contract) *suite {
	s := &suite{contract: c, document: c.document, gen: newGenerator(cmp.Or(c.options.FirstID, 1_000_000), c.options.Rules)}
	s.gen.enough, s.gen.random = cmp.Or(c.enough, enough), rand.New(rand.NewPCG(c.seed, 0))
	s.gen.plain = len(s.document.Operations) > manyOperations
	s.findResources()
	return s
}

// cases returns every case, in an order that does not change.
func (s *suite) cases() (all []*testCase) {
	for _, r := range s.document.Operations {
		found := slices.Concat(s.credentials(r), s.parameterCases(r))
		_, schema := r.Body()
		if schema != nil {
			found = append(found, s.bodies(r)...)
		}
		if r.Spec.RequestBody != nil {
			s.skipMediaTypes(r)
		}
		if name := s.unwritable(r); name != "" {
			s.skip("%s, requests: no value for its required parameter %s", r.ID, name)
		} else if schema == nil && r.Spec.RequestBody != nil && r.Spec.RequestBody.Value.Required {
			s.skip("%s, requests: its body is required and has no JSON media type", r.ID)
		} else {
			all = append(all, found...)
		}
		if s.gen.exhausted {
			s.skip("%s, values of schemas that refer to each other in many ways", r.ID)
			s.gen.exhausted = false
		}
	}
	return all
}

func (s *suite) skipMediaTypes(r *document.Operation) {
	mediaType, _ := r.Body()
	for _, other := range slices.Sorted(maps.Keys(r.Spec.RequestBody.Value.Content)) {
		if other != mediaType && !document.IsJSON(other) {
			s.skip("%s, body as %s", r.ID, other)
		}
	}
}

// unwritable returns the required parameter that no value is known for.
func (s *suite) unwritable(r *document.Operation) string {
	for _, p := range r.Parameters {
		if _, ok := s.gen.baseParameter(p); !ok && p.Required {
			return p.Name
		}
	}
	return ""
}

// request returns the plainest valid request of an operation.
func (s *suite) request(r *document.Operation, name, promise string) *testCase {
	c := &testCase{
		name:    r.ID + ", " + name,
		promise: r.ID + ", " + promise,
		route:   r, parameters: map[string]string{}, header: http.Header{}, use: s.uses[r],
	}
	for _, p := range r.Parameters {
		if c.use != nil && p.In == "path" && p.Name == c.use.parameter {
			c.id = s.gen.identity(c.use.schema)
			c.parameters[p.Name], _ = document.Written(p, c.id)
			continue
		}
		if p.Required {
			text, _ := s.gen.baseParameter(p)
			c.set(p, text)
			c.absent = c.absent || p.In == "path"
		}
	}
	if mediaType, schema := r.Body(); schema != nil {
		c.header.Set("Content-Type", mediaType)
		c.body = jsonvalue.Encode(s.gen.base(schema))
	}
	return c
}

// refused makes a case one that the service must refuse.
func (c *testCase) refused(why Violation) *testCase {
	c.why = &why
	return c
}

// creates is 1 for a request that may create something, else 0.
func (c *testCase) creates() int {
	if c.route.Method == http.MethodPost && c.why == nil && !c.odd {
		return 1
	}
	return 0
}

// set gives a request the text of one parameter.
func (c *testCase) set(p *openapi3.Parameter, text string) {
	switch p.In {
	case "path":
		c.parameters[p.Name] = text
	case "query":
		c.query = append(slices.DeleteFunc(c.query, func(pair string) bool { return strings.HasPrefix(pair, p.Name+"=") }), text)
	case "header":
		c.header[http.CanonicalHeaderKey(p.Name)] = []string{text}
	case "cookie":
		c.cookies = append(slices.DeleteFunc(c.cookies, func(pair string) bool { return strings.HasPrefix(pair, p.Name+"=") }), text)
	}
}

// path returns the path with parameters filled in.
func (c *testCase) path() string {
	path := c.route.Template
	for name, text := range c.parameters {
		path = strings.Replace(path, "{"+name+"}", text, 1)
	}
	return path
}

// parameterCases tries every parameter, and one that is unknown.
func (s *suite) parameterCases(r *document.Operation) (all []*testCase) {
	for _, p := range r.Parameters {
		if p.In == "path" || p.In == "query" {
			all = append(all, s.oddParameters(r, p)...)
		}
		in := Violation{Kind: InvalidParameter, In: p.In, Pointer: "/" + p.Name}
		for _, v := range s.gen.parameterVariants(p) {
			if v.demand {
				s.demanded = append(s.demanded, r.ID+", "+v.promise)
				continue
			}
			c := s.request(r, v.promise+": "+v.shown, v.promise)
			c.set(p, v.text)
			if p.In == "path" {
				c.named(p, v.text)
			}
			schema, _ := document.ParameterSchema(p)
			c.madeUp = p.In == "query" && among(cursorNames, p.Name) && schema.Type.Is("string") && s.infers(r)
			if !v.valid {
				c.use, c.id, c.mayNot = nil, nil, nil
				c.refused(in)
			}
			all = append(all, c)
		}
		if p.Required && p.In != "path" {
			promise := "parameter " + p.Name + " required, refused"
			c := s.request(r, promise, promise)
			c.query = slices.DeleteFunc(c.query, func(pair string) bool { return strings.HasPrefix(pair, p.Name) })
			c.cookies = slices.DeleteFunc(c.cookies, func(pair string) bool { return strings.HasPrefix(pair, p.Name+"=") })
			if p.In == "header" {
				c.header.Del(p.Name)
			}
			all = append(all, c.refused(in))
		}
	}
	if refuses := s.contract.options.Rules.RefusesUnknown; refuses != nil {
		c := s.request(r, "unknown parameter", "unknown parameter")
		c.query = append(c.query, "unknown-parameter=1")
		if refuses(r.Declared()) {
			c.refused(Violation{Kind: InvalidParameter, In: "query", Pointer: "/unknown-parameter"})
		}
		all = append(all, c)
	}
	return all
}

// named makes a case create the resource that its path names, if a create can
// give it that identity.
func (c *testCase) named(p *openapi3.Parameter, text string) {
	if c.use == nil || c.use.parameter != p.Name {
		c.absent = true
		return
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && c.use.schema.Type.Is("integer") && !c.use.assigned {
		c.id, c.mayNot = n, []any{n}
		return
	}
	c.use, c.id, c.absent = nil, nil, true
}

// bodies tries the body: as it should be, in every way that its schema allows
// and forbids, of another media type, malformed, and missing.
func (s *suite) bodies(r *document.Operation) (all []*testCase) {
	mediaType, schema := r.Body()
	add := func(name, promise string, body []byte) *testCase {
		c := s.request(r, name, promise)
		c.body = body
		all = append(all, c)
		return c
	}
	ofValue := func(name, promise string, value any) *testCase {
		c := add(name, promise, jsonvalue.Encode(value))
		c.mayNot = s.notFresh(schema, value)
		at := r.BodyPlace()
		c.compare = func() error { return s.contract.judging.Second.Differs(c.why == nil, value, sch.Request, at...) }
		return c
	}
	for _, v := range s.gen.variants(schema) {
		at := v.pointer
		if v.keyword == "additionalProperties" {
			at = strings.TrimSuffix(at, "/"+judge.UnknownMember) // the object forbids it
		}
		// Of an object that takes any member, each odd name is tried, elsewhere one of them.
		names := []string{oddNames[s.gen.random.IntN(len(oddNames))]}
		if v.keyword == "additionalProperties" && v.pointer == "" && !s.gen.plain {
			names = oddNames
		}
		if !bytes.Contains(jsonvalue.Encode(v.value), []byte(judge.UnknownMember)) {
			names = []string{judge.UnknownMember}
		}
		promise := fmt.Sprintf("body %s %s, %s", place(at), v.keyword, v.outcome())
		if v.demand {
			s.demanded = append(s.demanded, r.ID+", "+promise)
			continue
		}
		for i, name := range names {
			v := v
			if object, ok := s.gen.base(schema).(map[string]any); ok && i > 0 { // with another identity
				object[judge.UnknownMember] = v.value.(map[string]any)[judge.UnknownMember]
				v.value = object
			}
			v = s.gen.renamed(schema, v, name)
			c := ofValue(promise+fmt.Sprintf(": %.60s", jsonvalue.Encode(v.value)), promise, v.value)
			if !v.valid {
				c.refused(Violation{Kind: InvalidBody, In: "body", Pointer: v.pointer})
			}
		}
	}
	examples := r.BodyExamples()
	for _, name := range slices.Sorted(maps.Keys(examples)) {
		value := jsonvalue.Normal(examples[name].Value.Value)
		if s.gen.valid(schema, value) { // else the document is wrong; parse has listed it
			ofValue("example "+name, "request example "+name, value)
		}
	}

	plain := func() []byte { return jsonvalue.Encode(s.gen.base(schema)) }
	others := []string{"application/xml"}
	exactly := add("media type, accepted", "media type "+mediaType+", accepted", plain())
	if s.gen.rules.StrictMediaTypes {
		exactly.header.Set("Content-Type", mediaType+"; charset=utf-8")
		others = []string{"", "text/plain", "application/xml", mediaType + "; charset=utf-16", mediaType + "x"}
	}
	for _, other := range others {
		if r.Spec.RequestBody.Value.Content.Get(other) != nil {
			continue // a media type range covers it
		}
		c := add(fmt.Sprintf("media type %q", other), "media type "+mediaType+", refused", plain())
		c.refused(Violation{Kind: WrongMediaType}).header.Set("Content-Type", other)
	}
	if r.Spec.RequestBody.Value.Required {
		add("no body", "body required, refused", nil).refused(Violation{Kind: MissingBody})
	} else {
		add("no body", "body optional, accepted", nil).header.Del("Content-Type")
	}
	base := string(plain())
	malformed := [][2]string{{"truncated", base[:len(base)-1]}, {"trailing byte", base + "x"}, {"not JSON", "plant"}}
	if s.gen.rules.StrictJSON {
		malformed = append(malformed, [][2]string{
			{"trailing value", base + "{}"},
			{"not UTF-8", strings.Replace(base, "Ficus", "\xff", 1)},
			{"lone surrogate", strings.Replace(base, "Ficus", `\ud800`, 1)},
			{"duplicate name", strings.Replace(base, "{", `{"x":1,"x":1,`, 1)},
			{"nested deep", strings.Repeat("[", 100) + strings.Repeat("]", 100)},
		}...)
	}
	for _, text := range oddBodies {
		add(fmt.Sprintf("odd body: %q", text), "odd body, survived", []byte(text)).odd = true
	}
	for _, m := range malformed {
		if m[1] != base {
			add("malformed body: "+m[0], "body well-formed, refused", []byte(m[1])).refused(Violation{Kind: MalformedBody})
		}
	}
	return all
}

// identities lists the identities in a body.
func (s *suite) identities(schema *openapi3.Schema, value any) (ids []any) {
	switch value := value.(type) {
	case int64, string:
		_, isText := value.(string)
		if s.gen.identities[schema] && schema.Type.Is("string") == isText {
			return []any{value}
		}
	case json.Number:
		if n, err := value.Int64(); err == nil && s.gen.identities[schema] && schema.Type.Is("integer") {
			return []any{n}
		}
	case []any:
		for _, item := range value {
			ids = append(ids, s.identities(sch.Of(schema.Items), item)...)
		}
	case map[string]any:
		flat := s.gen.flatten(schema)
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if property := flat.Properties[name]; property != nil {
				ids = append(ids, s.identities(property.Value, value[name])...)
			}
		}
	}
	return ids
}

// drawnText is an identity that generator.identity draws.
var drawnText = regexp.MustCompile(`^(id[0-9]+x*|00000000-0000-4000-8000-[0-9a-f]{12})$`)

// notFresh lists the identities in a body that the generator has not drawn: the
// ends of the range, for example, which other cases use, too.
func (s *suite) notFresh(schema *openapi3.Schema, value any) []any {
	return slices.DeleteFunc(s.identities(schema, value), func(id any) bool {
		if text, ok := id.(string); ok {
			return drawnText.MatchString(text)
		}
		n, ok := id.(int64)
		return !ok || s.gen.first < n && n <= s.gen.next.Load()
	})
}

// skips are what cannot be tested, each once.
type skips struct{ skipped []string }

func (s *skips) skip(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(s.skipped, text) {
		s.skipped = append(s.skipped, text)
	}
}

// firstWhere returns the first element that is asked for, or the zero value.
func firstWhere[T any](all []T, is func(T) bool) (found T) {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i]
	}
	return found
}
