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
		Usage:     "create a store from a backup",
		ArgsUsage: "FILE",
		Description: "This is the way back to a backup: never copy one over the store, least of all while the service runs.\n\n" +
			"Copies FILE to the store that --store names, which must not exist, and checks the copy. FILE is not\n" +
			"changed. To go back to a backup, first stop the service and move the old store away, together with\n" +
			"its -wal and -shm files.\n\n" +
			"   plantstore restore --store plantstore.db monday.db",
		Flags: []cli.Flag{storeFlag("create `STORE` with the plants and tokens of FILE")},
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
