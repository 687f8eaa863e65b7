package contract_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/plantstore/plantstore/api/contract"
)

// shapeOfRecursion is a schema that leads to itself, with the levels of a body that takes each way.
type shapeOfRecursion struct{ schema, begin, innermost, end string }

// recursions returns shapes of recursion: each way in which a schema can meet a value, and each way in which it can lead on.
func recursions() map[string]shapeOfRecursion {
	made := map[string]shapeOfRecursion{}
	for place, lead := range map[string]struct{ schema, begin, end string }{
		"member": {"{type: object, properties: {next: %s, extra: {type: integer}}}", `{"next":`, "}"},
		"others": {"{type: object, additionalProperties: %s}", `{"next":`, "}"},
		"items":  {"{type: array, items: %s}", `[`, "]"},
		"both": {
			"{type: object, properties: {next: %[1]s}, additionalProperties: %[1]s}", `{"next":`, "}",
		},
	} {
		again := fmt.Sprintf(lead.schema, "{$ref: '#/components/schemas/Again'}")
		named := fmt.Sprintf(lead.schema, "{$ref: '#/components/schemas/Other'}")
		for way, schema := range map[string]string{
			"oneOf":          "{oneOf: [{type: integer}, " + again + ", {allOf: [" + again + ", {required: [none]}]}]}",
			"anyOf":          "{anyOf: [{allOf: [" + again + ", {required: [none]}]}, " + again + ", {type: integer}]}",
			"allOf":          "{allOf: [" + again + ", " + again + "]}",
			"not":            "{not: {allOf: [" + again + ", " + again + ", {required: [none]}]}}",
			"beside":         strings.TrimSuffix(again, "}") + ", allOf: [" + again + "]}",
			"other":          "{allOf: [" + named + ", " + again + "]}",
			"chain of oneOf": "{oneOf: [{oneOf: [{oneOf: [" + again + ", {type: integer}]}, {type: boolean}]}, {type: string}]}",
			"nullable":       "{anyOf: [" + again + ", " + again + "], nullable: true}",
		} {
			made[way+" of "+place] = shapeOfRecursion{schema, lead.begin, `"x"`, lead.end}
		}
	}
	return made
}

// The time in which a body is checked grows with its size, whatever the schema is. With kin-openapi, each level doubled it: two
// parts of allOf that lead on took 3.3 s for 532 bytes.
func TestBoundedWork(t *testing.T) {
	for name, shape := range recursions() {
		testBounds(t, name, "3.0.3", shape)
		testBounds(t, name, "3.1.0", shape)
	}
	unevaluated := shapeOfRecursion{
		"{allOf: [{properties: {next: {$ref: '#/components/schemas/Again'}}}, {properties: {next: {$ref: '#/components/schemas/Again'}}}], unevaluatedProperties: false}",
		`{"next":`, "{}", "}",
	}
	testBounds(t, "unevaluatedProperties", "3.1.0", unevaluated)
}

func testBounds(t *testing.T, name, version string, shape shapeOfRecursion) {
	t.Run(name+", OpenAPI "+version, func(t *testing.T) {
		checker := newChecker(t, []byte("openapi: "+version+`
info: {title: Deep, version: 1.0.0}
paths:
  /deep: {post: {operationId: deep, requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Again'}}}}, responses: {'200': {description: OK}}}}
components:
  schemas:
    Again: `+shape.schema+`
    Other: {allOf: [{$ref: '#/components/schemas/Again'}, {$ref: '#/components/schemas/Again'}]}
`), contract.Options{})
		before := timeOf(t, checker, shape, 12)
		for depth := 16; depth <= 60; depth += 4 {
			took := timeOf(t, checker, shape, depth)
			if took > 2*before && took > time.Second { // below, the machine is measured; what doubles with each level is above at 24
				t.Fatalf("%d levels take %v, four fewer %v", depth, took, before)
			}
			before = took
		}
	})
}

// timeOf returns the shortest time in which a body with so many levels is checked.
func timeOf(t *testing.T, checker *contract.Checker, shape shapeOfRecursion, depth int) time.Duration {
	t.Helper()
	body := strings.Repeat(shape.begin, depth) + shape.innermost + strings.Repeat(shape.end, depth)
	shortest := time.Hour
	for range 2 {
		r := httptest.NewRequest(http.MethodPost, "/deep", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		began := time.Now()
		checker.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
		shortest = min(shortest, time.Since(began))
	}
	return shortest
}

// A body of a MiB takes a bounded time and memory, whatever the schema is: here each number is held to schemas that lead to
// themselves, and a form has the same field many times.
func TestLargeBodies(t *testing.T) {
	recursive := newChecker(t, []byte(`openapi: 3.0.3
info: {title: Deep, version: 1.0.0}
paths:
  /things: {post: {operationId: add, requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Again'}}}}, responses: {'200': {description: OK}}}}
components: {schemas: {Again: {oneOf: [{type: integer}, {type: array, items: {$ref: '#/components/schemas/Again'}}]}}}
`), contract.Options{})
	const ids = "{schema: {type: object, properties: {ids: {type: array, items: {type: integer}}}}}"
	form := newChecker(t, []byte("openapi: 3.0.3\ninfo: {title: Forms, version: 1.0.0}\npaths:\n  /things:\n    "+
		"post: {requestBody: {content: {multipart/form-data: "+ids+", application/x-www-form-urlencoded: "+ids+"}}, "+
		"operationId: add, responses: {'200': {description: OK}}}\n"), contract.Options{})
	const part = "--b\r\nContent-Disposition: form-data; name=\"ids\"\r\n\r\n1\r\n"
	for name, c := range map[string]struct {
		checker         *contract.Checker
		body, mediaType string
	}{
		"JSON":      {recursive, "[" + strings.Repeat("1,", 500_000) + "1]", "application/json"},
		"form":      {form, strings.Repeat("ids=1"+strings.Repeat("0", 9)+"&", 9_999) + "ids=1", "application/x-www-form-urlencoded"},
		"multipart": {form, strings.Repeat(part, 1000) + "--b--\r\n", "multipart/form-data; boundary=b"},
	} {
		r := httptest.NewRequest(http.MethodPost, "/things", strings.NewReader(c.body))
		r.Header.Set("Content-Type", c.mediaType)
		w := httptest.NewRecorder()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		c.checker.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		t.Logf("figures: %s: %d bytes take %v and allocate %d MiB", name, len(c.body), took, (after.TotalAlloc-before.TotalAlloc)>>20)
		if w.Code != http.StatusOK || took > 30*time.Second { // it takes one, and ten with the race detector; what is not in proportion takes hours
			t.Errorf("%s: %d %s in %v", name, w.Code, w.Body, took)
		}
	}
}
