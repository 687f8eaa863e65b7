package contracttest

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// modernDocument has what OpenAPI 3.1 has and 3.0 has not.
const modernDocument = `
openapi: 3.1.0
info: {title: Modern, version: "1", summary: What is new, license: {name: MIT, identifier: MIT}}
jsonSchemaDialect: https://json-schema.org/draft/2020-12/schema
webhooks: {changed: {post: {responses: {"200": {description: Seen.}}}}}
paths:
  /things/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: [integer, "null"], exclusiveMinimum: 0}}]
    put:
      operationId: putThing
      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Thing', description: The new one.}}}}
      responses:
        "200": {description: A thing., content: {application/json: {schema: {$ref: '#/components/schemas/Thing'}}}}
    head: {operationId: headThing, responses: {"200": {description: There.}}}
    get:
      operationId: badThing
      parameters: [{name: q, in: query, schema: {type: string}, explode: sometimes}]
      responses: {"200": {description: A thing.}}
components:
  schemas:
    Thing:
      type: object
      required: [kind]
      properties:
        kind: {const: thing}
        nothing: {type: "null"}
        note: {type: [string, "null"], maxLength: 5, examples: [short]}
        either: {type: [string, integer]}
        bytes: {type: string, contentMediaType: image/png, contentEncoding: base64}
        pair: {type: array, prefixItems: [{type: string}, {type: integer}]}
        any: true
        never: false
        other: {$ref: '#/components/schemas/Elsewhere'}
        self: {anyOf: [{$ref: '#/components/schemas/Thing'}, {type: "null"}]}
      minimum: five
`

// A document is read as it is published. What is not understood is reported, and the rest
// is tested.
func TestModernDocument(t *testing.T) {
	t.Parallel()
	c, err := New([]byte(modernDocument), Options{})
	must.NoError(t, err)
	reported := strings.Join(untriedOf(c), "\n")
	for _, want := range []string{"webhooks", "contentMediaType", "contentEncoding", "prefixItems", "Elsewhere", "minimum: \"five\"", "GET /things/{id}"} {
		if !strings.Contains(reported, want) {
			t.Errorf("%s is not reported:\n%s", want, reported)
		}
	}
	for body, valid := range map[string]bool{
		`{"kind":"thing","nothing":null,"note":null,"either":1,"any":[null],"self":null}`: true,
		`{"kind":"thing","self":{"kind":"thing"},"either":"text","note":"short"}`:         true,
		`{"kind":"thing","pair":[1,"x"]}`:                                                 true, // what is left out of the document is not judged
		`{"kind":"other"}`:                                                                false,
		`{"kind":"thing","nothing":1}`:                                                    false,
		`{"kind":"thing","note":"too long"}`:                                              false,
		`{"kind":"thing","either":true}`:                                                  false,
		`{"kind":"thing","never":1}`:                                                      false,
		`{"kind":"thing","self":{"kind":"not"}}`:                                          false,
	} {
		x := thing(200, body)
		x.Method = "PUT"
		if faults := c.judge.Faults(x); len(faults) == 0 != valid {
			t.Errorf("%s has the faults %v", body, faults)
		}
	}
	var names []string
	for _, test := range testsOf(c) {
		names = append(names, test.Name)
	}
	all := strings.Join(names, "\n")
	for _, want := range []string{`putThing, parameter id exclusiveMinimum, refused: "0"`, `putThing, body /kind enum, refused`, `body /note maxLength, refused`, `headThing`} {
		if !strings.Contains(all, want) {
			t.Errorf("there is no test %s", want)
		}
	}
}

func TestUnreadableDocuments(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{", "[]", "5", "swagger: '1.2'", "openapi: 4.0.0", "openapi: 3.0.3\npaths: {/a: {get: {responses: 5}}}"} {
		if _, err := New([]byte(text), Options{}); err == nil {
			t.Errorf("%q is a document", text)
		}
	}
}

// mutate changes places of a document that data names: it puts another part of the document
// there, or a value of a wrong type.
func mutate(text string, data []byte) string {
	root, err := document.Decode([]byte(text), func(string, ...any) {})
	if err != nil {
		return text
	}
	type place struct {
		set func(any)
		now any
	}
	for change := range slices.Chunk(data, 4) {
		if len(change) < 4 {
			break
		}
		var places []place
		var visit func(node any)
		visit = func(node any) {
			switch node := node.(type) {
			case map[string]any:
				for _, name := range sortedKeys(node) {
					places = append(places, place{func(v any) { node[name] = v }, node[name]})
					visit(node[name])
				}
			case []any:
				for i := range node {
					places = append(places, place{func(v any) { node[i] = v }, node[i]})
					visit(node[i])
				}
			}
		}
		visit(root)
		if len(places) == 0 || len(places) > 5000 {
			break
		}
		odd := []any{
			nil, true, "", "null", json.Number("-1"), json.Number("1e300"), json.Number("99999999999"),
			[]any{},
			map[string]any{},
			[]any{nil},
			"array", "object", "integer",
			map[string]any{"$ref": "#/components/schemas/Thing"},
			map[string]any{"$ref": "#/paths"},
			"{", "%zz", "application/json",
		}
		value := odd[int(change[2])%len(odd)]
		if change[3]%2 == 0 {
			copied, _ := json.Marshal(places[(int(change[2])<<8+int(change[3]))%len(places)].now)
			dec := json.NewDecoder(strings.NewReader(string(copied)))
			dec.UseNumber()
			_ = dec.Decode(&value)
		}
		places[(int(change[0])<<8+int(change[1]))%len(places)].set(value)
	}
	changed, _ := json.Marshal(root)
	return string(changed)
}

// oddService responds with one body after the other.
type oddService struct{ turn int }

func (s *oddService) RoundTrip(r *http.Request) (*http.Response, error) {
	s.turn++
	bodies := []string{`{}`, `{"id":1,"items":[{"id":1}]}`, `[]`, `null`, ``, `"text"`, `{"kind":"thing"}`}
	resp := &http.Response{StatusCode: []int{200, 201, 404, 400, 304, 500}[s.turn%6], Header: http.Header{"Content-Type": {"application/json"}}, Request: r}
	resp.Header.Set("Location", "/things/1")
	resp.Body = io.NopCloser(strings.NewReader(bodies[s.turn%len(bodies)]))
	return resp, nil
}

// survives fails if the package panics on a document, or on a service of it.
func survives(t *testing.T, text string) {
	c, err := New([]byte(text), Options{Service: Service{Rules: Rules{StrictJSON: true, StrictParameters: true, StrictMediaTypes: true, Head: true, Options: true}}})
	if err != nil {
		return
	}
	tests := testsOf(c)
	service := &oddService{}
	for _, test := range tests[:min(len(tests), 150)] {
		attempt(test, Target{URL: "http://service.invalid", Transport: service, Credentials: Credentials{"token": "x", "apiKey": "x"}})
	}
	must.NoError(t, c.Report().Text(io.Discard))
}

func documents(tb testing.TB) []string {
	all := []string{smallDocument, modernDocument}
	for _, name := range []string{"comments.yaml", "shipping.yaml"} {
		text, err := os.ReadFile("testdata/" + name)
		must.NoError(tb, err)
		all = append(all, string(text))
	}
	return all
}

// No document makes the package panic. The fuzzer finds more: go test -fuzz FuzzDocument
func TestOddDocuments(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	all := documents(t)
	changed := 12
	if testing.Short() {
		changed = len(all)
	}
	for i := range changed {
		data := make([]byte, 4*(1+i%6))
		for j := range data {
			data[j] = byte(random.Uint32())
		}
		survives(t, mutate(all[i%len(all)], data))
	}
}

func FuzzDocument(f *testing.F) {
	all := documents(f)
	for i := range all {
		f.Add(uint8(i), []byte{})
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		survives(t, mutate(all[int(which)%len(all)], data[:min(len(data), 40)]))
	})
}

func sortedKeys(m map[string]any) []string {
	names := []string{}
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// partsDocument needs other documents, for a member that is optional, for one that is required, and for a parameter.
const partsDocument = `
openapi: 3.0.3
info: {title: Parts, version: "1"}
paths:
  /things:
    post:
      operationId: addThing
      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Thing'}, examples: {one: {$ref: one.yaml}}}}}
      responses: {"201": {description: Created.}, "400": {description: Refused.}}
    patch:
      operationId: changeThing
      requestBody: {required: true, content: {application/json: {schema: {type: object, required: [owner], properties: {owner: {$ref: owner.yaml}}}}}}
      responses: {"200": {description: Changed.}}
  /things/{id}:
    parameters: [{$ref: 'common.yaml#/parameters/id'}]
    get: {operationId: getThing, responses: {"200": {description: A thing.}}}
components: {schemas: {Thing: {type: object, required: [name], properties: {name: {type: string}, owner: {$ref: owner.yaml}}}}}
`

// What is not in the document is neither sent as a reference nor guessed.
func TestRequestsOfParts(t *testing.T) {
	t.Parallel()
	c, err := New([]byte(partsDocument), Options{})
	must.NoError(t, err)
	requests := c.Requests()
	if len(requests) == 0 {
		t.Error("no request of addThing is made")
	}
	for _, r := range requests {
		isWrong := r.Method != "POST" || strings.Contains(string(r.Body), ".yaml") || strings.Contains(string(r.Body), `"owner"`)
		if isWrong {
			t.Errorf("%s %s is sent with %s", r.Method, r.Path, r.Body)
		}
	}
	for _, test := range testsOf(c) {
		if strings.Contains(test.Name, "/things/{id}") {
			t.Errorf("there is the test %q", test.Name)
		}
	}
	names := strings.Join(untriedOf(c), "\n")
	for _, operation := range []string{"changeThing", "getThing"} {
		if !strings.Contains(names, operation+", requests: they need what is not in the document") {
			t.Errorf("%s is not untried:\n%s", operation, names)
		}
	}
}
