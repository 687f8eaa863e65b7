package plan_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/golden"
)

// TestTranscripts compares what tests send to a service, and what they say of it, with testdata/*.txt. After a change of
// the engine, -update writes them anew, and their difference shows what the change does.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	for name, c := range all(transcripts, edges) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var text strings.Builder
			for _, test := range c.run(t) {
				text.WriteString(test.String())
			}
			golden.Compare(t, "testdata/"+name+".txt", text.String())
		})
	}
}

// all are trials of several tables.
func all(tables ...map[string]trial) map[string]trial {
	together := map[string]trial{}
	for _, table := range tables {
		maps.Copy(together, table)
	}
	return together
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
