package cli

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
	if strings.HasSuffix(err.Error(), ": parse error") { // only a boolean says no more
		hint = ": write true or false"
	}
	if _, flag, ok := strings.Cut(err.Error(), "not defined: -"); ok {
		names := []string{"help"}
		for _, f := range cmd.Flags {
			names = append(names, f.Names()...)
		}
		if near := nearest(strings.Trim(flag, "-"), names); near != "" {
			hint = fmt.Sprintf(": did you mean --%s?", near)
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
	return noCommand(cmd, name)
}

func noCommand(cmd *cli.Command, name string) error {
	hint, names := "", []string{"help"}
	for _, sub := range cmd.Commands {
		names = append(names, sub.Names()...)
	}
	if near := nearest(name, names); near != "" {
		hint = fmt.Sprintf(": did you mean %s?", near)
	}
	return fmt.Errorf("no command %q%s (%s --help lists the commands)", name, hint, cmd.FullName())
}

// helpCommand is `help [COMMAND]...`. That of the library knows no words but its
// own for a command that there is not.
func helpCommand() *cli.Command {
	return &cli.Command{
		Name:        "help",
		Aliases:     []string{"h"},
		Usage:       "explain the program, or one of its commands",
		ArgsUsage:   "[COMMAND]",
		Description: "plantstore COMMAND --help says the same.\n\n   plantstore help token create",
		Action: func(ctx context.Context, cmd *cli.Command) error {
			about := cmd.Root()
			for i, name := range cmd.Args().Slice() {
				sub := about.Command(name)
				if sub == nil {
					return noCommand(about, name)
				}
				if i == cmd.NArg()-1 {
					return cli.ShowCommandHelp(ctx, about, name)
				}
				about = sub
			}
			return cli.ShowRootCommandHelp(about)
		},
	}
}

// explain puts the next step to an error for which the library has no hook.
func explain(root *cli.Command, args []string, err error) error {
	switch {
	case err == nil:
	case strings.Contains(err.Error(), "as bool value from environment variable"):
		return fmt.Errorf("%w: write true or false, or unset it", err)
	case strings.HasPrefix(err.Error(), "No help topic for"):
		for about := root; len(args) > 1; args = args[1:] {
			sub := about.Command(args[1])
			if sub == nil {
				return noCommand(about, args[1])
			}
			about = sub
		}
	}
	return err
}

// nearest returns the word that is most likely meant, or nothing if it takes a
// guess: more than a third of the letters would have to be others. Names of one
// letter are not worth a hint.
func nearest(typed string, words []string) (near string) {
	least := 2 + len(typed)/3
	for _, word := range words {
		d := distance(typed, word)
		if len(typed) > 2 && strings.HasPrefix(word, typed) {
			d = 1
		}
		if d < least && len(word) > 1 {
			near, least = word, d
		}
	}
	return near
}

// distance is how many letters must be changed, left out or put in, and how many
// neighbours must change places, to make one word of another.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		for j := range rows[i] {
			switch {
			case i == 0 || j == 0:
				rows[i][j] = i + j
				continue
			case a[i-1] == b[j-1]:
				rows[i][j] = rows[i-1][j-1]
			default:
				rows[i][j] = 1 + min(rows[i-1][j-1], rows[i-1][j], rows[i][j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], 1+rows[i-2][j-2])
			}
		}
	}
	return rows[len(a)][len(b)]
}
