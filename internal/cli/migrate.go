package cli

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/plant"
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
			"A store that a release without changes has created gets them with --changes. Stop every server of\n" +
			"the store first. Servers of that release cannot write afterwards.\n\n" +
			"A store that a release without the order of names has created gets it with --names. For a SQLite file,\n" +
			"stop its server first. The command can be interrupted and run again. Servers of that release cannot\n" +
			"write afterwards.\n\n" +
			"With --distribute the plants of a PostgreSQL database that has the extension Citus are spread over\n" +
			"its workers. Stop every server of the store first. The store has no changes afterwards.",
		Flags: []cli.Flag{
			storeFlag("create or update the schema of `STORE`"),
			&cli.BoolFlag{Name: "changes", Usage: "let clients follow the changes of the store; servers of releases " +
				"without changes cannot write afterwards"},
			&cli.BoolFlag{Name: "names", Usage: "index the names of the plants, so that clients can search them; servers " +
				"of releases without it cannot write afterwards"},
			&cli.BoolFlag{Name: "shorten-texts", Usage: "shorten the names and tags of an earlier release that are " +
				"too long for this one, and print their plants"},
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
			var shorten func(plant.Plant)
			if cmd.Bool("shorten-texts") {
				shorten = func(p plant.Plant) {
					if p.Tag == nil {
						p.Tag = new("")
					}
					fmt.Fprintf(sys.stdout, "plant %d is shortened: the name had %d characters, the tag %d\n",
						p.ID, utf8.RuneCountInString(p.Name), utf8.RuneCountInString(*p.Tag))
				}
			}
			store, err := openExisting(ctx, cmd, shorten)
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
			if cmd.Bool("changes") {
				if err := open.EnableChanges(ctx, name); err != nil {
					return err
				}
				fmt.Fprintf(sys.stdout, "clients can follow the changes of %s\n", open.Redacted(name))
			}
			if cmd.Bool("names") {
				if err := open.IndexNames(ctx, name, func(plants int) {
					if plants%100_000 == 0 {
						fmt.Fprintf(sys.stderr, "%d names are indexed\n", plants)
					}
				}); err != nil {
					return err
				}
				fmt.Fprintf(sys.stdout, "clients can search the names of %s\n", open.Redacted(name))
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
