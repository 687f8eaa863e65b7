package contracttest

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// A path is that of the document if it is below the base path, and else as it was sent.
func TestSentPath(t *testing.T) {
	t.Parallel()
	based := strings.Replace(smallDocument, "paths:\n", "servers: [{url: /v1}]\npaths:\n", 1)
	c := contractFrom(t, based, Options{Seed: 1})
	for sent, want := range map[string]string{
		"http://things.example/v1/things/3":    "/things/3",
		"http://things.example/v1/things/a%2f": "/things/a%2f",
		"http://things.example/v1/":            "/",
		"http://things.example/v1":             "/v1",
		"http://things.example/v10/things/3":   "/v10/things/3",
		"http://things.example/things/3":       "/things/3",
		"http://things.example":                "/",
	} {
		address, err := url.Parse(sent)
		must.NoError(t, err)
		if got := c.sentPath(address); got != want {
			t.Errorf("of %s the path is %q, want %q", sent, got, want)
		}
	}
}

// Of a response whose body is not known nothing is told: the body may be right.
func TestJudgeWithoutBody(t *testing.T) {
	t.Parallel()
	faults := 0
	judge := contractFrom(t, watchDocument, Options{}).Judge(func(Interaction, Fault) { faults++ })
	for _, c := range []struct {
		body []byte
		want int
	}{
		{nil, 0},
		{[]byte{}, 1},
		{[]byte(`{"id":1,"name":"n"}`), 0},
	} {
		faults = 0
		judge(httptest.NewRequest("GET", "/things/1", http.NoBody), http.StatusOK, http.Header{"Content-Type": {"application/json"}}, c.body)
		if faults != c.want {
			t.Errorf("a response with the body %#v has %d faults, want %d", c.body, faults, c.want)
		}
	}
}
