package cli

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// visitHelp calls a function with each command of a command, and its help.
func visitHelp(t *testing.T, path []string, use func(path []string, help string)) {
	t.Helper()
	var out strings.Builder
	sys := system{getenv: func(string) string { return "" }, stdout: &out, stderr: &out}
	must.NoError(t, run(t.Context(), sys, slices.Concat([]string{"plantstore"}, path, []string{"--help"})))
	help := out.String()
	use(path, help)
	_, commands, _ := strings.Cut(help, "\nCOMMANDS:\n")
	commands, _, _ = strings.Cut(commands, "\n\n")
	for line := range strings.Lines(commands) {
		if len(path) == 0 || path[0] != "completion" { // its commands have no flags
			visitHelp(t, append(path, strings.TrimSuffix(strings.Fields(line)[0], ",")), use)
		}
	}
}

// The help of every command has an example. Help and mistakes call each flag by the same name, and neither names a
// type of Go.
func TestHelpAndMistakes(t *testing.T) {
	t.Parallel()
	inProcess.Lock()
	defer inProcess.Unlock()
	flag := regexp.MustCompile(`(?m)^   (--[a-z-]+)(?:, -\w)?(?: (\S+))?`)
	typeName := regexp.MustCompile(`^(string|int|value|float|duration|time)$`)
	oneDash := regexp.MustCompile(`[^-\w]-[a-z]{2}`)
	commands, flags := 0, 0
	visitHelp(t, nil, func(path []string, help string) {
		commands++
		if len(path) > 0 && (!strings.Contains(help, "\n      ") || !strings.Contains(help, "plantstore "+path[0])) {
			t.Errorf("the help of plantstore %s has no example:\n%s", strings.Join(path, " "), help)
		}
		_, options, _ := strings.Cut(help, "OPTIONS:\n")
		for _, m := range flag.FindAllStringSubmatch(options, -1) {
			name, placeholder := m[1], m[2]
			if typeName.MatchString(placeholder) {
				t.Errorf("the help of plantstore %s has %s %s", strings.Join(path, " "), name, placeholder)
			}
			if name == "--help" {
				continue
			}
			flags++
			for _, args := range [][]string{
				{name + "=?", "--no-such-flag"}, // one of the two is wrong, so the command does not run
				{name + "-no"},
				{"--no-such-flag", name},
			} {
				var out strings.Builder
				sys := system{getenv: func(string) string { return "" }, stdout: &out, stderr: &out}
				status := sys.main(t.Context(), slices.Concat([]string{"plantstore"}, path, args))
				said := out.String()
				named := strings.Contains(said, name) || strings.Contains(said, "--no-such-flag")
				if status == 0 || !named || oneDash.MatchString(said) || strings.Contains(said, "parse error") {
					t.Errorf("plantstore %s %q = %d, %s", strings.Join(path, " "), args, status, said)
				}
			}
		}
	})
	if commands <= 10 || flags < 50 {
		t.Errorf("the help has %d commands and %d flags, want all of them", commands, flags)
	}
}
