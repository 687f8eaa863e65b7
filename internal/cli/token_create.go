package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/store/open"
	"github.com/plantstore/plantstore/internal/token"
)

func tokenCreateCommand(sys system) *cli.Command {
	return &cli.Command{
		Name:  "create",
		Usage: "make a token and print it, this once",
		Description: "Prints the token alone on stdout; what there is to know about it is on stderr.\n\n" +
			"   TOKEN=$(plantstore token create --name \"green laptop\" --scope read --expires 30d)",
		Flags: []cli.Flag{
			storeFlag(keepIn),
			&cli.StringFlag{
				Name:    "name",
				Usage:   "call it `NAME`, which tells people who has it and what for; needed",
				Sources: cli.EnvVars("PLANTSTORE_NAME"),
			},
			&cli.StringFlag{
				Name:    "scope",
				Usage:   "let it do `SCOPES`: read, write, or both, separated by a comma",
				Value:   "read,write",
				Sources: cli.EnvVars("PLANTSTORE_SCOPE"),
			},
			&cli.StringFlag{
				Name:    "expires",
				Usage:   "let it end after `TIME`, as in 90d, 12h or 1y, or never",
				Value:   "90d",
				Sources: cli.EnvVars("PLANTSTORE_EXPIRES"),
			},
		},
		Action: func(ctx context.Context, cmd *cli.Command) (err error) {
			if cmd.Args().Present() {
				return fmt.Errorf("token create takes no argument, got %q: is a flag or a quote missing before it?", cmd.Args().First())
			}
			name := cmd.String("name")
			if err := checkName(name); err != nil {
				return err
			}
			scopes, err := parseScopes(cmd.String("scope"))
			if err != nil {
				return err
			}
			lifetime, err := parseLifetime(cmd.String("expires"))
			if err != nil {
				return err
			}
			store, err := openTokens(ctx, cmd, true)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, store.Close()) }()
			t, text := token.New(name, scopes, lifetime)
			if err := store.CreateToken(ctx, t); err != nil {
				return err
			}
			fmt.Fprintf(sys.stderr, "token %q with the ID %s may %s in %s, %s, and is shown this once:\n",
				t.Name, t.ID, token.JoinScopes(t.Scopes, " and "), open.Redacted(cmd.String("store")), expiry(t))
			_, err = fmt.Fprintln(sys.stdout, text)
			return err
		},
	}
}

// checkName insists on a name that people can tell from others in a table.
func checkName(name string) error {
	const maxLen = 100
	switch {
	case strings.TrimSpace(name) == "":
		return errors.New("a token needs a name, so that people know who has it: add --name, as in --name \"green laptop\"")
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }), len(name) > maxLen:
		return fmt.Errorf("--name: a name is at most %d bytes of printable text", maxLen)
	}
	return nil
}

// parseScopes reads a list of scopes: read,write.
func parseScopes(text string) ([]token.Scope, error) {
	var scopes []token.Scope
	for name := range strings.SplitSeq(text, ",") {
		scope := token.Scope(strings.TrimSpace(name))
		if !scope.Valid() {
			return nil, fmt.Errorf("--scope: %q is not a scope: write read, write, or read,write", name)
		}
		scopes = append(scopes, scope)
	}
	slices.Sort(scopes)
	return slices.Compact(scopes), nil
}
