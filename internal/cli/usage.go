package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"
)

// mistakes turns a mistake on the command line into an error of one line that
// names the next step. By itself the library prints a page of help.
type mistakes struct {
	unknownCommand error // CommandNotFound cannot return it
}

// hook sets the hooks of one command; see [cli.Command.Walk].
func (m *mistakes) hook(cmd *cli.Command) error {
	cmd.CommandNotFound = func(_ context.Context, cmd *cli.Command, name string) {
		m.unknownCommand = fmt.Errorf("unknown command %q%s (%s --help lists the commands)",
			name, didYouMean(cli.SuggestCommand(cmd.Commands, name)), cmd.FullName())
	}
	cmd.OnUsageError = func(_ context.Context, cmd *cli.Command, err error, _ bool) error {
		hint := ""
		// The library has no type for this error, and finds the name in the same way.
		if _, flag, ok := strings.Cut(err.Error(), "flag provided but not defined: "); ok {
			hint = didYouMean(cli.SuggestFlag(cmd.Flags, strings.TrimLeft(flag, "-"), false))
		}
		return fmt.Errorf("%w%s (%s --help lists the flags)", err, hint, cmd.FullName())
	}
	return nil
}

func didYouMean(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %s?", name)
}
