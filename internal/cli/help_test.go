package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// The help of every command has an example.
func TestHelpHasExamples(t *testing.T) {
	t.Parallel()
	inProcess.Lock()
	defer inProcess.Unlock()
	checked := 0
	var check func(path ...string)
	check = func(path ...string) {
		var out strings.Builder
		sys := system{getenv: func(string) string { return "" }, stdout: &out, stderr: &out}
		must.NoError(t, run(t.Context(), sys, slices.Concat([]string{"plantstore"}, path, []string{"--help"})))
		help := out.String()
		if len(path) > 0 && (!strings.Contains(help, "\n      ") || !strings.Contains(help, "plantstore "+path[0])) {
			t.Errorf("the help of plantstore %s has no example:\n%s", strings.Join(path, " "), help)
		}
		checked++
		_, commands, _ := strings.Cut(help, "\nCOMMANDS:\n")
		commands, _, _ = strings.Cut(commands, "\n\n")
		for line := range strings.Lines(commands) {
			if len(path) == 0 || path[0] != "completion" { // its commands have no flags
				check(append(path, strings.TrimSuffix(strings.Fields(line)[0], ","))...)
			}
		}
	}
	check()
	if checked <= 10 { // the program itself is one of them
		t.Errorf("plantstore has %d commands, want all of them", checked)
	}
}
