package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/token"
)

func tokenRotateCommand(sys system) *cli.Command {
	return &cli.Command{
		Name:      "rotate",
		Usage:     "give a token a new secret and print the new token once",
		ArgsUsage: "ID",
		Description: "Prints the new token alone on stdout. The old one works until the grace period ends, so that its\n" +
			"users can switch one after the other. If it has leaked, end it at once with --grace 0s.\n\n" +
			"   TOKEN=$(plantstore token rotate mGdgoH14hxFz --grace 2h)",
		Flags: []cli.Flag{
			storeFlag(anyStore),
			durationFlag("grace", time.Hour, "let the old token work for `TIME` from now, as in 1h or 2d"),
			textFlag("expires", "", "let the new token expire after `TIME` from now, as in 90d or 1y, or never (default: when the old one does)"),
		},
		Action: func(ctx context.Context, cmd *cli.Command) (err error) {
			id, err := onlyID(cmd)
			if err != nil {
				return err
			}
			grace := cmd.Duration("grace")
			renew := cmd.String("expires") != ""
			var lifetime time.Duration
			if renew {
				if lifetime, err = parseLifetime(cmd.String("expires")); err != nil {
					return err
				}
			}
			store, err := openExisting(ctx, cmd, nil)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, store.Close()) }()
			var rotated token.Token
			var text string
			err = store.UpdateToken(ctx, id, func(t *token.Token) (err error) {
				now := time.Now()
				if text, err = t.Rotate(now, grace); err != nil {
					return err
				}
				if renew {
					t.Renew(now, lifetime)
				}
				rotated = *t
				return nil
			})
			if err != nil {
				return explainToken(err)
			}
			// Until then a server may refuse the new secret, so it is printed
			// after that, or at once if ctx ends.
			select {
			case <-time.After(token.CacheTTL):
			case <-ctx.Done():
			}
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
