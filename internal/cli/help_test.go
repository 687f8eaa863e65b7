package cli

import (
	"strings"
	"testing"
)

// The help of every command has an example.
func TestHelpHasExamples(t *testing.T) {
	t.Parallel()
	var check func(path ...string)
	check = func(path ...string) {
		help := output(t, append(path, "--help")...)
		if !strings.Contains(help, "\n      ") || !strings.Contains(help, "plantstore "+path[0]) {
			t.Errorf("the help of plantstore %s has no example:\n%s", strings.Join(path, " "), help)
		}
		_, commands, _ := strings.Cut(help, "\nCOMMANDS:\n")
		commands, _, _ = strings.Cut(commands, "\n\n")
		for line := range strings.Lines(commands) {
			if path[0] != "completion" { // its commands have no flags
				check(append(path, strings.Fields(line)[0])...)
			}
		}
	}
	help := output(t, "--help")
	_, commands, _ := strings.Cut(help, "\nCOMMANDS:\n")
	commands, _, _ = strings.Cut(commands, "\n\n")
	names := 0
	for line := range strings.Lines(commands) {
		names++
		check(strings.TrimSuffix(strings.Fields(line)[0], ","))
	}
	if names < 10 {
		t.Errorf("plantstore --help lists %d commands, want all of them:\n%s", names, help)
	}
}
