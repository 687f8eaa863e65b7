package httpapi_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// A message says what a parameter must be, and how to write it.
func TestParameterMessages(t *testing.T) {
	s := newService(t)
	for _, c := range []struct{ method, path, header, value, want string }{
		{"GET", "/plants/abc", "Accept", "*/*", "path /id must be an integer"},
		{"GET", "/plants/5.0", "Accept", "*/*", "path /id must be an integer"},
		{"GET", "/plants/05", "Accept", "*/*", "path /id must be written as 5"},
		{"GET", "/plants/9223372036854775808", "Accept", "*/*", "path /id must be an integer of 64 bits"},
		{"GET", "/plants?limit=2147483648", "Accept", "*/*", "query /limit must be an integer of 32 bits"},
		{"DELETE", "/plants/1", "If-Match", "abc", `header /If-Match must be ETags in quotes, as in "abc", or *`},
		{"GET", "/plants/1", "If-None-Match", `W/abc`, `header /If-None-Match must be ETags in quotes, as in "abc", or *`},
	} {
		got := s.call(c.method, c.path, "", header(c.header, c.value)).wantError(t, plantapi.CodeInvalidParameter).Message
		if want := "a parameter is not valid: " + c.want; got != want {
			t.Errorf("%s %s: the message is %q, want %q", c.method, c.path, got, want)
		}
	}
}

func TestParameters(t *testing.T) {
	s := newService(t)
	s.post(`{"id":5,"name":"n","tag":"a b+c/ä;&%"}`).wantStatus(t, http.StatusOK)
	for path, where := range map[string][]string{ // nil: 200
		"/plants/%35":                           nil,
		"/plants/5%00":                          {"/id"},
		"/plants/5%2F6":                         {"/id"},
		"/plants?tag=a%20b%2Bc/%C3%A4%3B%26%25": nil,
		"/plants?limit=%31":                     nil,
		"/plants?limit=1&limit=1":               {"/limit"},
		"/plants?tag=%ff":                       {"/tag"},
		"/plants?=":                             {"/"},
		"/plants?a~/b":                          {"/a~0~1b"},
		"/plants?limit=%zz":                     {""},
		"/plants?limit=1;after=2":               {""},
		"/plants?limit=x&after=y&z":             {"/limit", "/after", "/z"},
		"/plants?" + strings.Repeat("x", 200):   {"/" + strings.Repeat("x", 64) + "…"},
	} {
		a := s.call(http.MethodGet, path, "")
		if where == nil {
			a.wantStatus(t, http.StatusOK)
			continue
		}
		e := a.wantError(t, plantapi.CodeInvalidParameter)
		if diff := cmp.Diff(where, pointers(e)); diff != "" {
			t.Errorf("%s\ndetails point elsewhere (-want +got):\n%s", e.Message, diff)
		}
	}
	query := url.Values{}
	for i := range 100 {
		query.Set(strings.Repeat("x", i+1), "")
	}
	e := s.call(http.MethodGet, "/plants?"+query.Encode(), "").wantError(t, plantapi.CodeInvalidParameter)
	if len(*e.Details) != 32 {
		t.Errorf("a hundred unknown parameters have %d details, want 32", len(*e.Details))
	}
}

// pointers returns where the faults of a request are.
func pointers(e plantapi.Error) (all []string) {
	if e.Details != nil {
		for _, d := range *e.Details {
			all = append(all, d.Pointer)
		}
	}
	return all
}
