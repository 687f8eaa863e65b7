package cli

import (
	"context"

	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/store/open"
	"github.com/plantstore/plantstore/internal/store/sqlite"
)

func restoreCommand(sys system) *cli.Command {
	return &cli.Command{
		Name:      "restore",
		Usage:     "make a store from a backup",
		ArgsUsage: "FILE",
		Description: "Writes the store that --store names, which must not exist, and checks it. FILE stays as it is.\n" +
			"To go back to a backup, first stop the service and move the old file together with its -wal and -shm.\n\n" +
			"   plantstore restore --store plantstore.db monday.db",
		Flags: []cli.Flag{storeFlag("write the plants and tokens of FILE to `STORE`")},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			file, err := oneFile(cmd)
			if err != nil {
				return err
			}
			path, err := open.File(cmd.String("store"))
			if err != nil {
				return err
			}
			return copyStore(sys, file, path, "restore", func(progress func(done, total int64)) error {
				return sqlite.Copy(ctx, file, path, progress)
			})
		},
	}
}
