package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/token"
)

func tokenRevokeCommand(sys system) *cli.Command {
	return &cli.Command{
		Name:      "revoke",
		Usage:     "revoke a token for good",
		ArgsUsage: "ID",
		Description: "Every server on the store refuses the token within a second. Revoking it again changes nothing.\n\n" +
			"   plantstore token revoke mGdgoH14hxFz",
		Flags: []cli.Flag{storeFlag(anyStore)},
		Action: func(ctx context.Context, cmd *cli.Command) (err error) {
			id, err := onlyID(cmd)
			if err != nil {
				return err
			}
			store, err := openExisting(ctx, cmd, nil)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, store.Close()) }()
			var revoked token.Token
			err = store.UpdateToken(ctx, id, func(t *token.Token) error {
				t.Revoke(time.Now())
				revoked = *t
				return nil
			})
			if err != nil {
				return explainToken(err)
			}
			fmt.Fprintf(sys.stderr, "token %q is revoked\n", revoked.Name)
			return nil
		},
	}
}
