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
		Description: `serve does this at its start, too. Run migrate before a new release of serve if serve uses a
PostgreSQL user that may not change the schema. It can run again, and while the service runs.
It does not create a file: serve does.

   PLANTSTORE_STORE=postgres://owner:PASSWORD@db1/plants plantstore migrate

With --distribute the plants of a PostgreSQL database that has the extension Citus are spread over
its workers. Stop every server of the store first. The store has no changes afterwards.`,
		Flags: []cli.Flag{
			storeFlag("create or update the schema of `STORE`"),
			&cli.BoolFlag{Name: "distribute", Usage: "spread the plants over the workers of a PostgreSQL database " +
				"with the extension Citus; clients cannot follow changes afterwards"},
		},
		Action: func(ctx context.Context, command *cli.Command) error {
			name := command.String("store")
			if !command.Bool("distribute") {
				return migrate(ctx, sys, command)
			}
			if err := open.CheckDistribute(name); err != nil {
				return err
			}
			if err := migrate(ctx, sys, command); err != nil {
				return err
			}
			if err := open.Distribute(ctx, name); err != nil {
				return err
			}
			_, err := fmt.Fprintf(sys.stdout, "the plants of %s are spread over its workers\n", open.Redacted(name))
			return err
		},
	}
}

// migrate opens the store, which creates or updates its schema, and prints what it did.
func migrate(ctx context.Context, sys system, command *cli.Command) error {
	store, err := openExisting(ctx, command)
	if err != nil {
		return err
	}
	found, now := store.Schema()
	if err := store.Close(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(sys.stdout, "%s %s\n", open.Redacted(command.String("store")), schemaChange(found, now))
	return err
}

// schemaChange says what became of the schema that was found; 0 is none.
func schemaChange(found, now int) string {
	switch found {
	case 0:
		return fmt.Sprintf("was created with schema %d", now)
	case now:
		return fmt.Sprintf("has schema %d already", now)
	}
	return fmt.Sprintf("was updated from schema %d to schema %d", found, now)
}
