package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/token"
)

func tokenListCommand(sys system) *cli.Command {
	return &cli.Command{
		Name:  "list",
		Usage: "list all tokens, oldest first",
		Description: "Prints a table, or JSON with --json. It never prints a secret.\n\n" +
			"   plantstore token list --json | jq -r '.[] | select(.revoked_at == null).name'",
		Flags: []cli.Flag{
			storeFlag(anyStore),
			boolFlag("json", "print a JSON array"),
		},
		Action: func(ctx context.Context, cmd *cli.Command) (err error) {
			if cmd.Args().Present() {
				return errors.New("token list takes no argument")
			}
			store, err := openExisting(ctx, cmd, nil)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, store.Close()) }()
			all, err := store.Tokens(ctx)
			if err != nil {
				return err
			}
			if cmd.Bool("json") {
				return listJSON(sys.stdout, all)
			}
			return listTable(sys.stdout, all, time.Now())
		},
	}
}

// listedToken is a token in JSON. It has no field for a secret.
type listedToken struct {
	ID         string        `json:"id"`
	Name       string        `json:"name"`
	Scopes     []token.Scope `json:"scopes"`
	CreatedAt  time.Time     `json:"created_at"`
	ExpiresAt  *time.Time    `json:"expires_at"`
	LastUsedAt *time.Time    `json:"last_used_at"`
	RevokedAt  *time.Time    `json:"revoked_at"`
}

func listJSON(w io.Writer, all []token.Token) error {
	list := []listedToken{}
	for _, t := range all {
		list = append(list, listedToken{
			ID:         t.ID,
			Name:       t.Name,
			Scopes:     append([]token.Scope{}, t.Scopes...), // [], never null
			CreatedAt:  t.CreatedAt.UTC(),
			ExpiresAt:  orNull(t.ExpiresAt),
			LastUsedAt: orNull(t.LastUsedAt),
			RevokedAt:  orNull(t.RevokedAt),
		})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(list)
}

func listTable(w io.Writer, all []token.Token, now time.Time) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tNAME\tSCOPES\tCREATED\tEXPIRES\tLAST USED\tSTATE")
	for _, t := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", t.ID, t.Name, token.JoinScopes(t.Scopes, ","),
			stamp(t.CreatedAt), orNever(t.ExpiresAt), orNever(t.LastUsedAt), state(t, now))
	}
	return table.Flush()
}

// state returns the state of a token.
func state(t token.Token, now time.Time) string {
	switch {
	case !t.RevokedAt.IsZero():
		return "revoked"
	case !t.InForce(now):
		return "expired"
	default:
		return "valid"
	}
}

func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}

func orNever(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return stamp(t)
}
