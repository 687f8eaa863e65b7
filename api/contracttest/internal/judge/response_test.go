package judge

import (
	"fmt"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/schematest"
)

// Each item of an array in a header must be one, not only the last.
func TestArrayInHeader(t *testing.T) {
	t.Parallel()
	numbers := schematest.Of(t, "{type: array, items: {type: integer}}")
	for text, want := range map[string]string{"1": "[1]", "1,2": "[1 2]", "1, 2": "[1 2]", "a,2": "", "1,a": "", "": ""} {
		if value, err := ParseText(numbers, text); (err == nil) != (want != "") || want != "" && fmt.Sprint(value) != want {
			t.Errorf("%q is read as %v, %v", text, value, err)
		}
	}
	for text, want := range map[string]bool{"true": true, "false": false} {
		if value, err := ParseText(schematest.Of(t, "{type: boolean}"), text); value != want || err != nil {
			t.Errorf("%q is read as %v, %v", text, value, err)
		}
	}
}
