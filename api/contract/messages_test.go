package contract_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/internal/testing/golden"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// wrongValues have a value for each way in which a schema can be broken.
var wrongValues = []struct{ schema, value string }{
	{`{"type":"string"}`, `7`},
	{`{"type":"integer"}`, `"x"`},
	{`{"type":"integer"}`, `1.5`},
	{`{"type":"integer","format":"int8"}`, `128`},
	{`{"type":"integer","format":"uint16"}`, `-1`},
	{`{"type":"integer","format":"int32"}`, `2147483648`},
	{`{"type":"number"}`, `1e39`},
	{`{"type":"number"}`, `1e999`},
	{`{"type":"boolean"}`, `7`},
	{`{"type":"array"}`, `7`},
	{`{"type":"object"}`, `7`},
	{`{"type":["array","string","null"]}`, `7`},
	{`{"type":"string"}`, `null`},
	{`{"enum":["red","<green>",3]}`, `"blue"`},
	{`{"enum":["a","b","c","d","e","f","g","h","i","j","k","l","m","n","o","p","q","r","s","t","u"]}`, `"z"`},
	{`{"const":"red"}`, `"blue"`},
	{`{"type":"string","minLength":1}`, `""`},
	{`{"type":"string","minLength":2}`, `"a"`},
	{`{"type":"string","maxLength":2}`, `"abc"`},
	{`{"type":"string","pattern":"^[a-z]+$"}`, `"7"`},
	{`{"type":"string","pattern":"^[a-z]+$","x-pattern-message":"must have small letters only"}`, `"7"`},
	{`{"type":"string","format":"date-time"}`, `"2026-01-31 12:30"`},
	{`{"type":"string","format":"date"}`, `"31.1.2026"`},
	{`{"type":"string","format":"uuid"}`, `"7"`},
	{`{"type":"string","format":"email"}`, `"7"`},
	{`{"type":"string","format":"ipv4"}`, `"7"`},
	{`{"type":"string","format":"ipv6"}`, `"7"`},
	{`{"type":"string","format":"uri"}`, `"7"`},
	{`{"type":"string","format":"byte"}`, `"*"`},
	{`{"type":"string","format":"hostname"}`, `"-"`},
	{`{"type":"string","format":"duration"}`, `"7"`},
	{`{"type":"string","format":"time"}`, `"7"`},
	{`{"type":"string","format":"regex"}`, `"("`},
	{`{"type":"integer","minimum":3}`, `2`},
	{`{"type":"integer","maximum":3}`, `4`},
	{`{"type":"number","exclusiveMinimum":1.5}`, `1.5`},
	{`{"type":"number","exclusiveMaximum":1.5}`, `1.5`},
	{`{"type":"integer","multipleOf":3}`, `4`},
	{`{"type":"array","minItems":1}`, `[]`},
	{`{"type":"array","minItems":2}`, `[1]`},
	{`{"type":"array","maxItems":1}`, `[1,2]`},
	{`{"type":"array","uniqueItems":true}`, `[1,1]`},
	{`{"type":"array","items":{"type":"integer"}}`, `[1,"x"]`},
	{`{"type":"array","contains":{"const":1}}`, `[2]`},
	{`{"type":"array","contains":{"const":1},"maxContains":2}`, `[1,1,1]`},
	{`{"type":"array","prefixItems":[{}],"items":false}`, `[1,2]`},
	{`{"type":"array","prefixItems":[{}],"unevaluatedItems":false}`, `[1,2]`},
	{`{"type":"object","required":["name"]}`, `{}`},
	{`{"type":"object","minProperties":1}`, `{}`},
	{`{"type":"object","maxProperties":1}`, `{"a":1,"b":1}`},
	{`{"type":"object","additionalProperties":false}`, `{"other":1}`},
	{`{"type":"object","additionalProperties":{"type":"integer"}}`, `{"other":"x"}`},
	{`{"type":"object","unevaluatedProperties":false}`, `{"other":1}`},
	{`{"type":"object","properties":{"made":{"type":"string","readOnly":true}}}`, `{"made":"x"}`},
	{`{"type":"object","properties":{"gone":false}}`, `{"gone":1}`},
	{`{"type":"object","propertyNames":{"maxLength":2}}`, `{"other":1}`},
	{`{"type":"object","dependentRequired":{"a":["b"]}}`, `{"a":1}`},
	{`{"type":"object","additionalProperties":true,"properties":{"Tag":{"type":"string"}}}`, `{"tag":[]}`},
	{`{"not":{"type":"string"}}`, `"x"`},
	{`{"allOf":[{"type":"object","required":["name"]},{"type":"object","required":["age"]}]}`, `{}`},
	{`{"anyOf":[{"type":"string"},{"type":"integer"}]}`, `true`},
	{`{"oneOf":[{"type":"string"},{"type":"integer"}]}`, `true`},
	{`{"oneOf":[{"type":"integer"},{"type":"number"}]}`, `1`},
	{`{"if":{"type":"string"},"then":{"minLength":2}}`, `"x"`},
	{`{"oneOf":[{"$ref":"#/components/schemas/Cat"},{"$ref":"#/components/schemas/Dog"}],"discriminator":{"propertyName":"kind","mapping":{"cat":"Cat","dog":"Dog"}}}`, `{}`},
	{`{"oneOf":[{"$ref":"#/components/schemas/Cat"},{"$ref":"#/components/schemas/Dog"}],"discriminator":{"propertyName":"kind","mapping":{"cat":"Cat","dog":"Dog"}}}`, `{"kind":7}`},
	{`{"anyOf":[{"$ref":"#/components/schemas/Cat"},{"$ref":"#/components/schemas/Dog"}],"discriminator":{"propertyName":"kind","mapping":{"cat":"Cat","dog":"Dog"}}}`, `{"kind":"cow"}`},
	{`false`, `1`},
	{`{"type":"string","pattern":"^(?=(a+)+$)b"}`, `"` + strings.Repeat("a", 40) + `!"`},
}

// messagesOf is a document with a schema for a body, a member of one and a parameter.
const messagesOf = `{"openapi":"3.1.0","info":{"title":"Messages","version":"1"},"components":{"schemas":{
	"Cat":{"type":"object","properties":{"kind":{"type":"string"}}},"Dog":{"type":"object","properties":{"kind":{"type":"string"}}}}},
	"paths":{
	"/root":{"post":{"responses":{"200":{"description":"OK"}},"requestBody":{"content":{"application/json":{"schema":%[1]s}}}}},
	"/member":{"post":{"responses":{"200":{"description":"OK"}},"requestBody":{"content":{"application/json":{"schema":{"type":"object","properties":{"m":%[1]s}}}}}}},
	"/query":{"post":{"responses":{"200":{"description":"OK"}},"parameters":[{"name":"p","in":"query","schema":%[1]s}]}}}}`

// The message of each fault is a sentence that says what to do, wherever the value is. testdata/messages.txt has them.
func TestMessages(t *testing.T) {
	var lines strings.Builder
	for _, c := range wrongValues {
		fmt.Fprintf(&lines, "%s gets %s\n", c.schema, c.value)
		var said string
		checker := newChecker(t, fmt.Appendf(nil, messagesOf, c.schema), contract.Options{
			Refuse: func(_ http.ResponseWriter, _ *http.Request, refusal *contract.Refusal) { said = refusal.Message },
		})
		for _, place := range []struct{ path, body string }{
			{"/root", c.value},
			{"/member", `{"m":` + c.value + `}`},
			{"/query?p=" + url.QueryEscape(textOf(c.value)), ""},
		} {
			if isText := textOf(c.value) != ""; place.body == "" && !isText {
				continue
			}
			r := httptest.NewRequest(http.MethodPost, place.path, strings.NewReader(place.body))
			r.Header.Set("Content-Type", "application/json")
			said = "accepted"
			checker.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(httptest.NewRecorder(), r)
			fmt.Fprintf(&lines, "  %s\n", said)
		}
	}
	golden.Compare(t, "testdata/messages.txt", lines.String())
}

// textOf returns a text or a number as it is written in a query, and nothing for others.
func textOf(value string) string {
	var decoded any
	if err := json.Unmarshal([]byte(value), &decoded); err != nil {
		return value
	}
	switch decoded := decoded.(type) {
	case string:
		return decoded
	case float64, bool:
		return value
	}
	return ""
}

// The messages of refusals that have no faults say what to do, too.
func TestMessagesOfRefusals(t *testing.T) {
	document := func(contents string) []byte {
		return []byte("openapi: 3.0.3\ninfo: {title: Messages, version: '1'}\npaths:\n  /things: {post: {requestBody: {required: true, content: {" + contents +
			"}}, responses: {'200': {description: OK}}}}\n")
	}
	const multipart, form = "multipart/form-data: {schema: {type: object}}", "application/x-www-form-urlencoded: {schema: {type: object}}"
	var lines strings.Builder
	for _, c := range []struct{ method, path, contents, mediaType, body string }{
		{"POST", "/other", multipart, "", ""},
		{"DELETE", "/things", multipart, "", ""},
		{"POST", "/things", "application/json: {}", "application/json", ""},
		{"POST", "/things", "application/json: {}", "", "{}"},
		{"POST", "/things", "application/json: {}, text/plain: {}", "text/html", "{}"},
		{"POST", "/things", "application/*: {}", "text/html", "{}"},
		{"POST", "/things", "application/json: {}", "application/json; charset=latin1", "{}"},
		{"POST", "/things", form, "text/html", "a=1"},
		{"POST", "/things", multipart, "text/html", "a=1"},
		{"POST", "/things", multipart, "multipart/form-data", "--b\r\n"},
		{"POST", "/things", multipart, "multipart/form-data; charset=utf-8", "--b\r\n"},
		{"POST", "/things", multipart, "multipart/form-data; boundary=b", "--b\r\n"},
		{"POST", "/things", multipart, "multipart/form-data; boundary=b", "--b\r\nContent-Type: text/plain\r\n\r\na\r\n--b--\r\n"},
		{"POST", "/things", form, "application/x-www-form-urlencoded", "%zz"},
		{"POST", "/things", "application/json: {}", "application/json", "{"},
		{"POST", "/things", "application/json: {}", "application/json", "{} {}"},
		{"POST", "/things", "application/json: {}", "application/json", `{"a":1,"a":2}`},
		{"POST", "/things", "application/json: {}", "application/json", strings.Repeat("[", 100)},
		{"POST", "/things", "application/json: {}", "application/json", strings.Repeat(" ", 2<<20)},
	} {
		said := "accepted"
		checker := newChecker(t, document(c.contents), contract.Options{
			Refuse: func(_ http.ResponseWriter, _ *http.Request, refusal *contract.Refusal) {
				said = fmt.Sprint(refusal.Kind.Status(), " ", refusal.Message)
			},
		})
		r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		r.Header.Set("Content-Type", c.mediaType)
		checker.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(httptest.NewRecorder(), r)
		fmt.Fprintf(&lines, "%s %s as %q of %s: %.40q\n  %s\n", c.method, c.path, c.mediaType, c.contents, c.body, said)
	}
	for _, text := range []string{"swagger: '2.0'\ninfo: {title: Old, version: '1'}\npaths: {}\n", "info: {title: None, version: '1'}\npaths: {}\n", "openapi: 3.2.0\ninfo: {title: New, version: '1'}\npaths: {}\n", ""} {
		_, err := contract.New([]byte(text), contract.Options{})
		fmt.Fprintf(&lines, "the document %q\n  %v\n", text, err)
	}
	golden.Compare(t, "testdata/refusals.txt", lines.String())
}

// A message is not written with the escapes of HTML.
func TestErrorWithoutEscapesOfHTML(t *testing.T) {
	checker := newChecker(t, []byte(`openapi: 3.0.3
info: {title: Errors, version: 1.0.0}
paths: {/things: {get: {parameters: [{name: n, in: query, schema: {type: string, enum: ['a&b', <c>]}}], responses: {default: {description: no,
  content: {application/json: {schema: {type: object, properties: {message: {type: string}}}}}}}}}}
`), contract.Options{})
	w := httptest.NewRecorder()
	checker.Middleware(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/things?n=x", nil))
	const want = `{"message":"a parameter is not valid: query /n must be one of \"a&b\", \"<c>\""}`
	if got := w.Body.String(); got != want {
		t.Errorf("the response is %s, want %s", got, want)
	}
	must.NoError(t, json.Unmarshal(w.Body.Bytes(), new(any)))
}
