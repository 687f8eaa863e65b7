package cli

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"
)

// mistakes turns a mistake on the command line into an error of one line that
// names the next step. By itself the library prints a page of help.
type mistakes struct {
	sys            system
	variables      []string // of all flags, and PLANTSTORE_TOKEN
	unknownCommand error    // CommandNotFound cannot return it
}

// hook sets the hooks of one command; see [cli.Command.Walk].
func (m *mistakes) hook(cmd *cli.Command) error {
	cmd.CommandNotFound = func(_ context.Context, cmd *cli.Command, name string) {
		var names []string
		for _, sub := range cmd.Commands {
			names = append(names, sub.Names()...)
		}
		m.unknownCommand = fmt.Errorf("unknown command %q%s (%s --help lists the commands)",
			name, didYouMean("", name, names), cmd.FullName())
	}
	cmd.OnUsageError = func(_ context.Context, cmd *cli.Command, err error, _ bool) error {
		hint := ""
		// The library has no type for this error.
		if _, flag, ok := strings.Cut(err.Error(), "flag provided but not defined: "); ok {
			var names []string
			for _, f := range cmd.Flags {
				names = append(names, f.Names()...)
			}
			name := strings.TrimLeft(flag, "-")
			if name == "port" || name == "host" { // what many programs call it
				name = "addr"
			}
			hint = didYouMean("--", name, names)
		}
		return fmt.Errorf("%w%s (%s --help lists the flags)", err, hint, cmd.FullName())
	}
	for _, flag := range cmd.Flags {
		if f, ok := flag.(cli.DocGenerationFlag); ok && len(f.GetEnvVars()) > 0 {
			m.variables = append(m.variables, f.GetEnvVars()...)
			cmd.Before = m.warn
		}
	}
	if cmd.ArgsUsage == "" && len(cmd.Commands) == 0 {
		action := cmd.Action
		cmd.Action = func(ctx context.Context, cmd *cli.Command) error {
			if !cmd.Args().Present() {
				return action(ctx, cmd)
			}
			return fmt.Errorf("%s takes no argument, got %q: check for a missing flag or quote before it "+
				"(%s --help lists the flags)",
				strings.TrimPrefix(cmd.FullName(), "plantstore "), cmd.Args().First(), cmd.FullName())
		}
	}
	return nil
}

// plainly writes flags in mistakes that the library reports as the help writes them.
var plainly = strings.NewReplacer(
	"flag provided but not defined: -", "unknown flag --",
	" for flag -", " for --",
	" for flag ", " for --",
	": parse error", ": must be true or false",
)

// ofOthers matches variables that Kubernetes and Docker set for a service that is
// called plantstore, as in PLANTSTORE_PORT=tcp://10.0.0.1:80, and those of our tests.
var ofOthers = regexp.MustCompile(
	`^PLANTSTORE_(TEST_|(.*_)?(SERVICE_HOST=|SERVICE_PORT(_.*)?=|PORT=[a-z]+://|PORT_[0-9]+_))`)

// warn logs each variable of the environment that could be meant for this program but
// is not known.
func (m *mistakes) warn(ctx context.Context, _ *cli.Command) (context.Context, error) {
	for _, variable := range m.sys.environ {
		name, value, _ := strings.Cut(variable, "=")
		short, ours := strings.CutPrefix(name, prefix)
		if !ours || value == "" || slices.Contains(m.variables, name) || ofOthers.MatchString(variable) {
			continue
		}
		var names []string
		for _, known := range m.variables {
			names = append(names, strings.TrimPrefix(known, prefix))
		}
		newLog(m.sys.stderr).Warn("environment variable " + name + " is not known" + didYouMean(prefix, short, names))
	}
	return ctx, nil
}

// didYouMean returns a hint with the known name that is nearest to a mistyped one. It is
// empty if none is near: the library suggests the nearest one however far it is, as in
// --print-token for -prot.
func didYouMean(prefix, name string, known []string) string {
	const (
		minPart  = 3 // letters of a name that is the beginning of another
		maxEdits = 3
	)
	for edits := range min(len(name)/3, maxEdits) + 1 {
		for _, k := range known {
			isPart := min(len(name), len(k)) >= minPart && (strings.HasPrefix(k, name) || strings.HasPrefix(name, k))
			if isPart || isNear(name, k, edits) {
				return fmt.Sprintf(": did you mean %s%s?", prefix, k)
			}
		}
	}
	return ""
}

// isNear reports whether at most so many letters have to be inserted, removed, replaced,
// or swapped with the next one to make b of a.
func isNear(a, b string, edits int) bool {
	switch {
	case a == "" || b == "":
		return len(a)+len(b) <= edits
	case a[0] == b[0]:
		return isNear(a[1:], b[1:], edits)
	case edits == 0:
		return false
	}
	edits--
	return isNear(a[1:], b, edits) || isNear(a, b[1:], edits) || isNear(a[1:], b[1:], edits) ||
		len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] && isNear(a[2:], b[2:], edits)
}

// helpCommand makes help COMMAND the same as COMMAND --help. That of the library
// explains no commands of commands, and prints a page of help after a mistake.
func helpCommand(sys system) *cli.Command {
	return &cli.Command{
		Name:        "help",
		Aliases:     []string{"h"},
		Usage:       "show the help of the program or of a command",
		ArgsUsage:   "[COMMAND]",
		Description: "The same as plantstore COMMAND --help.\n\n   plantstore help token create",
		Action: func(_ context.Context, cmd *cli.Command) error {
			// With the context of help the library would take help for the parent.
			return run(context.Background(), sys, slices.Concat([]string{"plantstore"}, cmd.Args().Slice(), []string{"--help"}))
		},
	}
}
