package cli

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// eachHelp calls a function with each command and its help.
func eachHelp(t *testing.T, use func(path []string, help string)) {
	t.Helper()
	checked := 0
	var visit func(path ...string)
	visit = func(path ...string) {
		var out strings.Builder
		sys := system{getenv: func(string) string { return "" }, stdout: &out, stderr: &out}
		must.NoError(t, run(t.Context(), sys, slices.Concat([]string{"plantstore"}, path, []string{"--help"})))
		help := out.String()
		use(path, help)
		checked++
		_, commands, _ := strings.Cut(help, "\nCOMMANDS:\n")
		commands, _, _ = strings.Cut(commands, "\n\n")
		for line := range strings.Lines(commands) {
			if len(path) == 0 || path[0] != "completion" { // its commands have no flags
				visit(append(path, strings.TrimSuffix(strings.Fields(line)[0], ","))...)
			}
		}
	}
	visit()
	if checked <= 10 { // the program itself is one of them
		t.Errorf("plantstore has %d commands, want all of them", checked)
	}
}

// The help of every command has an example.
func TestHelpHasExamples(t *testing.T) {
	t.Parallel()
	inProcess.Lock()
	defer inProcess.Unlock()
	eachHelp(t, func(path []string, help string) {
		if len(path) > 0 && (!strings.Contains(help, "\n      ") || !strings.Contains(help, "plantstore "+path[0])) {
			t.Errorf("the help of plantstore %s has no example:\n%s", strings.Join(path, " "), help)
		}
	})
}

// Help and mistakes call each flag by the same name, and neither names a type of Go.
func TestFlagsInHelpAndMistakes(t *testing.T) {
	t.Parallel()
	inProcess.Lock()
	defer inProcess.Unlock()
	flag := regexp.MustCompile(`(?m)^   (--[a-z-]+)(?:, -\w)?(?: (\S+))?`)
	typeName := regexp.MustCompile(`^(string|int|value|float|duration|time)$`)
	oneDash := regexp.MustCompile(`[^-\w]-[a-z]{2}`)
	flags := 0
	eachHelp(t, func(path []string, help string) {
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
	if flags < 50 {
		t.Errorf("the help has %d flags, want all of them", flags)
	}
}
