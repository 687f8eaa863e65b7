package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/transfer"
)

func exportCommand(sys system) *cli.Command {
	return &cli.Command{
		Name:      "export",
		Usage:     "export all plants of a running service to a file",
		ArgsUsage: "[FILE]",
		Description: "Without FILE, or with -, the plants go to stdout, as CSV unless --format is given. They are " +
			"sorted\n" +
			"by id, and plantstore import reads them back byte for byte. The token in PLANTSTORE_TOKEN or\n" +
			"--token-file needs the scope read.\n\n" +
			"FILE is created, or replaced, when the export is complete.\n\n" +
			"The exit status is 0 on success, 3 if the service is not available, 4 if it does not accept the\n" +
			"token, 130 after Ctrl-C, and 1 for any other failure.\n\n" +
			"   PLANTSTORE_TOKEN=pst_… plantstore export plants.csv",
		Flags: append([]cli.Flag{formatFlag("write")}, serverFlags()...),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if cmd.NArg() > 1 {
				return fmt.Errorf("export takes at most one FILE, got %d arguments", cmd.NArg())
			}
			name, otherwise := cmd.Args().First(), transfer.Format("")
			if name == "" || name == "-" {
				name, otherwise = "-", transfer.CSV
			}
			format, err := chooseFormat(cmd.String("format"), name, otherwise)
			if err != nil {
				return err
			}
			service, err := dial(sys, cmd)
			if err != nil {
				return err
			}
			return exportFile(ctx, sys, service, name, format)
		},
	}
}

// exportFile writes every plant to a file and prints how many there are.
func exportFile(ctx context.Context, sys system, service *transfer.Service, name string, format transfer.Format) error {
	out, keep, err := createOutput(sys, name)
	if err != nil {
		return err
	}
	progress := startProgress(sys.stderr, 0, service)
	err = transfer.Download(ctx, service, transfer.NewWriter(io.MultiWriter(out, progress), format),
		func(plants int) { progress.plants.Add(int64(plants)) })
	progress.finish()
	if err := keep(err); err != nil {
		return withStatus(ctx, "export", " before it was complete: run it again", err)
	}
	fmt.Fprintf(sys.stderr, "%s plants in %v\n", humanize.Comma(progress.plants.Load()), progress.elapsed())
	return nil
}

// createOutput opens the output. Call keep last, with the error of the writes:
// it renames the file, so that an incomplete file never has the given name.
func createOutput(sys system, name string) (out io.Writer, keep func(error) error, err error) {
	if name == "-" {
		return sys.stdout, func(err error) error { return err }, nil
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() { // a pipe, or /dev/null
		file, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return nil, nil, err
		}
		return file, func(err error) error { return errors.Join(err, file.Close()) }, nil
	}
	file, err := os.Create(name + ".part")
	if err != nil {
		return nil, nil, err
	}
	return file, func(err error) error {
		if err == nil {
			err = file.Sync()
		}
		err = errors.Join(err, file.Close())
		if err == nil {
			err = os.Rename(file.Name(), name)
		}
		if err != nil {
			_ = os.Remove(file.Name())
		}
		return err
	}, nil
}
