package values

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/golden"
)

// TestOdd compares what services have crashed on with testdata/odd.txt, so that none of it is lost.
func TestOdd(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for _, of := range []struct {
		name string
		all  []string
	}{
		{"bodies", OddBodies},
		{"texts", OddTexts},
		{"entity tags", OddEntityTags},
		{"names", OddNames},
		{"strings", oddStrings},
	} {
		fmt.Fprintf(&text, "%s\n", of.name)
		for _, odd := range of.all {
			fmt.Fprintf(&text, "  %.40q, %d bytes\n", odd, len(odd))
		}
	}
	golden.Compare(t, "testdata/odd.txt", text.String())
	few := New(Settings{Few: true}).someOddStrings()
	if len(few) != fewStrings+1 || !slices.Equal(few[:fewStrings], oddStrings[:fewStrings]) || slices.Contains(few[:fewStrings], few[fewStrings]) {
		t.Errorf("of a large document there are %q", few)
	}
}
