package contracttest

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// strictDocument describes one member in three operations, without a component.
func strictDocument() string {
	text := "openapi: 3.0.3\ninfo: {title: Strict, version: \"1\"}\npaths:\n"
	for _, name := range []string{"Tree", "Bush", "Herb"} {
		text += fmt.Sprintf(`  /%s:
    post:
      operationId: add%s
      requestBody: {required: true, content: {application/json: {schema: {type: object, properties: {of%s: {type: boolean}, note: {type: string, maxLength: 20}}}}}}
      responses: {"204": {description: Added.}, "400": {description: Refused.}}
`, strings.ToLower(name), name, name)
	}
	return text
}

// What a service refuses wherever it comes is one cause, also without a component.
func TestCommonMembers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refuses func(body map[string]any) bool
		want    string
	}{
		"members that are not known": {
			func(body map[string]any) bool { return body["unknown-member"] != nil },
			"members that no schema names are refused with 400",
		},
		"a long note": {
			func(body map[string]any) bool {
				note, _ := body["note"].(string)
				return len(note) > 19
			},
			"requests: a valid /note is refused with 400",
		},
	} {
		contract, err := New([]byte(strictDocument()), Options{Seed: 1})
		must.NoError(t, err)
		service := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			isRight := contract.document.Find(r.Method, r.URL.Path) != nil
			switch body, ok := readJSON(r); {
			case !isRight:
				http.NotFound(w, r)
			case !ok, c.refuses(body):
				w.WriteHeader(http.StatusBadRequest)
			default:
				w.WriteHeader(http.StatusNoContent)
			}
		})
		report, err := contract.Run(t.Context(), Target{URL: "http://service.invalid", Transport: inProcess{service}})
		must.NoError(t, err)
		refused := slices.DeleteFunc(titlesOf(report.Causes), func(title string) bool {
			return !strings.Contains(title, "refused with 400")
		})
		if !slices.Equal(refused, []string{c.want}) {
			t.Errorf("%s: the causes of what is refused are %q, want %q", name, refused, c.want)
		}
	}
}

// readJSON reads an object.
func readJSON(r *http.Request) (map[string]any, bool) {
	text, _ := io.ReadAll(r.Body) // what lacks its end is no JSON
	value, err := jsonvalue.Decode(text)
	body := jsonvalue.Object(value)
	return body, err == nil && body != nil
}
