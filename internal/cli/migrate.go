package cli

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/store/open"
)

func migrateCommand(sys system) *cli.Command {
	return &cli.Command{
		Name:  "migrate",
		Usage: "create or update the schema of the store, and exit",
		Description: "serve does this at its start, too. Run migrate before a new release of serve if serve uses a\n" +
			"PostgreSQL user that may not change the schema. It can run again, and while the service runs.\n" +
			"It does not create a file: serve does.\n\n" +
			"   PLANTSTORE_STORE=postgres://owner:PASSWORD@db1/plants plantstore migrate\n\n" +
			"With --distribute the plants of a PostgreSQL database that has the extension Citus are spread over\n" +
			"its workers. Stop every server of the store first. The store has no changes afterwards.",
		Flags: []cli.Flag{
			storeFlag("create or update the schema of `STORE`"),
			&cli.BoolFlag{Name: "distribute", Usage: "spread the plants over the workers of a PostgreSQL database " +
				"with the extension Citus; clients cannot follow changes afterwards"},
		},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			name := cmd.String("store")
			if cmd.Bool("distribute") {
				if err := open.CheckDistribute(name); err != nil {
					return err
				}
			}
			store, err := openExisting(ctx, cmd)
			if err != nil {
				return err
			}
			found, now := store.Schema()
			if err := store.Close(); err != nil {
				return err
			}
			switch found {
			case 0:
				fmt.Fprintf(sys.stdout, "%s was created with schema %d\n", open.Redacted(name), now)
			case now:
				fmt.Fprintf(sys.stdout, "%s has schema %d already\n", open.Redacted(name), now)
			default:
				fmt.Fprintf(sys.stdout, "%s was updated from schema %d to schema %d\n", open.Redacted(name), found, now)
			}
			if cmd.Bool("distribute") {
				if err := open.Distribute(ctx, name); err != nil {
					return err
				}
				fmt.Fprintf(sys.stdout, "the plants of %s are spread over its workers\n", open.Redacted(name))
			}
			return nil
		},
	}
}
