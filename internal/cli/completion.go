package cli

import (
	"context"
	"io"
	"slices"

	"github.com/urfave/cli/v3"
)

// completeInBash asks the program what may come next. The script of the library
// needs the package bash-completion, and runs what stands in $(…) on the command
// line whenever somebody presses Tab.
const completeInBash = `# Completes the commands and flags of plantstore in bash.
_plantstore() {
	local word=${COMP_WORDS[COMP_CWORD]} line
	local -a typed=("${COMP_WORDS[@]:0:COMP_CWORD}")
	[[ $word == -* ]] && typed+=("$word")
	COMPREPLY=()
	while IFS= read -r line; do
		line=${line%%:*}
		[[ -n $line && $line == "$word"* ]] && COMPREPLY+=("$line")
	done < <("${typed[@]/#\~/$HOME}" --generate-shell-completion 2>/dev/null)
}
complete -o bashdefault -o default -F _plantstore plantstore
`

// configureCompletion makes a command for users of what the library offers.
func configureCompletion(cmd *cli.Command) {
	cmd.Hidden = false
	cmd.Usage = "print a script that lets a shell complete commands and flags"
	cmd.Description = "In bash, for this session; in ~/.bashrc, for every one:\n\n" +
		"   source <(plantstore completion bash)\n\n" +
		"In zsh, in ~/.zshrc after compinit:\n\n" +
		"   source <(plantstore completion zsh)\n\n" +
		"In fish:\n\n" +
		"   plantstore completion fish > ~/.config/fish/completions/plantstore.fish"
	cmd.Commands = slices.DeleteFunc(cmd.Commands, func(sub *cli.Command) bool { return sub.Name == "pwsh" })
	for _, sub := range cmd.Commands {
		sub.Usage = "print the script for " + sub.Name
		if sub.Name == "bash" {
			sub.Action = func(_ context.Context, cmd *cli.Command) error {
				_, err := io.WriteString(cmd.Root().Writer, completeInBash)
				return err
			}
		}
	}
	cmd.Action = unknownCommand
	explainUsages(cmd)
}
