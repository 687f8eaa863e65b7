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
		Usage:     "give a token a new secret and print the new token, this once",
		ArgsUsage: "ID",
		Description: "Prints the new token alone on stdout. The old one works until the grace is over, so that its\n" +
			"users can change over one after the other; if it has leaked, end it at once with --grace 0s.\n\n" +
			"   TOKEN=$(plantstore token rotate mGdgoH14hxFz --grace 2h)",
		Flags: []cli.Flag{
			storeFlag(keepIn),
			&cli.StringFlag{
				Name:    "grace",
				Usage:   "let the old token work for `TIME` from now, as in 1h or 2d",
				Value:   "1h",
				Sources: cli.EnvVars("PLANTSTORE_GRACE"),
			},
			&cli.StringFlag{
				Name:    "expires",
				Usage:   "let the new token end after `TIME` from now, as in 90d or 1y, or never (default: as the old one)",
				Sources: cli.EnvVars("PLANTSTORE_EXPIRES"),
			},
		},
		Action: func(ctx context.Context, cmd *cli.Command) (err error) {
			id, err := onlyID(cmd)
			if err != nil {
				return err
			}
			grace, err := parseSpan(cmd.String("grace"))
			if err != nil {
				return fmt.Errorf("--grace: %w", err)
			}
			renew := cmd.String("expires") != ""
			var lifetime time.Duration
			if renew {
				if lifetime, err = parseLifetime(cmd.String("expires")); err != nil {
					return err
				}
			}
			store, err := openTokens(ctx, cmd, false)
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
			// Until then a server may refuse the new secret, and whoever reads
			// the token may use it at once. It is printed in any case.
			select {
			case <-time.After(token.CacheTTL):
			case <-ctx.Done():
			}
			fmt.Fprintf(sys.stderr, "token %q %s; %s; the new one is shown this once:\n",
				rotated.Name, expiry(rotated), oldSecret(rotated))
			_, err = fmt.Fprintln(sys.stdout, text)
			return err
		},
	}
}

// oldSecret says what has become of the secret before, for people.
func oldSecret(t token.Token) string {
	if t.OldSecretUntil.IsZero() {
		return "the old one has ended"
	}
	return "the old one works until " + stamp(t.OldSecretUntil)
}
