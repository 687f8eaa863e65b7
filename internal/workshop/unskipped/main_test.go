package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// What is skipped without a reason, and a package that runs no test, are errors.
func TestUnexplained(t *testing.T) {
	for text, fails := range map[string]bool{
		"=== RUN   TestA\n":                                       true,
		"    a_test.go:1: needs a minute\n":                       true,
		"    a_test.go:1: needs Python: .ci/drill test-webhook\n": false,
		"    a_test.go:1: needs a minute: .ci/drill crash\n":      true, // its variable is set
	} {
		t.Setenv("PLANTSTORE_TEST_CRASH_ROUNDS", "1")
		t.Setenv("PLANTSTORE_TEST_PYTHON", "")
		if err := unexplained(map[test]string{{"a", "TestA"}: text}); (err != nil) != fails {
			t.Errorf("a test that is skipped with %q gives the error %v", text, err)
		}
	}
}

func TestReport(t *testing.T) {
	var events strings.Builder
	for _, e := range []event{
		{Action: "output", Package: "a", Test: "TestA", Output: "    a_test.go:1: why\n"},
		{Action: "skip", Package: "a", Test: "TestA"},
		{Action: "output", Package: "a", Test: "TestB", Output: "    a_test.go:2: figures: 7\n"},
		{Action: "pass", Package: "a", Test: "TestB"},
		{Action: "output", Package: "a", Output: "ok  \ta\t0.1s\n"},
		{Action: "pass", Package: "a"},
		{Action: "output", Package: "b", Output: "ok  \tb\t0.1s [no tests to run]\n"},
		{Action: "pass", Package: "b"},
		{Action: "output", Package: "c", Output: "?   \tc\t[no test files]\n"},
		{Action: "skip", Package: "c"},
		{Action: "output", Package: "d", Test: "TestD", Output: "    d_test.go:1: wrong\n"},
		{Action: "fail", Package: "d", Test: "TestD"},
		{Action: "fail", Package: "d"},
		{Action: "build-output", ImportPath: "e", Output: "e.go:1: broken\n"},
	} {
		line, err := json.Marshal(e)
		must.NoError(t, err)
		events.Write(append(line, '\n'))
	}
	var out strings.Builder
	tests := newReport(&out)
	err := tests.read(strings.NewReader(events.String()))
	skipped := tests.skipped
	if err != nil || len(skipped) != 2 || skipped[test{"a", "TestA"}] != "    a_test.go:1: why\n" || skipped[test{"b", ""}] == "" {
		t.Errorf("skipped are %q, %v", skipped, err)
	}
	const want = "figures: 7\nok  \ta\t0.1s\nok  \tb\t0.1s [no tests to run]\n?   \tc\t[no test files]\n    d_test.go:1: wrong\ne.go:1: broken\n"
	if out.String() != want {
		t.Errorf("the output is %q, want %q", out.String(), want)
	}
}
