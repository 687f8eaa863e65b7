package contract_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/internal/testing/shelf"
	"github.com/plantstore/plantstore/internal/testing/shelf/stock"
)

// An API key in the query is known, although it is not a parameter. A parameter is not given twice, also if it
// may be empty.
func TestQueryWithAKey(t *testing.T) {
	checker := newChecker(t, []byte(`openapi: 3.0.3
info: {title: Things, version: 1.0.0}
security: [{key: []}]
components: {securitySchemes: {key: {type: apiKey, in: query, name: key}}}
paths:
  /things:
    get:
      operationId: listThings
      parameters: [{name: all, in: query, allowEmptyValue: true, schema: {type: boolean}}]
      responses: {'200': {description: OK}}
`), contract.Options{Authorize: anyone})
	for query, want := range map[string]string{
		"key=k":               "",
		"key=k&all=":          "",
		"key=k&all=true":      "",
		"key=k&all=&all=true": "query /all is given more than once",
		"key=k&none=1":        "query /none is not known",
	} {
		r := httptest.NewRequest(http.MethodGet, "/things?"+query, nil)
		r.Pattern = "/things"
		w := httptest.NewRecorder()
		checker.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
		if !strings.Contains(w.Body.String(), want) || want == "" && w.Code != http.StatusOK {
			t.Errorf("%s: %d %s, want %q", query, w.Code, w.Body, want)
		}
	}
}

// A media type in other letters is the same for the code that oapi-codegen generates, which compares them.
func TestMediaTypeInCapitals(t *testing.T) {
	checker := newChecker(t, shelf.Document, contract.Options{Authorize: anyone})
	for mediaType, body := range map[string]string{
		"Application/JSON":          `{"title":"Walden","weight":1,"form":{"kind":"spoken","minutes":3}}`,
		"TEXT/Plain; charset=UTF-8": "Walden",
	} {
		r := httptest.NewRequest(http.MethodPost, "/shelves/upper/books", strings.NewReader(body))
		r.Header.Set("Content-Type", mediaType)
		w := httptest.NewRecorder()
		stock.Serve(checker.Middleware).ServeHTTP(w, r)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"title":"Walden"`) {
			t.Errorf("%s: %d %s", mediaType, w.Code, w.Body)
		}
		if got := r.Header.Get("Content-Type"); got != mediaType {
			t.Errorf("the header of the request became %s", got)
		}
	}
}

// A body that encoding/json would read in another way is written again, so that its length is not that of the
// request, which a proxy would promise.
func TestLengthOfAnAmbiguousBody(t *testing.T) {
	const schema = `{type: object, properties: {name: {type: string}}}`
	r, _ := postJSON(t, schema, `{"name":"n","NAME":"other"}`)
	if r.ContentLength != -1 {
		t.Errorf("the length is %d, want -1", r.ContentLength)
	}
}

// A body whose length is not known is read before its media type is refused: it may be missing.
func TestMediaTypeOfAChunkedBody(t *testing.T) {
	var refusal *contract.Refusal
	checker := newChecker(t, shelf.Document, contract.Options{
		Authorize: anyone,
		Refuse:    func(_ http.ResponseWriter, _ *http.Request, why *contract.Refusal) { refusal = why },
	})
	handler := stock.Serve(checker.Middleware)
	for _, c := range []struct {
		mediaType, body string
		want            contract.Kind
	}{
		{"text/html", "", contract.MissingBody},
		{"text/html", "Walden", contract.UnsupportedMediaType},
		{"text/html", strings.Repeat("n", 2<<20), contract.UnsupportedMediaType},
		{"text/plain; charset=latin1", "Walden", contract.UnsupportedMediaType},
		{"text/plain", strings.Repeat("n", 2<<20), contract.TooLarge},
		{"text/plain", "\xff", contract.MalformedBody},
		{"text/plain", strings.Repeat("n", 81), contract.InvalidBody},
	} {
		r := httptest.NewRequest(http.MethodPost, "/shelves/upper/books", strings.NewReader(c.body))
		r.ContentLength = -1
		r.Header.Set("Content-Type", c.mediaType)
		refusal = nil
		if handler.ServeHTTP(httptest.NewRecorder(), r); refusal == nil || refusal.Kind != c.want {
			t.Errorf("%s, %d bytes: %+v, want the kind %d", c.mediaType, len(c.body), refusal, c.want)
		}
	}
}

// The media type of a body is that of the document, in UTF-8 and in no other coding.
func TestMediaTypes(t *testing.T) {
	const valid = "application/json"
	for _, c := range []struct {
		types          []string
		encoding, want string
	}{
		{[]string{valid + "; charset=UTF-8"}, "", ""},
		{[]string{valid + "; version=1"}, "Identity", ""},
		{nil, "", "Content-Type must be application/json, got none: with curl, add -H 'Content-Type: application/json'"},
		{[]string{"text/" + strings.Repeat("x", 3000)}, "", "got text/" + strings.Repeat("x", 59) + "…: "},
		{[]string{valid + "; charset=latin1"}, "", "charset must be utf-8"},
		{[]string{valid + "; charset=utf-8; x="}, "", "Content-Type must be"},
		{[]string{valid + ", " + valid}, "", "Content-Type must be"},
		{[]string{valid, "text/plain"}, "", "Content-Type must be"},
		{[]string{valid}, "gzip", "Content-Encoding is not supported"},
		{[]string{valid}, "gzip, identity", "Content-Encoding is not supported"},
	} {
		r := httptest.NewRequest(http.MethodPost, "/things", strings.NewReader("{}"))
		r.Header["Content-Type"] = c.types
		r.Header.Set("Content-Encoding", c.encoding)
		_, refusal := pass(t, "post: {requestBody: {content: {application/json: {schema: {}}}},", r, contract.Options{})
		if (refusal == nil) != (c.want == "") || refusal != nil && !strings.Contains(refusal.Message, c.want) {
			t.Errorf("%.100q, encoded with %q: %v, want %q", c.types, c.encoding, refusal, c.want)
		}
	}
}

// Texts that parsers read differently are refused.
func TestOddTexts(t *testing.T) {
	for text, want := range map[string]string{
		"n=+5":   "query /n must be an integer", // a space
		"n=%2B5": "query /n must be written as 5",
		"n=05":   "query /n must be written as 5",
		"n=-0":   "query /n must be written as 0",
		"n=1e2":  "query /n must be an integer",
		"s=%ff":  "query /s must be valid UTF-8",
		"x=1_0":  "query /x must be a number",
		"x=NaN":  "query /x must be a number",
		"b=TRUE": "query /b must be true or false",
		"s=%zz":  "query is not a well-formed query",
		"n=1;x=": "query is not a well-formed query",
		"a~/b":   "query /a~0~1b is not known",
		"=":      "query / is not known",

		"n=9223372036854775808":  "query /n must be an integer of 64 bits",
		strings.Repeat("y", 200): "query /" + strings.Repeat("y", 64) + "… is not known",
		strings.Repeat("z", 64):  "query /" + strings.Repeat("z", 64) + " is not known",
		"y&z&n=x":                "query /n must be an integer; query /y is not known: remove it; query /z is not known",
	} {
		_, refusal := get(t, `
			{name: n, in: query, schema: {type: integer}}, {name: x, in: query, schema: {type: number}},
			{name: b, in: query, schema: {type: boolean}}, {name: s, in: query, schema: {type: string}}`, text, "", contract.Options{})
		if refusal == nil || !strings.Contains(refusal.Message, want) {
			t.Errorf("%s: %v, want %s", text, refusal, want)
		}
	}
}
