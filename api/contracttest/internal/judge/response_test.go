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
	for text, isNumber := range map[string]bool{"1.5e3": true, "-2": true, "NaN": false, "-Inf": false, "1e999": false, "": false} {
		faults := textFaults("header X-Size", schematest.Of(t, "{type: number}"), text)
		if isRead := len(faults) == 0; isRead != isNumber {
			t.Errorf("the faults of %q as a number are %v", text, faults)
		}
	}
	for text, want := range map[string]bool{"true": true, "false": false} {
		if value, err := ParseText(schematest.Of(t, "{type: boolean}"), text); value != want || err != nil {
			t.Errorf("%q is read as %v, %v", text, value, err)
		}
	}
}
