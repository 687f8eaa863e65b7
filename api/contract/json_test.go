package contract_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contract"
)

// pass sends a request to an operation. It returns the request that the handler gets, or the refusal.
func pass(
	t *testing.T, operation string, r *http.Request, options contract.Options,
) (got *http.Request, refusal *contract.Refusal) {
	t.Helper()
	options.Refuse = func(_ http.ResponseWriter, _ *http.Request, why *contract.Refusal) { refusal = why }
	checker := newChecker(t, []byte(`openapi: 3.0.3
info: {title: Things, version: 1.0.0}
components: {schemas: {Tree: {oneOf: [{type: integer}, {type: object, required: [next], properties: {next: {$ref: '#/components/schemas/Tree'}}}]}}}
paths:
  /things:
    `+operation+` operationId: doThings, responses: {'200': {description: OK}}}
`), options)
	r.Pattern = "/things"
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r })
	checker.Wrap(handler).ServeHTTP(httptest.NewRecorder(), r)
	return got, refusal
}

// postJSON sends a body to an operation whose body has a schema.
func postJSON(t *testing.T, schema, body string) (*http.Request, *contract.Refusal) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/things", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	return pass(t, "post: {requestBody: {required: true, content: {application/json: {schema: "+schema+"}}},", r, contract.Options{})
}

// The decoded body has all that a schema asks for, also if it is combined of others.
func TestDecodedBody(t *testing.T) {
	const variants = `{type: object, oneOf: [
		{required: [v], properties: {v: {type: integer}}},
		{required: [v], properties: {v: {type: object, required: [a], properties: {a: {type: integer}}}}},
		{required: [v], properties: {v: {type: object, required: [b], properties: {b: {type: number}}}}}]}`
	for _, c := range []struct{ schema, body, want string }{
		{variants, `{"v":7}`, "map[v:7]"},
		{variants, `{"v":{"a":1}}`, "map[v:map[a:1]]"},
		{variants, `{"v":{"b":1.5}}`, "map[v:map[b:1.5]]"},
		{variants, `{"v":{"a":1,"A":2}}`, "differs from the member a in upper and lower case only"},
		{variants, `{"v":"x"}`, "must match exactly one schema in oneOf, but matches 0"},
		{`{type: object, additionalProperties: true, properties: {a: {type: integer}}}`, `{"a":1,"b":2}`, "map[a:1 b:2]"},
		{`{type: object, properties: {a: {type: integer}}}`, `{"a":1,"b":2}`, "map[a:1]"},
		{`{type: object, additionalProperties: true, properties: {a: {}, b: {}, c: {}, d: {}, e: {}, f: {}, g: {}, h: {}}}`, `{"H":1}`, "differs from the member h"},
		{`{type: object, properties: {a: {allOf: [{type: integer, format: int64}]}}}`, `{"a":7}`, "map[a:7]"},
		{`{type: object, properties: {a: {oneOf: [{type: integer}, {type: integer, minimum: 9}]}}}`, `{"a":1e1}`, "must match exactly one schema"},
		{`{type: object, allOf: [{properties: {a: {type: object, properties: {b: {type: integer}}}}},
			{additionalProperties: {type: object, required: [c]}}]}`, `{"a":{"b":1,"c":2}}`, "map[a:map[b:1 c:2]]"},
		{`{type: array, uniqueItems: true, items: {type: object, properties: {a: {type: integer}}}}`, `[{"a":1,"b":1},{"a":1,"b":2}]`, "[map[a:1 b:1] map[a:1 b:2]]"},
		{`{type: integer, nullable: true}`, `null`, "<nil>"},
		{`{type: integer, nullable: true, not: {type: string, nullable: true}}`, `null`, "it must not match the schema in not"},
		{`{type: array, uniqueItems: true, items: {type: integer}}`, `[1, 1.0]`, "/1 must be an integer"},
		{`{type: array, maxItems: 2, items: {type: integer}}`, `[1, 2]`, "[1 2]"},
		{`{type: array, maxItems: 2, items: {type: integer}}`, `[1, 2, 3, [4], "5"]`, "must have at most 2 items"},
		{`{type: object, maxProperties: 1}`, `{"a":1,"b":{"c":[]}}`, "at most 1 member"},
		{`{type: object, additionalProperties: false, properties: {a: {}}}`, `{"a":[{"d":[]}]}`, "map[a:[map[d:[]]]]"},
		{`{type: number}`, `1`, "1"},
		{`{}`, `{"id":1,"id":1}`, "a member name occurs twice in one object, at byte 8"},
		{`{}`, "{\"name\":\"a\xff\"}", "a string is not valid Unicode, at byte 10"},
		{`{}`, `{"name":"a\udc00"}`, "a string is not valid Unicode, at byte 10"},
		{`{}`, `{"name":"\uDC00"}`, "a string is not valid Unicode, at byte 9"},
		{`{}`, `{"name":"C:\garden"}`, `a string has an unknown escape: write a backslash as \\, at byte 11`},
		{`{}`, `{"name":"C:\Uda"}`, `a string has an unknown escape: write a backslash as \\, at byte 11`},
		{`{}`, `{"name":"\u00g0"}`, `a string has an unknown escape: write a backslash as \\, at byte 9`},
		{`{}`, `{"name":"\udzzz"}`, `a string has an unknown escape: write a backslash as \\, at byte 9`},
		{`{}`, `{\"id\":1}`, "a backslash is not in a string: remove it, at byte 1"},
		{`{}`, `{"id":1\`, "a backslash is not in a string: remove it, at byte 7"},
		{`{}`, "{\"name\":\"a\t\"}", "syntax error, at byte 10"},
		{"{$ref: '#/components/schemas/Tree'}", strings.Repeat(`{"next":`, 60) + "1" + strings.Repeat("}", 60), "map[next:map["},
		{`{type: number}`, `1E400`, "must be a number that fits 64 bits"},
		{`{}`, strings.Repeat("[", 64) + strings.Repeat("]", 64), "[[["},
		{`{}`, strings.Repeat("[", 65) + strings.Repeat("]", 65), "it is nested deeper than 64"},
		{`{type: object, properties: {}}`, `{"a":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, "it is nested deeper than 64"},
		{`{}`, `[{"a":[null,true,1.5,"x"]}]`, "[map[a:[<nil> true 1.5 x]]]"},
		{`{type: object, properties: {a: {allOf: [{type: integer, format: int64}]}}}`, `{"a":9223372036854775808}`, "/a must be an integer of at most 64 bits"},
	} {
		r, refusal := postJSON(t, c.schema, c.body)
		got := ""
		if refusal != nil {
			got = refusal.Message
		} else {
			got = fmt.Sprint(contract.Body(r.Context()))
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s for %s: %s, want %s", c.body, c.schema, got, c.want)
		}
	}
}
