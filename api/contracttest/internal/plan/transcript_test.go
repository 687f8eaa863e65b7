package plan_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

var update = flag.Bool("update", false, "write the transcripts in testdata anew")

// TestTranscripts compares what tests send to a service, and what they say of it, with testdata/*.txt. After a change of
// the engine, -update writes them anew, and their difference shows what the change does.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	for name, c := range transcripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var text strings.Builder
			for _, test := range c.run(t) {
				text.WriteString(test.String())
			}
			compare(t, name, text.String())
		})
	}
}

// compare compares a transcript with that in testdata.
func compare(t *testing.T, name string, transcript string) {
	t.Helper()
	path := "testdata/" + name + ".txt"
	if *update {
		must.NoError(t, os.WriteFile(path, []byte(transcript), 0o644))
	}
	text, err := os.ReadFile(path)
	must.NoError(t, err)
	want := strings.Split(string(text), "\n")
	for i, line := range strings.Split(transcript, "\n") {
		if i >= len(want) || want[i] != line {
			t.Fatalf("line %d of the transcript is\n%s\nbut %s has\n%s", i+1, line, path, want[min(i, len(want)-1)])
		}
	}
	if len(transcript) != len(text) {
		t.Fatalf("%s has more lines than the transcript", path)
	}
}

// mostShown is how many of the first requests of a test are shown, and of the last ones.
const mostShown = 12

// named finds values that have names.
var named = regexp.MustCompile(`\$\d+`)

// String is the test in a line, if it sends one request, else in several.
func (t told) String() string {
	lines := t.sent
	if len(lines) == 1 {
		return fmt.Sprintf("%s: %s: %s\n", t.Name, lines[0], t.verdict)
	}
	if strings.Contains(t.Name, "at the same time") { // any of them may come first
		for i, line := range lines {
			lines[i] = named.ReplaceAllString(line, "$$")
		}
		slices.Sort(lines)
	}
	if more := len(lines) - 2*mostShown; more > 0 {
		lines = slices.Concat(lines[:mostShown], []string{fmt.Sprintf("… and %d more", more)}, lines[len(lines)-mostShown:])
	}
	return fmt.Sprintf("%s\n    %s\n  %s\n", t.Name, strings.Join(lines, "\n    "), t.verdict)
}
