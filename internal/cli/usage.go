package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"
	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/shell"
)

// mistakes turns a mistake on the command line into an error of one line that
// names the next step. By itself the library prints a page of help.
type mistakes struct {
	sys            system
	variables      []string // of all flags, and PLANTSTORE_TOKEN
	unknownCommand error    // CommandNotFound cannot return it
}

// hook sets the hooks of one command; see [cli.Command.Walk].
func (m *mistakes) hook(command *cli.Command) error {
	command.CommandNotFound = func(_ context.Context, command *cli.Command, name string) {
		m.unknownCommand = unknownCommandError(command, name)
	}
	command.OnUsageError = func(_ context.Context, command *cli.Command, err error, _ bool) error {
		return fmt.Errorf("%w%s (%s --help lists the flags)", err, suggestedFlag(command, err), command.FullName())
	}
	variables := variablesOf(command)
	if len(variables) > 0 {
		m.variables = append(m.variables, variables...)
		command.Before = m.warn
	}
	if command.ArgsUsage == "" && len(command.Commands) == 0 {
		command.Action = withoutArguments(command.Action)
	}
	return nil
}

func unknownCommandError(command *cli.Command, name string) error {
	var known []string
	for _, sub := range command.VisibleCommands() {
		known = append(known, sub.Names()...)
	}
	hint := didYouMean("", name, known)
	if command.Root() != command {
		hint = cmp.Or(hint, ": give "+english.OxfordWordSeries(known, "or"))
	}
	return fmt.Errorf("unknown command %q%s (%s --help lists the commands)", name, hint, command.FullName())
}

// suggestedFlag returns a hint if an error of the library is about an unknown flag.
func suggestedFlag(command *cli.Command, err error) string {
	// The library has no type for this error.
	_, flag, isUnknown := strings.Cut(err.Error(), "flag provided but not defined: ")
	if !isUnknown {
		return ""
	}
	var known []string
	for _, f := range command.Flags {
		known = append(known, f.Names()...)
	}
	name := strings.TrimLeft(flag, "-")
	if name == "port" || name == "host" { // what many programs call it
		name = "addr"
	}
	return didYouMean("--", name, known)
}

// variablesOf returns the environment variables of the flags of a command.
func variablesOf(command *cli.Command) []string {
	var variables []string
	for _, flag := range command.Flags {
		if documented, ok := flag.(cli.DocGenerationFlag); ok {
			variables = append(variables, documented.GetEnvVars()...)
		}
	}
	return variables
}

// withoutArguments returns an action that refuses arguments.
func withoutArguments(action cli.ActionFunc) cli.ActionFunc {
	return func(ctx context.Context, command *cli.Command) error {
		if !command.Args().Present() {
			return action(ctx, command)
		}
		advice := "check for a missing flag or quote before it"
		if command.Name == "copy" && command.NArg() == 2 {
			advice = fmt.Sprintf("write copy --from %s --to %s", shell.Quote(command.Args().Get(0)), shell.Quote(command.Args().Get(1)))
		}
		return fmt.Errorf("%s takes no argument, got %q: %s (%s --help lists the flags)",
			strings.TrimPrefix(command.FullName(), "plantstore "), command.Args().First(), advice, command.FullName())
	}
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
func (m *mistakes) warn(ctx context.Context, command *cli.Command) (context.Context, error) {
	m.warnOfReaders(command)
	var known []string
	for _, variable := range m.variables {
		known = append(known, strings.TrimPrefix(variable, prefix))
	}
	for _, variable := range m.sys.environ {
		name, value, _ := strings.Cut(variable, "=")
		short, isOurs := strings.CutPrefix(name, prefix)
		isSet := isOurs && value != ""
		isKnown := slices.Contains(known, short) || ofOthers.MatchString(variable)
		if isSet && !isKnown {
			newLog(m.sys.stderr).Warn("environment variable " + name + " is not known" + didYouMean(prefix, short, known))
		}
	}
	return ctx, nil
}

// warnOfReaders logs each file with a secret that all users of the machine may read. It is no error: a volume of
// Kubernetes has such files. On Windows a mode says nothing about other users.
func (m *mistakes) warnOfReaders(command *cli.Command) {
	for _, flag := range []string{"secret-file", "tls-key", "token-file"} {
		name := command.String(flag)
		info, err := os.Stat(name)
		isShared := err == nil && info.Mode()&0o004 != 0
		if isShared && runtime.GOOS != "windows" {
			newLog(m.sys.stderr).Warn(fmt.Sprintf("all users of this machine may read the file of --%s: run chmod o= %s",
				flag, shell.Quote(name)))
		}
	}
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
		for _, other := range known {
			isLong := min(len(name), len(other)) >= minPart
			isPart := strings.HasPrefix(other, name) || strings.HasPrefix(name, other)
			isSimilar := isLong && isPart
			if isSimilar || isNear(name, other, edits) {
				return fmt.Sprintf(": did you mean %s%s?", prefix, other)
			}
		}
	}
	return ""
}

// isNear reports whether at most so many letters have to be inserted, removed, replaced,
// or swapped with the next one to make the other word.
func isNear(word, other string, edits int) bool {
	switch {
	case word == "" || other == "":
		return len(word)+len(other) <= edits
	case word[0] == other[0]:
		return isNear(word[1:], other[1:], edits)
	case edits == 0:
		return false
	}
	type pair struct{ word, other string }
	rests := []pair{{word[1:], other}, {word, other[1:]}, {word[1:], other[1:]}}
	if len(word) > 1 && strings.HasPrefix(other, word[1:2]+word[:1]) { // swapped
		rests = append(rests, pair{word[2:], other[2:]})
	}
	return slices.ContainsFunc(rests, func(rest pair) bool { return isNear(rest.word, rest.other, edits-1) })
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
		Action: func(_ context.Context, command *cli.Command) error {
			// With the context of help the library would take help for the parent.
			return run(context.Background(), sys, slices.Concat([]string{"plantstore"}, command.Args().Slice(), []string{"--help"}))
		},
	}
}
