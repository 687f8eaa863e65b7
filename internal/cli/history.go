package cli

import (
	"context"
	"fmt"
	"strconv"
	"text/tabwriter"

	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/internal/store"
)

func historyCommand(sys system) *cli.Command {
	return &cli.Command{
		Name:      "history",
		Usage:     "print the earlier states of a plant, or bring one back",
		ArgsUsage: "ID",
		Description: `Prints a table with a line for each change, the newest first: who has changed the plant and when, and
the state before, with its version. A deleted plant has a history, too. The token in PLANTSTORE_TOKEN
or --token-file needs the scope read.

With --restore, the name and the tag of that version are stored again, unless someone changes the
plant meanwhile. This is a change like any other, and needs the scope write, too.

The exit status is 0 on success, 3 if the service is not available, 4 if it does not accept the
token, 130 after Ctrl-C, and 1 for any other failure.

   PLANTSTORE_TOKEN=pst_… plantstore history 5`,
		Flags: append([]cli.Flag{
			// A variable that is set by mistake would change a plant, so it has none.
			&cli.StringFlag{Name: "restore", Usage: "bring back the state with `VERSION`, as the table has it"},
		}, serverFlags()...),
		Action: func(ctx context.Context, command *cli.Command) error {
			id, err := plantID(command)
			if err != nil {
				return err
			}
			service, err := dial(sys, command)
			if err != nil {
				return err
			}
			if version := command.String("restore"); version != "" {
				restored, err := service.Restore(ctx, id, client.ETag(version))
				if err == nil {
					_, err = fmt.Fprintf(sys.stdout, "plant %d is %q again, as version %s\n", id, restored.Name, restored.ETag)
				}
				return withStatus(ctx, "history", "", err)
			}
			return withStatus(ctx, "history", "", printHistory(ctx, sys, service.History(ctx, id)))
		},
	}
}

// plantID returns the only argument of a command, which is the ID of a plant.
func plantID(command *cli.Command) (int64, error) {
	id, err := strconv.ParseInt(command.Args().First(), 10, 64)
	if command.NArg() != 1 || err != nil {
		return 0, fmt.Errorf("%s takes the id of one plant: write %s 5; an id that begins with - needs -- before it",
			command.Name, command.FullName())
	}
	return id, nil
}

// printHistory prints a table of the changes of a plant. Texts are quoted: they may have line breaks.
func printHistory(ctx context.Context, sys system, entries func(func(client.HistoryEntry, error) bool)) error {
	table := tabwriter.NewWriter(sys.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CHANGED\tBY\tCHANGE\tVERSION BEFORE\tNAME BEFORE\tTAG BEFORE")
	for entry, err := range entries {
		if err != nil {
			return err
		}
		tag := "-"
		if entry.Plant.Tag != nil {
			tag = strconv.Quote(*entry.Plant.Tag)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%q\t%s\n", stamp(entry.ChangedAt), strconv.Quote(entry.ChangedBy), entry.Change,
			entry.Plant.ETag, entry.Plant.Name, tag)
	}
	return table.Flush()
}

func forgetCommand(sys system) *cli.Command {
	return &cli.Command{
		Name:      "forget",
		Usage:     "erase a plant and its history from the store for ever",
		ArgsUsage: "ID",
		Description: `Works on the store directly, also while the service runs. Clients that follow the changes are told
that the plant does not exist, even if it was deleted before. What was erased cannot be brought back,
and is still in backups, in copies, and for some time in the log of the database: the operator's
manual says where.

   plantstore forget 5 --store plantstore.db`,
		Flags: []cli.Flag{storeFlag(anyStore)},
		Action: func(ctx context.Context, command *cli.Command) error {
			id, err := plantID(command)
			if err != nil {
				return err
			}
			err = withStore(ctx, command, func(s store.Store) error { return s.Forget(ctx, id) })
			if err == nil {
				_, err = fmt.Fprintf(sys.stdout, "plant %d and its history are erased\n", id)
			}
			return err
		},
	}
}
