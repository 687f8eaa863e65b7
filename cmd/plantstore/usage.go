package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"
)

// explainUsages has a command and all below it explain mistakes.
func explainUsages(cmd *cli.Command) {
	cmd.OnUsageError = explainUsage
	for _, sub := range cmd.Commands {
		explainUsages(sub)
	}
}

// explainUsage turns a mistake on the command line into one line with the next
// step, where the library would print a page of help before it.
func explainUsage(_ context.Context, cmd *cli.Command, err error, _ bool) error {
	hint := ""
	if _, flag, ok := strings.Cut(err.Error(), "not defined: -"); ok {
		if near := cli.SuggestFlag(cmd.Flags, strings.Trim(flag, "-"), false); near != "" {
			hint = fmt.Sprintf(": did you mean %s?", near)
		}
	}
	return fmt.Errorf("%w%s (%s --help lists the flags)", err, hint, cmd.FullName())
}

// unknownCommand is what a command of commands does with a word that names
// none of them.
func unknownCommand(_ context.Context, cmd *cli.Command) error {
	name := cmd.Args().First()
	if name == "" {
		return cli.ShowSubcommandHelp(cmd)
	}
	hint := ""
	if near := cli.SuggestCommand(cmd.Commands, name); near != "" {
		hint = fmt.Sprintf(": did you mean %s?", near)
	}
	return fmt.Errorf("no command %q%s (%s --help lists the commands)", name, hint, cmd.FullName())
}
