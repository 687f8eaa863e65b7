package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/store/open"
	"github.com/plantstore/plantstore/internal/token"
)

func tokenCommand(sys system) *cli.Command {
	return &cli.Command{
		Name:  "token",
		Usage: "create, list, revoke and rotate tokens",
		Description: "Every request needs a token. These commands work directly on the store, also while the service runs;\n" +
			"a change takes effect within a second on every server. The store holds only a hash of a token, so a\n" +
			"token is shown once, when it is created.\n\n" +
			"   TOKEN=$(plantstore token create --name \"green laptop\")\n" +
			"   plantstore token list",
		Commands: []*cli.Command{
			tokenCreateCommand(sys),
			tokenListCommand(sys),
			tokenRevokeCommand(sys),
			tokenRotateCommand(sys),
		},
	}
}

// openExisting opens the store that --store names, which must not be a new file:
// otherwise a mistake in the path would create an empty store. Only serve, restore and
// copy create one.
func openExisting(ctx context.Context, cmd *cli.Command, shorten func(plant.Plant)) (store.Store, error) {
	name := cmd.String("store")
	if open.InMemory(name) {
		return nil, errInMemory
	}
	if missing(name) {
		return nil, fmt.Errorf("there is no store at %s: check the path, or start plantstore serve once, which creates it", open.Redacted(name))
	}
	return open.Shortening(ctx, name, shorten)
}

var errInMemory = errors.New("--store sqlite::memory: cannot be shared with a running serve: " +
	"use a file or PostgreSQL, or start serve with --print-token")

// onlyID returns the token ID on the command line. Its errors never repeat the
// argument, which may be a secret.
func onlyID(cmd *cli.Command) (string, error) {
	switch id := cmd.Args().First(); {
	case cmd.NArg() != 1 || id == "":
		return "", fmt.Errorf("token %s takes the ID of one token: %s", cmd.Name, idHint)
	case strings.HasPrefix(id, "pst_"):
		return "", fmt.Errorf("token %s takes the ID of a token, not the token: %s; "+
			"revoke that token, because other users of this machine may have seen it", cmd.Name, idHint)
	default:
		return id, nil
	}
}

const idHint = "plantstore token list shows the IDs"

// explainToken adds the next step to an error of a change of a token.
func explainToken(err error) error {
	switch {
	case errors.Is(err, token.ErrNotFound):
		return fmt.Errorf("no token has this ID: %s", idHint)
	case errors.Is(err, token.ErrNotInForce):
		return errors.New("the token is expired or revoked: create another with plantstore token create")
	case errors.Is(err, token.ErrInGrace):
		return errors.New("the grace period of the last rotation has not ended, and a token has at most two secrets: " +
			"wait, or end the older secrets now with --grace 0s")
	}
	return err
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
