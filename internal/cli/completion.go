package cli

import (
	"context"
	"embed"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/token"
	"github.com/plantstore/plantstore/internal/transfer"
)

// The scripts of the library would not do: that for bash runs what is in $(…) on
// the command line when Tab is pressed, and needs the package bash-completion;
// that for zsh completes no file behind --token-file=; that for fish completes no
// files. Ours ask the program what may come next, and complete the names of files
// where it prints nothing.
//
//go:embed completion
var completionScripts embed.FS

// choices are the values of the flags that take one of a few values.
var choices = map[string][]string{
	"from":            {"now", "start"},
	"format":          {string(transfer.CSV), string(transfer.NDJSON)},
	"history-names":   {pageOn, "off"},
	"log-requests":    {logFailed, logAll},
	"oidc-name-claim": {"sub", "email", "preferred_username"},
	"on-gone":         {onGoneRestart, "stop"},
	"page":            {pageOn, "off"},
	"scope":           {string(token.Read), string(token.Write), "read,write"},
	"separator":       slices.Sorted(maps.Keys(transfer.Separators)),
}

// complete prints the possible next words. The command line ends with the word
// that is being completed if that is a flag.
func complete(ctx context.Context, command *cli.Command) {
	word := ""
	if len(os.Args) > 1 {
		word = os.Args[len(os.Args)-2] // the last one asks for completion
	}
	name, _, withValue := strings.Cut(strings.TrimPrefix(word, "--"), "=")
	for _, flag := range command.Flags {
		if _, isBool := flag.(*cli.BoolFlag); isBool || !strings.HasPrefix(word, "--") || !slices.Contains(flag.Names(), name) {
			continue
		}
		for _, choice := range choices[name] {
			if withValue {
				choice = "--" + name + "=" + choice
			}
			fmt.Fprintln(command.Root().Writer, choice)
		}
		return
	}
	// The library adds the command help to every command, also where a file or
	// an ID is expected.
	isOwn := func(sub *cli.Command) bool { return sub.Name != "help" }
	isFlag := func(arg string) bool { return strings.HasPrefix(arg, "-") }
	if slices.ContainsFunc(command.Args().Slice(), isFlag) || slices.ContainsFunc(command.Commands, isOwn) {
		cli.DefaultCompleteWithFlags(ctx, command)
	}
}

// configureCompletion lists the completion command of the library in the help,
// and makes it print our scripts.
func configureCompletion(command *cli.Command) {
	command.Hidden = false
	command.Usage = "print a script that completes commands, flags and files in a shell"
	command.Description = `In bash, for this session, or in ~/.bashrc for every session:

   source <(plantstore completion bash)

In zsh, in ~/.zshrc after compinit:

   source <(plantstore completion zsh)

In fish:

   plantstore completion fish > ~/.config/fish/completions/plantstore.fish`
	command.Commands = slices.DeleteFunc(command.Commands, func(sub *cli.Command) bool { return sub.Name == "pwsh" })
	for _, sub := range command.Commands {
		sub.Usage = "print the script for " + sub.Name
		sub.Action = func(_ context.Context, command *cli.Command) error {
			script, err := completionScripts.ReadFile("completion/" + command.Name)
			if err != nil {
				return err
			}
			_, err = command.Root().Writer.Write(script)
			return err
		}
	}
}
