package contracttest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Random bodies are drawn from a seed, and find what no keyword of the document leads to.
func TestRandomBodies(t *testing.T) {
	t.Parallel()
	run := func(seed uint64) (failures []Failure, sent string) {
		c := contractFrom(t, notesDocument, Options{Seed: seed})
		for _, test := range testsOf(c) {
			if !strings.HasPrefix(test.Name, "addNote, random body: ") {
				continue
			}
			found, _ := attempt(test, Target{URL: "http://notes.example", Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
				body, _ := io.ReadAll(r.Body)
				sent += string(body)
				note := map[string]any{}
				_ = json.Unmarshal(body, &note) // a body that is not an object has no text
				if text, ok := note["text"].(string); ok && strings.ContainsAny(text, "uvwxyz") {
					return faulty{500, http.Header{"Content-Type": {"application/json"}}, `{"detail":"x"}`}.RoundTrip(r)
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				return inProcess{noteService(c)}.RoundTrip(r)
			})})
			failures = append(failures, found...)
		}
		return failures, sent
	}
	failures, sent := run(1)
	if !slices.ContainsFunc(failures, func(f Failure) bool {
		return f.Cause == scenario.Cause{Kind: scenario.Crashes, Operation: "addNote", Status: 500}
	}) {
		t.Errorf("the failures are %v", failures)
	}
	if _, again := run(1); again != sent {
		t.Error("the seed 1 does not draw the same bodies again")
	}
	if _, other := run(2); other == sent {
		t.Error("the seeds 1 and 2 draw the same bodies")
	}
}
