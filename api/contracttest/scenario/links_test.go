package scenario_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// A reference in a response is resolved as RFC 3986 says, and leads to a path of the service, or nowhere.
func TestLeadsTo(t *testing.T) {
	t.Parallel()
	const below = "which is not below http://library.example/api"
	for _, c := range []struct{ reference, path, query, ends string }{
		{reference: "/api/notes/7", path: "/notes/7"},
		{reference: "notes/7", path: "/notes/7"},
		{reference: "?page=2&limit=1", path: "/notes", query: "page=2 limit=1"},
		{reference: "http://library.example/api/notes?page=%202", path: "/notes", query: "page=%202"},
		{reference: "http://other.example/api/notes?page=2", ends: "leads to http://other.example/api/notes, " + below},
		{reference: "/notes/7", ends: "leads to http://library.example/notes/7, " + below},
		{reference: "/apis/7", ends: "leads to http://library.example/apis/7, " + below},
		{reference: "http://\x00", ends: `leads to "http://\x00": parse "http://\x00": net/url: invalid control character in URL`},
	} {
		from := scenario.Interaction{URL: "http://library.example/api/notes?page=1", Path: "/notes"}
		path, query, err := from.LeadsTo(c.reference)
		if path != c.path || strings.Join(query, " ") != c.query || said(err) != c.ends {
			t.Errorf("%q leads to %q with %q, %v", c.reference, path, query, err)
		}
		if c.query == "" && query != nil {
			t.Errorf("%q has the query %q", c.reference, query)
		}
	}
	if _, _, err := (scenario.Interaction{URL: "http://\x00"}).LeadsTo("/notes"); err == nil {
		t.Error("what comes from nowhere leads somewhere")
	}
}

// The next page is the one that Link names so.
func TestNextLink(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"":                              "",
		`</a>; rel="next"`:              "/a",
		`</a>; rel=next`:                "/a",
		`</a>;rel="next"`:               "/a",
		`</a>; rel="prev"`:              "",
		`</a>; rel="x", </b>; rel=next`: "/b",
	} {
		if got := (scenario.Interaction{Header: http.Header{"Link": {header}}}).NextLink(); got != want {
			t.Errorf("of %s the next page is %q, want %q", header, got, want)
		}
	}
}

// said is what an error says; nothing, if there is none.
func said(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
