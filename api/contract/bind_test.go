package contract_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/oapi-codegen/nullable"
	"github.com/oapi-codegen/runtime"

	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// get sends a request to an operation with parameters, and returns what the handler gets, or the refusal.
func get(t *testing.T, parameters, query, cookies string, options contract.Options) (*contract.Request, *contract.Refusal) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/things?"+query, nil)
	r.Header.Set("Cookie", cookies)
	got, refusal := pass(t, "get: {parameters: ["+parameters+"],", r, options)
	if refusal != nil {
		return nil, refusal
	}
	return contract.RequestOf(got.Context()), nil
}

// A header that other parts of the document describe is no parameter (OpenAPI 3.0.3, Parameter Object). A cookie of
// that name is one.
func TestIgnoredHeaders(t *testing.T) {
	for in, isRefused := range map[string]bool{"header": false, "cookie": true} {
		for _, name := range []string{"accept", "Content-Type", "Authorization"} {
			_, refusal := get(t, "{name: "+name+", in: "+in+", required: true, schema: {type: string}}", "", "", contract.Options{})
			if (refusal != nil) != isRefused {
				t.Errorf("without the %s %s: %v, want a refusal: %t", in, name, refusal, isRefused)
			}
		}
	}
}

// Formats that are checked are those that the types of generated code need.
func TestFormats(t *testing.T) {
	even := map[string]func(string) error{"even": func(text string) error {
		if len(text)%2 > 0 {
			return http.ErrBodyNotAllowed // any error
		}
		return nil
	}}
	for _, c := range []struct {
		format, valid, invalid string
	}{
		{"uuid", "018f6f2c-5b1e-7c3a-9f00-0123456789ab", "018f6f2c5b1e7c3a9f000123456789ab"},
		{"email", "a@example.org", "a.example.org"},
		{"ipv4", "192.0.2.1", "2001:db8::1"},
		{"ipv6", "2001:db8::1", "192.0.2.1"},
		{"date", "2026-02-28", "2026-02-30"},
		{"date-time", "2026-02-28T10:00:00Z", "2026-12-31T23:59:60Z"},
		{"date-time", "2026-02-28T10:00:00.5%2B01:00", "2026-02-28 10:00:00Z"},
		{"byte", "aGk=", "*"},
		{"even", "ab", "abc"},
		{"password", "*", ""},
	} {
		parameter := "{name: it, in: query, schema: {type: string, format: " + c.format + "}}"
		options := contract.Options{Formats: even}
		if _, refusal := get(t, parameter, "it="+c.valid, "", options); refusal != nil {
			t.Errorf("%s %s is refused: %v", c.format, c.valid, refusal)
		}
		if c.invalid == "" {
			continue
		}
		_, refusal := get(t, parameter, "it="+strings.ReplaceAll(c.invalid, " ", "+"), "", options)
		if want := "query /it must match the format " + c.format; refusal == nil || !strings.Contains(refusal.Message, want) {
			t.Errorf("%s %s: %v, want %s", c.format, c.invalid, refusal, want)
		}
	}
}

// A required parameter that is absent is named, wherever it must be.
func TestRequired(t *testing.T) {
	_, refusal := get(t, `
		{name: a, in: query, required: true, schema: {type: string}}, {name: X-B, in: header, required: true, schema: {type: string}},
		{name: c, in: cookie, required: true, schema: {type: string}}, {name: d, in: query, schema: {type: string}}`,
		"", "", contract.Options{})
	const want = "a parameter is not valid: query /a is required; header /X-B is required; cookie /c is required"
	if refusal == nil || refusal.Message != want {
		t.Errorf("the refusal is %v, want %s", refusal, want)
	}
}

// Parameters become the types that generated code has for them.
func TestValues(t *testing.T) {
	type color string
	r, refusal := get(t, `
		{name: id, in: query, schema: {type: string, format: uuid}}, {name: at, in: query, schema: {type: string, format: date-time}},
		{name: raw, in: query, schema: {type: string, format: byte}}, {name: color, in: query, schema: {type: string}},
		{name: sizes, in: query, schema: {type: array, items: {type: integer, format: int32}}},
		{name: weight, in: query, schema: {type: number}}, {name: none, in: query, schema: {type: string}},
		{name: mark, in: cookie, schema: {type: string}}`,
		"id=018f6f2c-5b1e-7c3a-9f00-0123456789ab&at=2026-02-28T10:00:00Z&raw=aGk%3D&color=red&sizes=1&sizes=2&weight=1.5",
		"mark=a%20b+c", contract.Options{})
	if refusal != nil {
		t.Fatal(refusal)
	}
	diff := func(name string, want, got any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s differs (-want +got):\n%s", name, diff)
		}
	}
	diff("id", uuid.MustParse("018f6f2c-5b1e-7c3a-9f00-0123456789ab"), contract.Value[uuid.UUID](r, "query", "id"))
	diff("at", time.Date(2026, 2, 28, 10, 0, 0, 0, time.UTC), contract.Value[time.Time](r, "query", "at"))
	diff("raw", []byte("hi"), contract.Value[[]byte](r, "query", "raw"))
	diff("color", new(color("red")), contract.Optional[color](r, "query", "color"))
	diff("sizes", []int32{1, 2}, contract.Value[[]int32](r, "query", "sizes"))
	diff("weight", float32(1.5), contract.Value[float32](r, "query", "weight"))
	diff("none", (*string)(nil), contract.Optional[string](r, "query", "none"))
	diff("mark", "a%20b+c", contract.Value[string](r, "cookie", "mark")) // as in code that oapi-codegen generates
}

// A name that the document does not have is a mistake of the handler, and not a parameter that is absent.
func TestMistypedNames(t *testing.T) {
	r, refusal := get(t, `{name: page, in: query, schema: {type: integer}}`, "", "", contract.Options{})
	if refusal != nil {
		t.Fatal(refusal)
	}
	for _, c := range []struct {
		request  *contract.Request
		in, name string
		want     any // what both panic with; nil: they do not
	}{
		{r, "query", "page", nil}, // absent
		{r, "query", "pagee", `GET /things has no query parameter "pagee"`},
		{r, "qeury", "page", `GET /things has no qeury parameter "page"`},
		{r, "path", "page", `GET /things has no path parameter "page"`},
		{nil, "query", "page", contract.ErrUnchecked},
	} {
		if got := panicOf(func() { contract.Value[int64](c.request, c.in, c.name) }); got != c.want {
			t.Errorf("Value of the %s %s panics with %v, want %v", c.in, c.name, got, c.want)
		}
		if got := panicOf(func() { contract.Optional[int64](c.request, c.in, c.name) }); got != c.want {
			t.Errorf("Optional of the %s %s panics with %v, want %v", c.in, c.name, got, c.want)
		}
	}
}

// panicOf returns what a function panics with.
func panicOf(call func()) (value any) {
	defer func() { value = recover() }()
	call()
	return nil
}

// A body becomes the type that generated code has for it, without a second decoding.
func TestBoundBody(t *testing.T) {
	type thing struct {
		ID     int32                     `json:"id"`
		Names  map[string]*string        `json:"names,omitempty"`
		Parts  []thing                   `json:"parts,omitempty"`
		Tag    nullable.Nullable[string] `json:"tag,omitempty"`
		Raw    *[]byte                   `json:"raw,omitempty"`
		Weight *float32                  `json:"weight,omitempty"`
		Any    any                       `json:"any,omitempty"`
	}
	r, refusal := postJSON(t, `{type: object, additionalProperties: true}`,
		`{"id":1,"names":{"a":"b","c":null},"parts":[{"id":2}],"tag":null,"raw":"aGk=","weight":2,"any":[1,"x"],"more":1}`)
	if refusal != nil {
		t.Fatal(refusal)
	}
	var got thing
	must.NoError(t, runtime.BindJSONBody(r, &got))
	want := thing{
		ID: 1, Names: map[string]*string{"a": new("b"), "c": nil}, Parts: []thing{{ID: 2}}, Tag: nullable.NewNullNullable[string](),
		Raw: new([]byte("hi")), Weight: new(float32(2)), Any: []any{int64(1), "x"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the body differs (-want +got):\n%s", diff)
	}
}
