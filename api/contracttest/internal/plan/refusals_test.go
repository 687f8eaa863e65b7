package plan_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/golden"
)

// TestRefusals compares what tests of one request say of services that refuse everything, with each status, with
// testdata/refusals.txt. What a test needs exists.
func TestRefusals(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for _, code := range []int{400, 401, 403, 404, 409, 410, 412, 415, 422, 423, 500, 503} {
		for _, isCreate := range []bool{false, true} {
			c := transcripts["requests"]
			c.phases = "126"
			c.tests = "^(find|putNote|deleteNote|sendForm|deleteCache|stop), "
			c.service = refusing(func(r *http.Request) int {
				isNote := strings.HasPrefix(r.URL.Path, "/notes")
				isTested := r.Method == http.MethodPut || r.Method == http.MethodDelete || isCreate
				if isNote && !isTested {
					return 0
				}
				return code
			})
			if isCreate {
				c.tests = "^createNote, "
			}
			fmt.Fprintf(&text, "%d\n%s", code, grouped(c.run(t)))
		}
	}
	golden.Compare(t, "testdata/refusals.txt", text.String())
}

// mostNamed is how many tests with one verdict are named.
const mostNamed = 3

// succeeded finds how many of the requests at the same time have succeeded: of those of a wrong service not always all.
var succeeded = regexp.MustCompile(`\d+ have succeeded`)

// grouped are the tests by what they say, but for those that hold.
func grouped(tests []told) (lines string) {
	var verdicts []string
	by := map[string][]string{}
	for _, test := range tests {
		verdict := named.ReplaceAllString(test.verdict, "$$")
		verdict = succeeded.ReplaceAllString(verdict, "several have succeeded")
		if verdict != "kept" {
			verdicts = append(verdicts, verdict)
			by[verdict] = append(by[verdict], test.Name)
		}
	}
	slices.Sort(verdicts)
	for _, verdict := range slices.Compact(verdicts) {
		names := by[verdict]
		if more := len(names) - mostNamed; more > 0 {
			names = append(names[:mostNamed], fmt.Sprintf("and %d more", more))
		}
		lines += fmt.Sprintf("    %s\n        %s\n", verdict, strings.Join(names, "\n        "))
	}
	return lines
}
