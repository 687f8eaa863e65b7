package judge

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/report"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// A request that succeeds is judged by the document: its body, if that is JSON, and what is plain in its path and query.
func TestRequestFailures(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/pots.yaml")
	must.NoError(t, err)
	read, err := document.Parse(text)
	must.NoError(t, err)
	const isJSON = "application/json"
	for _, c := range []struct {
		method, target, mediaType, body string
		status                          int
		want                            string
	}{
		{"POST", "/pots", isJSON, `{"id":7}`, 201, ""},
		{"POST", "/pots", isJSON, `{"id":"7","color":"green"}`, 201, "createPot in requests: a value that breaks maxLength is accepted as /color, createPot in requests: a value of another type is accepted as /id"},
		{"POST", "/pots", isJSON, `{}`, 299, "createPot in requests: /id is required, and may be missing"},
		{"POST", "/pots", isJSON, `{}`, 300, ""},
		{"POST", "/pots", isJSON, `{}`, 400, ""},
		{"POST", "/pots", isJSON, `{`, 201, ""},
		{"POST", "/pots", "text/plain", `{}`, 201, ""},
		{"POST", "/cups", isJSON, `{}`, 201, ""},
		{"GET", "/pots?limit=9&own=1&word=", "", "", 200, ""},
		{"GET", "/pots?limit=10", "", "", 200, "listPots: a value that breaks maximum is accepted as parameter limit"},
		{"GET", "/pots?limit=9&limit=10", "", "", 200, ""}, // services differ in which one counts
		{"GET", "/pots?limit=", "", "", 200, ""},
		{"GET", "/pots?own=a", "", "", 200, "listPots: a value of another type is accepted as parameter own"},
		{"GET", "/pots/7", "", "", 200, ""},
		{"GET", "/pots/seven", "", "", 200, "getPot: a value of another type is accepted as parameter id"},
		{"GET", "/forms?size=x&sizes=x&deep=x", "", "", 200, ""}, // of several types, an array, and with a media type
		{"GET", "/forms", "", "", 200, ""},
		{"PUT", "/forms", "", "", 200, "putForm: parameter key is required, and may be missing"},
		{"PUT", "/forms?key=%20", "", "", 200, "putForm: a value that breaks minLength is accepted as parameter key"},
	} {
		path, query, _ := strings.Cut(c.target, "?")
		x := scenario.Interaction{
			Method: c.method, Path: path, URL: "http://pots.example" + c.target, Status: c.status,
			RequestHeader: http.Header{"Content-Type": {c.mediaType}}, RequestBody: []byte(c.body),
		}
		var got []string
		for _, failure := range New(read, nil, Settings{}).RequestFailures(x, "a test") {
			got = append(got, report.CauseText(failure.Cause))
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s %s?%s %s: %q, want %q", c.method, path, query, c.body, got, c.want)
		}
	}
}
