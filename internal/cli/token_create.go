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
		Usage: "create a token and print it once",
		Description: "Prints the token alone on stdout, and its ID, scopes and expiry on stderr.\n\n" +
			"   TOKEN=$(plantstore token create --name \"green laptop\" --scope read --expires 30d)",
		Flags: []cli.Flag{
			storeFlag(anyStore),
			textFlag("name", "", "name the token `NAME`, after its user and purpose; required"),
			textFlag("scope", "read,write", "give the token `SCOPES`: read, write, or both, separated by a comma"),
			textFlag("expires", "90d", "let the token expire after `TIME`, as in 90d, 12h or 1y, or never"),
		},
		Action: func(ctx context.Context, cmd *cli.Command) (err error) {
			if cmd.Args().Present() {
				return fmt.Errorf("token create takes no argument, got %q: check for a missing flag or quote before it", cmd.Args().First())
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
			store, err := openExisting(ctx, cmd, nil)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, store.Close()) }()
			t, text := token.New(name, scopes, lifetime)
			if err := store.CreateToken(ctx, t); err != nil {
				return err
			}
			fmt.Fprintf(sys.stderr, "created token %q in %s: ID %s, scopes %s, %s; it is shown only once:\n",
				t.Name, open.Redacted(cmd.String("store")), t.ID, token.JoinScopes(t.Scopes, " and "), expiry(t))
			_, err = fmt.Fprintln(sys.stdout, text)
			return err
		},
	}
}

// checkName refuses a name that cannot be read in a table.
func checkName(name string) error {
	const maxLen = 100
	switch {
	case strings.TrimSpace(name) == "":
		return errors.New("the token needs a name: add --name, as in --name \"green laptop\"")
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }), len(name) > maxLen:
		return fmt.Errorf("--name: must be at most %d bytes of printable text", maxLen)
	}
	return nil
}

// parseScopes parses a list of scopes: read,write.
func parseScopes(text string) ([]token.Scope, error) {
	var scopes []token.Scope
	for name := range strings.SplitSeq(text, ",") {
		scope := token.Scope(strings.TrimSpace(name))
		if !scope.Valid() {
			return nil, fmt.Errorf("--scope: must be read, write, or read,write, got %q", name)
		}
		scopes = append(scopes, scope)
	}
	slices.Sort(scopes)
	return slices.Compact(scopes), nil
}
