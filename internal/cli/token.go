package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/backoff"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/store/open"
	"github.com/plantstore/plantstore/internal/token"
)

func tokenCommand(sys system) *cli.Command {
	return &cli.Command{
		Name:  "token",
		Usage: "create, list, revoke and rotate tokens",
		Description: `Every request needs a token. These commands work directly on the store, also while the service runs;
a change takes effect within a second on every server. The store holds only a hash of a token, so a
token is shown once, when it is created.

   TOKEN=$(plantstore token create --name "green laptop")
   plantstore token list`,
		Commands: []*cli.Command{
			tokenCreateCommand(sys),
			tokenListCommand(sys),
			tokenRevokeCommand(sys),
			tokenRotateCommand(sys),
		},
	}
}

func tokenCreateCommand(sys system) *cli.Command {
	return &cli.Command{
		Name:  "create",
		Usage: "create a token and print it once",
		Description: `Prints the token alone on stdout, and its ID, scopes and expiry on stderr.

   TOKEN=$(plantstore token create --name "green laptop" --scope read --expires 30d)`,
		Flags: []cli.Flag{
			storeFlag(anyStore),
			textFlag("name", "", "name the token `NAME`, after its user and purpose; required"),
			textFlag("scope", "read,write", "give the token `SCOPES`: read, write, or both, separated by a comma"),
			textFlag("expires", "90d", "let the token expire after `TIME`, as in 90d, 12h or 1y, or never"),
		},
		Action: func(ctx context.Context, command *cli.Command) error {
			name := command.String("name")
			if err := checkName(name); err != nil {
				return err
			}
			scopes, err := parseScopes(command.String("scope"))
			if err != nil {
				return err
			}
			lifetime, err := parseLifetime(command.String("expires"))
			if err != nil {
				return err
			}
			t, text := token.New(name, scopes, lifetime)
			err = withStore(ctx, command, func(s store.Store) error { return s.CreateToken(ctx, t) })
			if err != nil {
				return err
			}
			fmt.Fprintf(sys.stderr, "created token %q in %s: ID %s, scopes %s, %s; it is shown only once:\n",
				t.Name, open.Redacted(command.String("store")), t.ID, token.JoinScopes(t.Scopes, " and "), expiry(t))
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

func tokenListCommand(sys system) *cli.Command {
	return &cli.Command{
		Name:  "list",
		Usage: "list all tokens, oldest first",
		Description: `Prints a table, or JSON with --json. It never prints a secret.

   plantstore token list --json | jq -r '.[] | select(.revoked_at == null).name'`,
		Flags: []cli.Flag{
			storeFlag(anyStore),
			boolFlag("json", "print a JSON array"),
		},
		Action: func(ctx context.Context, command *cli.Command) error {
			var all []token.Token
			err := withStore(ctx, command, func(s store.Store) (err error) {
				all, err = s.Tokens(ctx)
				return err
			})
			if err != nil {
				return err
			}
			if command.Bool("json") {
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

func tokenRevokeCommand(sys system) *cli.Command {
	return &cli.Command{
		Name:      "revoke",
		Usage:     "revoke a token for good",
		ArgsUsage: "ID",
		Description: `Every server on the store refuses the token within a second. Revoking it again changes nothing.

   plantstore token revoke mGdgoH14hxFz`,
		Flags: []cli.Flag{storeFlag(anyStore)},
		Action: func(ctx context.Context, command *cli.Command) error {
			revoked, err := updateToken(ctx, command, func(t *token.Token) error {
				t.Revoke(time.Now())
				return nil
			})
			if err != nil {
				return err
			}
			fmt.Fprintf(sys.stderr, "token %q is revoked\n", revoked.Name)
			return nil
		},
	}
}

func tokenRotateCommand(sys system) *cli.Command {
	return &cli.Command{
		Name:      "rotate",
		Usage:     "give a token a new secret and print the new token once",
		ArgsUsage: "ID",
		Description: `Prints the new token alone on stdout. The old one works until the grace period ends, so that its
users can switch one after the other. If it has leaked, end it at once with --grace 0s.

   TOKEN=$(plantstore token rotate mGdgoH14hxFz --grace 2h)`,
		Flags: []cli.Flag{
			storeFlag(anyStore),
			durationFlag("grace", 0, time.Hour, "let the old token work for `TIME` from now, as in 1h or 2d"),
			textFlag("expires", "", "let the new token expire after `TIME` from now, as in 90d or 1y, or never "+
				"(default: when the old one does)"),
		},
		Action: func(ctx context.Context, command *cli.Command) error {
			grace := command.Duration("grace")
			renew := command.String("expires") != ""
			lifetime, err := parseLifetime(cmp.Or(command.String("expires"), "never"))
			if err != nil {
				return err
			}
			var text string
			rotated, err := updateToken(ctx, command, func(t *token.Token) (err error) {
				now := time.Now()
				if text, err = t.Rotate(now, grace); err != nil {
					return err
				}
				if renew {
					t.Renew(now, lifetime)
				}
				return nil
			})
			if err != nil {
				return err
			}
			// Until then a server may refuse the new secret, so it is printed
			// after that, or at once if ctx ends.
			backoff.Sleep(ctx, token.CacheTTL)
			fmt.Fprintf(sys.stderr, "rotated token %q, which %s; %s; the new token is shown only once:\n",
				rotated.Name, expiry(rotated), oldSecret(rotated))
			_, err = fmt.Fprintln(sys.stdout, text)
			return err
		},
	}
}

// oldSecret says until when the old token works.
func oldSecret(t token.Token) string {
	if t.OldSecretUntil.IsZero() {
		return "the old token has ended"
	}
	return "the old token works until " + stamp(t.OldSecretUntil)
}

// openExisting opens the store that --store names, which must not be a new file:
// otherwise a mistake in the path would create an empty store. Only serve, restore and
// copy create one.
func openExisting(ctx context.Context, command *cli.Command) (store.Store, error) {
	name := command.String("store")
	if open.InMemory(name) {
		return nil, errors.New("--store sqlite::memory: cannot be shared with a running serve: " +
			"use a file or PostgreSQL, or start serve with --print-token")
	}
	if missing(name) {
		return nil, fmt.Errorf("there is no store at %s: check the path, or start plantstore serve once, which "+
			"creates it", open.Redacted(name))
	}
	return open.Open(ctx, name)
}

// withStore opens the store of a command, and closes it after use.
func withStore(ctx context.Context, command *cli.Command, use func(store.Store) error) error {
	s, err := openExisting(ctx, command)
	if err != nil {
		return err
	}
	return errors.Join(use(s), s.Close())
}

const idHint = "plantstore token list shows the IDs"

// updateToken changes the token whose ID is on the command line, and returns it. Its
// errors never repeat the argument, which may be a secret.
func updateToken(
	ctx context.Context, command *cli.Command, change func(*token.Token) error,
) (changed token.Token, err error) {
	id := command.Args().First()
	if command.NArg() != 1 || id == "" {
		return changed, fmt.Errorf("token %s takes the ID of one token: %s", command.Name, idHint)
	}
	if strings.HasPrefix(id, "pst_") {
		return changed, fmt.Errorf("token %s takes the ID of a token, not the token: %s; "+
			"revoke that token, because other users of this machine may have seen it", command.Name, idHint)
	}
	err = withStore(ctx, command, func(s store.Store) error {
		return s.UpdateToken(ctx, id, func(t *token.Token) error {
			err := change(t)
			changed = *t
			return err
		})
	})
	switch {
	case errors.Is(err, token.ErrNotFound):
		err = fmt.Errorf("no token has this ID: %s", idHint)
	case errors.Is(err, token.ErrNotInForce):
		err = errors.New("the token is expired or revoked: create another with plantstore token create")
	case errors.Is(err, token.ErrInGrace):
		err = errors.New("the grace period of the last rotation has not ended, and a token has at most two secrets: " +
			"wait, or end the older secrets now with --grace 0s")
	}
	return changed, err
}

// parseLifetime parses the lifetime of a token; 0 means never.
func parseLifetime(text string) (time.Duration, error) {
	if text == "never" {
		return 0, nil
	}
	span, err := parseSpan(text)
	if err != nil || span == 0 {
		return 0, fmt.Errorf("--expires: must be a lifetime, as in 90d, 12h or 1y, or never, got %q", text)
	}
	return span, nil
}

// expiry says when a token expires.
func expiry(t token.Token) string {
	if t.ExpiresAt.IsZero() {
		return "never expires"
	}
	return "expires " + stamp(t.ExpiresAt)
}

// stamp formats a time in UTC.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
