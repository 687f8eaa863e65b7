package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/token"
	"github.com/plantstore/plantstore/internal/transfer"
)

// The scripts ask the program what may come next, and complete the names of
// files where it prints nothing. Those of the library do not offer files in fish,
// and in bash need the package bash-completion and run what is in $(…) on the
// command line when Tab is pressed.
var completionScripts = map[string]string{
	"bash": `# Completes the commands, flags and values of plantstore in bash.
_plantstore() {
	local word=${COMP_WORDS[COMP_CWORD]} line
	local -a typed=("${COMP_WORDS[@]:0:COMP_CWORD}")
	# bash makes three words of --format=csv.
	if [[ $word == = ]]; then
		word=
	elif [[ ${typed[COMP_CWORD-1]} == = ]]; then
		unset "typed[COMP_CWORD-1]"
	fi
	[[ $word == -* ]] && typed+=("$word")
	COMPREPLY=()
	while IFS= read -r line; do
		line=${line%%:*}
		[[ -n $line && $line == "$word"* ]] && COMPREPLY+=("$line")
	done < <("${typed[@]/#\~/$HOME}" --generate-shell-completion 2>/dev/null)
}
complete -o bashdefault -o default -F _plantstore plantstore
`,
	"zsh": `#compdef plantstore
# Completes the commands, flags and values of plantstore in zsh.
_plantstore() {
	local word=${words[CURRENT]}
	local -a typed=("${(@Q)words[1,CURRENT-1]}") choices
	[[ $word == -* ]] && typed+=("$word")
	choices=("${(@f)$("${typed[@]}" --generate-shell-completion 2>/dev/null)}")
	if [[ -n ${choices[1]} ]]; then
		_describe plantstore choices
	else
		compset -P '--*='
		_files
	fi
}
if [[ ${funcstack[1]} == _plantstore ]]; then
	_plantstore
else
	compdef _plantstore plantstore
fi
`,
	"fish": `# Completes the commands, flags and values of plantstore in fish.
function __plantstore_complete
	set -l typed (commandline -opc)
	set -l word (commandline -ct)
	string match -q -- '-*' $word; and set -a typed $word
	set -l choices ($typed --generate-shell-completion 2>/dev/null)
	if set -q choices[1]
		string replace : \t -- $choices
	else
		set -l flag (string match -r -- '^--[^=]*=' $word)
		set -l files (__fish_complete_path (string replace -r -- '^--[^=]*=' '' $word))
		string replace -r -- '^' "$flag" $files
	end
end
complete -c plantstore -e
complete -c plantstore -f -a '(__plantstore_complete)'
`,
}

// choices are the values of the flags that take one of a few.
var choices = map[string][]string{
	"format":       {string(transfer.CSV), string(transfer.NDJSON)},
	"log-requests": {logFailed, logAll},
	"scope":        {string(token.Read), string(token.Write), "read,write"},
}

// complete prints what may come next. The last word that was typed is there if
// it is a flag.
func complete(ctx context.Context, cmd *cli.Command) {
	word := ""
	if len(os.Args) > 1 {
		word = os.Args[len(os.Args)-2] // the last one asks for completion
	}
	name, _, withValue := strings.Cut(strings.TrimPrefix(word, "--"), "=")
	for _, flag := range cmd.Flags {
		if _, isBool := flag.(*cli.BoolFlag); isBool || !strings.HasPrefix(word, "--") || !slices.Contains(flag.Names(), name) {
			continue
		}
		for _, choice := range choices[name] {
			if withValue {
				choice = "--" + name + "=" + choice
			}
			fmt.Fprintln(cmd.Root().Writer, choice)
		}
		return
	}
	// The library gives every command the command help, also where a file or an
	// ID is expected.
	isOwn := func(sub *cli.Command) bool { return sub.Name != "help" }
	isFlag := func(arg string) bool { return strings.HasPrefix(arg, "-") }
	if slices.ContainsFunc(cmd.Args().Slice(), isFlag) || slices.ContainsFunc(cmd.Commands, isOwn) {
		cli.DefaultCompleteWithFlags(ctx, cmd)
	}
}

// completeAll has a command and all below it complete values.
func completeAll(cmd *cli.Command) {
	cmd.ShellComplete = complete
	for _, sub := range cmd.Commands {
		completeAll(sub)
	}
}

// configureCompletion makes a command for users of what the library offers.
func configureCompletion(cmd *cli.Command) {
	cmd.Hidden = false
	cmd.Usage = "print a script that lets a shell complete commands, flags and files"
	cmd.Description = "In bash, for this session; in ~/.bashrc, for every one:\n\n" +
		"   source <(plantstore completion bash)\n\n" +
		"In zsh, in ~/.zshrc after compinit:\n\n" +
		"   source <(plantstore completion zsh)\n\n" +
		"In fish:\n\n" +
		"   plantstore completion fish > ~/.config/fish/completions/plantstore.fish"
	cmd.Commands = slices.DeleteFunc(cmd.Commands, func(sub *cli.Command) bool { return sub.Name == "pwsh" })
	for _, sub := range cmd.Commands {
		sub.Usage = "print the script for " + sub.Name
		sub.Action = func(_ context.Context, cmd *cli.Command) error {
			_, err := io.WriteString(cmd.Root().Writer, completionScripts[cmd.Name])
			return err
		}
	}
	cmd.Action = unknownCommand
	explainUsages(cmd)
}
