package values

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/golden"
)

// TestRobustness compares what services have crashed on with testdata/robustness.txt, so that none of it is lost.
func TestRobustness(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for _, of := range []struct {
		name string
		all  []string
	}{
		{"bodies", RobustnessBodies},
		{"texts", RobustnessTexts},
		{"entity tags", RobustnessEntityTags},
		{"names", RobustnessNames},
		{"strings", robustnessStrings},
	} {
		fmt.Fprintf(&text, "%s\n", of.name)
		for _, one := range of.all {
			fmt.Fprintf(&text, "  %.40q, %d bytes\n", one, len(one))
		}
	}
	golden.Compare(t, "testdata/robustness.txt", text.String())
	few := New(Settings{Few: true}).someRobustnessStrings()
	if len(few) != fewStrings+1 || !slices.Equal(few[:fewStrings], robustnessStrings[:fewStrings]) || slices.Contains(few[:fewStrings], few[fewStrings]) {
		t.Errorf("of a large document there are %q", few)
	}
}
