package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/store/open"
	"github.com/plantstore/plantstore/internal/token"
)

func tokenCommand(sys system) *cli.Command {
	return &cli.Command{
		Name:  "token",
		Usage: "make, list, revoke and rotate the tokens that requests need",
		Description: "Works on the store itself, also while a server runs on it, which obeys within a second.\n" +
			"Only a hash of a token is stored: it is shown once, when it is made.\n\n" +
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

// openTokens opens the store that --store names for a command that works on
// tokens. Unless the command may begin one, the store must be there: a mistyped
// path would otherwise be an empty store, and a stray file.
func openTokens(ctx context.Context, cmd *cli.Command, mayBegin bool) (store.Store, error) {
	name := cmd.String("store")
	if open.InMemory(name) {
		return nil, errors.New("--store sqlite::memory: belongs to the program that opened it: " +
			"give serve a store that is kept, or --print-token")
	}
	if path, err := open.File(name); err == nil && !mayBegin {
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("there is no store %s: give the --store that serve has, or begin one with plantstore token create", path)
		}
	}
	return open.Open(ctx, name)
}

// onlyID takes the ID of a token from the command line. It never repeats what
// it got, which may be a secret.
func onlyID(cmd *cli.Command) (string, error) {
	switch id := cmd.Args().First(); {
	case cmd.NArg() != 1 || id == "":
		return "", fmt.Errorf("token %s takes the ID of one token: %s", cmd.Name, idHint)
	case strings.HasPrefix(id, "pst_"):
		return "", fmt.Errorf("token %s takes the ID of a token, not the token: %s; "+
			"and revoke that one, other users of this machine may have seen it", cmd.Name, idHint)
	default:
		return id, nil
	}
}

const idHint = "plantstore token list shows the IDs"

// explainToken says what to do about an error of changing a token.
func explainToken(err error) error {
	switch {
	case errors.Is(err, token.ErrNotFound):
		return fmt.Errorf("no token has this ID: %s", idHint)
	case errors.Is(err, token.ErrNotInForce):
		return errors.New("this token is expired or revoked: make another with plantstore token create")
	case errors.Is(err, token.ErrInGrace):
		return errors.New("the grace of the last rotation is not over, and a token has two secrets at most: " +
			"wait, or end every older secret now with --grace 0s")
	}
	return err
}

// maxDays is a hundred years: more is a mistake, and soon too much for a
// time.Duration.
const maxDays = 36_500

// parseSpan reads a length of time: 90d, 12h, 1h30m.
func parseSpan(text string) (time.Duration, error) {
	span, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 32)
		span = time.Duration(min(n, maxDays+1)) * 24 * time.Hour
	}
	if err != nil || span < 0 || span > maxDays*24*time.Hour {
		return 0, fmt.Errorf("%q is not a length of time: write 90d, 12h or 30m", text)
	}
	return span, nil
}

// parseLifetime reads how long a token is good for; never is 0. A year (1y) has
// 365 days.
func parseLifetime(text string) (time.Duration, error) {
	if text == "never" {
		return 0, nil
	}
	inDays := text
	if years, ok := strings.CutSuffix(text, "y"); ok {
		if n, err := strconv.ParseUint(years, 10, 32); err == nil {
			inDays = fmt.Sprintf("%dd", 365*n)
		}
	}
	span, err := parseSpan(inDays)
	if err != nil || span == 0 {
		return 0, fmt.Errorf("--expires: %q is not how long a token can be good for: write 90d, 12h, 1y or never", text)
	}
	return span, nil
}

// expiry says when a token ends, for people.
func expiry(t token.Token) string {
	if t.ExpiresAt.IsZero() {
		return "never expires"
	}
	return "expires " + stamp(t.ExpiresAt)
}

// stamp writes a time for people who may be anywhere.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
