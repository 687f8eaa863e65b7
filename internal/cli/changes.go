package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/transfer"
)

func changesCommand(sys system) *cli.Command {
	return &cli.Command{
		Name:  "changes",
		Usage: "print what changes in a running service",
		Description: `Prints a line of JSON for each plant that has changed, with its present state. A line without plant
says that the plant does not exist. Without --after, all plants come first: a copy that begins empty
and applies every line has exactly the plants of the service. The token in PLANTSTORE_TOKEN or
--token-file needs the scope read.

Each line has a position. To continue later, give the last one with --after.

The exit status is 0 on success, 3 if the service is not available, 4 if it does not accept the
token, 5 if the position is not valid any more (begin again without --after and with an empty copy),
130 after Ctrl-C, and 1 for any other failure.

   PLANTSTORE_TOKEN=pst_… plantstore changes --follow`,
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "wait for more changes until Ctrl-C, also " +
				"while the service restarts"},
			&cli.StringFlag{Name: "after", Usage: "print only what has changed after `POSITION`"},
		}, serverFlags()...),
		Action: func(ctx context.Context, command *cli.Command) error {
			after := command.String("after")
			if command.IsSet("after") && after == "" {
				return errors.New("--after is empty: leave it out to begin with all plants and an empty copy")
			}
			service, err := dial(sys, command)
			if err != nil {
				return err
			}
			reports := startReports(sys.stderr, false, func() string {
				if wait := service.Waiting(); wait != nil {
					return fmt.Sprintf("%v: %v", wait, wait.Reason)
				}
				return ""
			})
			defer reports.finish()
			err = transfer.WriteChanges(ctx, service, after, command.Bool("follow"), sys.stdout)
			return withStatus(ctx, "changes", "", err)
		},
	}
}
