package cli

import (
	"context"
	"slices"

	"github.com/urfave/cli/v3"
)

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
