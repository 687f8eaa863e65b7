package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/store/open"
	"github.com/plantstore/plantstore/internal/store/sqlite"
	"github.com/plantstore/plantstore/internal/transfer"
)

func backupCommand(sys system) *cli.Command {
	return &cli.Command{
		Name:      "backup",
		Usage:     "copy the store to a file, also while the service runs",
		ArgsUsage: "FILE",
		Description: `The copy is a consistent snapshot, and its integrity is checked. If the command fails, there is no
FILE. FILE must not exist, unless --replace is given. The service is not blocked.

   plantstore backup --store plantstore.db monday.db`,
		Flags: []cli.Flag{
			storeFlag("copy the plants and tokens of `STORE`"),
			boolFlag("replace", "replace FILE after the new backup has been checked; FILE is unchanged if the "+
				"backup fails"),
		},
		Action: func(ctx context.Context, command *cli.Command) error {
			file, path, err := fileAndStore(command)
			if err != nil {
				return err
			}
			if file == "-" { // a stream can be neither checked nor removed
				return errors.New("backup cannot write to stdout: name a FILE")
			}
			replace := command.Bool("replace")
			return copyStore(sys, path, file, "backup", func(progress func(done, total int64)) error {
				return sqlite.Backup(ctx, path, file, replace, progress)
			})
		},
	}
}

func restoreCommand(sys system) *cli.Command {
	return &cli.Command{
		Name:      "restore",
		Usage:     "create a store from a backup",
		ArgsUsage: "FILE",
		Description: `This is the way back to a backup: never copy one over the store, least of all while the service runs.

Copies FILE to the store that --store names, which must not exist, and checks the copy. FILE is not
changed. To go back to a backup, first stop the service and move the old store away, together with
its -wal and -shm files.

   plantstore restore --store plantstore.db monday.db`,
		Flags: []cli.Flag{
			storeFlag("create `STORE` with the plants and tokens of FILE"),
			boolFlag("if-missing", "do nothing if STORE exists or FILE does not, as before the first start in a container"),
		},
		Action: func(ctx context.Context, command *cli.Command) error {
			file, path, err := fileAndStore(command)
			if err != nil {
				return err
			}
			if command.Bool("if-missing") && (!missing(path) || missing(file)) {
				fmt.Fprintf(sys.stdout, "nothing to restore: %s exists, or %s does not\n", path, file)
				return nil
			}
			switch _, err := os.Lstat(path); { // a wrong FILE comes first: it needs no stop of the service
			case missing(file):
				return fmt.Errorf("restore: %s does not exist: check the path", file)
			case transfer.FormatOf(file) != "":
				return fmt.Errorf("restore: %s has plants, and is no backup: write plantstore import %[1]s", file)
			case err == nil:
				return fmt.Errorf("restore: the store %s exists: first stop the service, then move %[1]s with its -wal and "+
					"-shm files to another directory, and run this command again", open.Redacted(path))
			}
			return copyStore(sys, file, path, "restore", func(progress func(done, total int64)) error {
				return sqlite.Copy(ctx, file, path, progress)
			})
		},
	}
}

// fileAndStore returns the only argument of a command, and the path of its store.
func fileAndStore(command *cli.Command) (file, store string, err error) {
	if command.Args().Len() != 1 || command.Args().First() == "" {
		return "", "", fmt.Errorf("%s takes one FILE, got %d arguments: write %s monday.db (%[3]s --help lists the flags)",
			command.Name, command.Args().Len(), command.FullName())
	}
	store, err = open.File(command.String("store"))
	return command.Args().First(), store, err
}

// copyStore copies a store file with run. It shows the progress on a terminal, and
// prints the result.
func copyStore(sys system, from, to, what string, run func(progress func(done, total int64)) error) error {
	var line atomic.Value // string
	reports := startReports(sys.stderr, isTerminal(sys.stderr), func() string {
		text, _ := line.Load().(string)
		return text
	})
	err := run(func(done, total int64) {
		if isTerminal(sys.stderr) {
			line.Store(fmt.Sprintf("%s: %s of %s", what, humanize.IBytes(uint64(done)), humanize.IBytes(uint64(total))))
		}
	})
	reports.finish()
	if err == sqlite.ErrMayBeMixed {
		fmt.Fprintf(sys.stderr, "%s: %v\n", what, err)
		err = nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	info, err := os.Stat(to)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	fmt.Fprintf(sys.stdout, "%s of %s is in %s, %s, checked\n",
		what, open.Redacted(from), open.Redacted(to), humanize.IBytes(uint64(info.Size())))
	return nil
}
