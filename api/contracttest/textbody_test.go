package contracttest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// What is created by a text is no object, so sequences cannot tell one from another. They accuse no service of it.
func TestTextIsNoObject(t *testing.T) {
	t.Parallel()
	contract, err := New(toyDocument(t, "/files"), Options{Seed: 1})
	must.NoError(t, err)
	for test := range contract.Tests(t.Context()) {
		isSequence := strings.HasPrefix(test.Name, "sequence, writeFile")
		outcome := test.Try(t.Context(), Target{URL: "http://files.example", Transport: faulty{204, http.Header{}, ""}})
		if isSequence && len(outcome.Failures) > 0 {
			t.Errorf("%s: %v", test.Name, outcome.Failures)
		}
	}
}
