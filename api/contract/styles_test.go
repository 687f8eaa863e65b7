package contract_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// Each style of OpenAPI is read, for texts, lists and objects. The examples are those of its table of styles.
func TestStyles(t *testing.T) {
	const (
		text   = "schema: {type: string}"
		list   = "schema: {type: array, items: {type: string}}"
		object = "schema: {type: object, properties: {R: {type: integer}, G: {type: integer}, B: {type: integer}}}"
		names  = `["blue","black","brown"]`
		color  = `{"B":150,"G":200,"R":100}`
	)
	for _, c := range []struct{ in, parameter, given, want string }{
		{"path", "style: matrix, " + text, ";color=blue", `"blue"`},
		{"path", "style: matrix, " + list, ";color=blue,black,brown", names},
		{"path", "style: matrix, explode: true, " + list, ";color=blue;color=black;color=brown", names},
		{"path", "style: matrix, " + object, ";color=R,100,G,200,B,150", color},
		{"path", "style: matrix, explode: true, " + object, ";R=100;G=200;B=150", color},
		{"path", "style: matrix, " + text, "blue", "path /color must be written in the style matrix, as ;color=1"},
		{"path", "style: label, " + text, ".blue", `"blue"`},
		{"path", "style: label, " + list, ".blue,black,brown", names},
		{"path", "style: label, explode: true, " + list, ".blue.black.brown", names},
		{"path", "style: label, " + object, ".R,100,G,200,B,150", color},
		{"path", "style: label, explode: true, " + object, ".R=100.G=200.B=150", color},
		{"path", "style: label, " + list, "blue", "path /color must be written in the style label, as .1,2"},
		{"path", text, "bl%2Cue", `"bl,ue"`},
		{"path", list, "blue,bl%2Cack", `["blue","bl,ack"]`},
		{"path", object, "R,100,G,200,B,150", color},
		{"path", "explode: true, " + object, "R=100,G=200,B=150", color},
		{"path", object, "R,100,G", "path /color must be written in the style simple, as a,1,b,2"},
		{"path", object, "R,x", "path /color/R must be an integer"},
		{"query", text, "color=blue", `"blue"`},
		{"query", list, "color=blue&color=black&color=brown", names},
		{"query", "explode: false, " + list, "color=blue,black,brown", names},
		{"query", "explode: false, " + list, "color=a%2Cb,c", `["a,b","c"]`},
		{"query", "explode: false, " + list, "color=a&color=b", "query /color is given more than once"},
		{"query", object, "R=100&G=200&B=150", color},
		{"query", object, "R=100&H=1", "query /H is not known"},
		{"query", object, "color=1", "query /color is not known"},
		{"query", "style: deepObject, explode: true, " + object, "color=1", "query /color must be written in the style deepObject, as color[a]=1"},
		{"query", "style: deepObject, explode: true, " + object, "color[R=1", "query /color must be written in the style deepObject"},
		{"query", "style: deepObject, explode: true, " + object, "color[R]x]=1", "query /color must be written in the style deepObject"},
		{"query", "style: deepObject, explode: true, " + object, "color[H]=1", "query /color/H is not known"},
		{"query", "style: deepObject, explode: true, schema: {type: object}", "color[H]=1", `{"H":"1"}`},
		{"query", "explode: false, " + object, "color=R,100,G,200,B,150", color},
		{"query", "style: spaceDelimited, explode: false, " + list, "color=blue%20black+brown", names},
		{"query", "style: pipeDelimited, explode: false, " + list, "color=blue|black%7Cbrown", names},
		{"query", "style: pipeDelimited, explode: false, " + object, "color=R|100|G|200|B|150", color},
		{"query", "style: deepObject, explode: true, " + object, "color[R]=100&color[G]=200&color[B]=150", color},
		{"query", "style: deepObject, explode: true, " + object, "color[R]=100&color[R]=200", "query /color/R is given more than once"},
		{
			"query", "style: deepObject, explode: true, schema: {type: object, properties: {in: {type: array, items: {type: integer}}, to: {type: object, properties: {x: {type: number}}}}}",
			"color[in]=1&color[in]=2&color[to][x]=1.5", `{"in":[1,2],"to":{"x":1.5}}`,
		},
		{"query", "content: {application/json: {schema: {type: object, required: [a], properties: {a: {type: integer}}}}}", "color=%7B%22a%22:1%7D", `{"a":1}`},
		{"query", "content: {application/json: {schema: {type: object, required: [a]}}}", "color={}", "query /color/a is required"},
		{"query", "content: {application/json: {schema: {}}}", "color={", "must be one well-formed JSON value"},
		{"query", "allowReserved: true, " + text, "color=/a:b?c@d", `"/a:b?c@d"`},
		{"query", "allowEmptyValue: true, schema: {type: boolean}", "color=", `null`},
		{"query", "allowEmptyValue: true, " + text, "color=", `""`},
		{"query", "schema: {type: integer}", "color=", "query /color must be an integer"},
		{"query", "schema: {type: array, items: {type: integer, maximum: 2}}", "color=1&color=x&color=3", "query /color/1 must be an integer"},
		{"query", "schema: {type: array, items: {oneOf: [{type: integer}, {enum: [all]}]}}", "color=1&color=all", `[1,"all"]`},
		{"query", "schema: {type: integer, maximum: 9007199254740992}", "color=9007199254740993", "at most 9007199254740992"},
		{"query", "schema: {type: string, format: date-time}", "color=2026-02-28t10:00:00z", "write T and Z in capitals"},
		{"header", list, "blue, black ,brown", names},
		{"header", object, "R,100,G,200,B,150", color},
		{"header", "explode: true, " + object, "R=100,G=200,B=150", color},
		{"header", "required: true, " + text, "", "header /color must not be empty"},
		{"cookie", text, "color=blue", `"blue"`},
		{"cookie", "explode: false, " + list, "color=blue,black,brown", names},
		{"cookie", "explode: false, " + object, "color=R,100,G,200,B,150", color},
		{"cookie", "required: true, " + text, "color=", "cookie /color must not be empty"},
	} {
		path, required := "/things", ""
		r := httptest.NewRequest(http.MethodGet, "/things", nil)
		switch c.in {
		case "path":
			path, required = "/things/{color}", "required: true, "
			address, err := url.Parse("/things/" + c.given)
			must.NoError(t, err)
			r.URL = address
		case "query":
			r.URL.RawQuery = c.given
		case "header":
			r.Header.Set("color", c.given)
		case "cookie":
			r.Header.Set("Cookie", c.given)
		}
		checker := newChecker(t, []byte(`openapi: 3.0.3
info: {title: Styles, version: 1.0.0}
paths: {'`+path+`': {get: {operationId: get, parameters: [{name: color, in: `+c.in+`, `+required+c.parameter+`}], responses: {'200': {description: OK}}}}}
`), contract.Options{})
		w := httptest.NewRecorder()
		checker.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			must.NoError(t, json.NewEncoder(w).Encode(contract.RequestOf(r.Context()).Parameter(c.in, "color")))
		})).ServeHTTP(w, r)
		if got := strings.TrimSpace(w.Body.String()); !strings.Contains(got, c.want) {
			t.Errorf("%s, %s: %s: %s, want %s", c.in, c.parameter, c.given, got, c.want)
		}
	}
}

// Two lines of a header are one list, which is written back without blanks: generated code refuses more than one line, and
// a blank before a number.
func TestListInHeaders(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/things", nil)
	r.Header["X-Ids"] = []string{"1, 2", "3"}
	got, refusal := pass(t, "get: {parameters: [{name: X-Ids, in: header, schema: {type: array, items: {type: integer}}}],", r, contract.Options{})
	if refusal != nil {
		t.Fatal(refusal)
	}
	if lines := got.Header["X-Ids"]; len(lines) != 1 || lines[0] != "1,2,3" || r.Header["X-Ids"][0] != "1, 2" {
		t.Errorf("the handler gets %q, the client has sent %q", lines, r.Header["X-Ids"])
	}
}

// A parameter that may be empty is taken out of the query if generated code could not bind it.
func TestEmptyValue(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/things?a=1&all=&b=%20", nil)
	got, refusal := pass(t, "get: {parameters: [{name: all, in: query, allowEmptyValue: true, schema: {type: boolean}}, "+
		"{name: a, in: query, schema: {type: integer}}, {name: b, in: query, schema: {type: string}}],", r, contract.Options{})
	if refusal != nil || got.URL.RawQuery != "a=1&b=%20" {
		t.Errorf("the handler gets %v, or %v", got, refusal)
	}
}
