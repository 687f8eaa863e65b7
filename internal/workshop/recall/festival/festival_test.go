// Package festival has a service in Python with faults. Its test is in Python, too: test_festival.py.
package festival

import (
	"os/exec"
	"testing"
)

func TestFaults(t *testing.T) {
	if output, err := exec.CommandContext(t.Context(), "python3", "-B", "test_festival.py").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
}
