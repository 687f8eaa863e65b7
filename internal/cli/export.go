package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/internal/atomicfile"
	"github.com/plantstore/plantstore/internal/transfer"
)

func exportCommand(sys system) *cli.Command {
	return &cli.Command{
		Name:      "export",
		Usage:     "export the plants of a running service to a file",
		ArgsUsage: "[FILE]",
		Description: `Without FILE, or with -, the plants go to stdout, as CSV unless --format is given. They are sorted
by id, and plantstore import reads them back byte for byte. The token in PLANTSTORE_TOKEN or
--token-file needs the scope read. With --name-prefix they are sorted by name, then by id; a plant
that is renamed during the export may be in it twice or not at all.

FILE is created when the export is complete. It must not exist, unless --replace is given.

The exit status is 0 on success, 3 if the service is not available, 4 if it does not accept the
token, 130 after Ctrl-C, and 1 for any other failure.

   PLANTSTORE_TOKEN=pst_… plantstore export plants.csv`,
		Flags: append([]cli.Flag{
			formatFlag("write"),
			choiceFlag("separator", "comma", "write `WHICH` character between the fields of CSV: comma, semicolon or tab; "+
				"Excel expects the one of its language"),
			boolFlag("bom", "begin CSV with a byte order mark, without which Excel does not read UTF-8"),
			boolFlag("etag", "add a column with the version of each plant to CSV, for import --update"),
			boolFlag("replace", "replace FILE when the export is complete; FILE is unchanged if the export fails"),
			// A variable that is set by mistake would make the export incomplete, so they have none.
			&cli.StringFlag{Name: "tag", Usage: "export only the plants with exactly `TAG`"},
			&cli.StringFlag{Name: "name-prefix", Usage: "export only the plants whose name begins with `TEXT`, ignoring case"},
		}, serverFlags()...),
		Action: func(ctx context.Context, command *cli.Command) error {
			if command.NArg() > 1 {
				return fmt.Errorf("export takes at most one FILE, got %d arguments", command.NArg())
			}
			var selected []client.ListOption
			switch tag, prefix := command.IsSet("tag"), command.IsSet("name-prefix"); { // an empty tag is a tag
			case tag && prefix:
				return errors.New("--tag and --name-prefix cannot be combined: leave one of them out")
			case tag:
				selected = append(selected, client.HasTag(command.String("tag")))
			case prefix:
				selected = append(selected, client.HasNamePrefix(command.String("name-prefix")))
			}
			name, otherwise := command.Args().First(), transfer.Format("")
			if name == "" || name == "-" {
				name, otherwise = "-", transfer.CSV
			}
			format, err := chooseFormat(command.String("format"), name, otherwise, ", or give the file a name that ends with .csv or .ndjson")
			if err != nil {
				return err
			}
			service, err := dial(sys, command)
			if err != nil {
				return err
			}
			write := func(file io.Writer) transfer.Writer {
				if format == transfer.CSV {
					return transfer.NewCSVWriter(file, transfer.CSVStyle{
						Separator: transfer.Separators[command.String("separator")],
						HasMark:   command.Bool("bom"),
						HasETag:   command.Bool("etag"),
					})
				}
				return transfer.NewWriter(file, format)
			}
			return exportFile(ctx, sys, command, service, name, write, selected)
		},
	}
}

// exportFile writes plants to a file and prints how many there are.
func exportFile(
	ctx context.Context, sys system, command *cli.Command, service *transfer.Service, name string,
	write func(io.Writer) transfer.Writer, selected []client.ListOption,
) error {
	out, keep, err := createOutput(sys, command, name)
	if err != nil {
		return err
	}
	progress := startProgress(sys.stderr, 0, service)
	err = transfer.Download(ctx, service, write(io.MultiWriter(out, progress)),
		func(plants int) { progress.plants.Add(int64(plants)) }, selected...)
	progress.finish()
	if err := keep(err); err != nil {
		return withStatus(ctx, "export", " before it was complete: run it again", err)
	}
	fmt.Fprintf(sys.stderr, "%s in %v\n", amount(int(progress.plants.Load()), "plant"), progress.elapsed())
	return nil
}

// createOutput opens the output. Call keep last, with the error of the writes: without one it
// gives the file its name, so that an incomplete file never has it. It replaces a file only with --replace,
// and then it gives no permission that the other file does not give.
func createOutput(sys system, command *cli.Command, name string) (out io.Writer, keep func(error) error, err error) {
	if name == "-" {
		return sys.stdout, func(err error) error { return err }, nil
	}
	replace, mode := command.Bool("replace"), os.FileMode(0o666)
	info, err := os.Stat(name)
	hasContent := err == nil && info.Size() > 0 // an empty file, as mktemp makes it, has nothing to lose
	switch {
	case err == nil && !info.Mode().IsRegular(): // a pipe, or /dev/null
		file, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return nil, nil, err
		}
		return file, func(err error) error { return errors.Join(err, file.Close()) }, nil
	case hasContent && !replace:
		return nil, nil, fmt.Errorf("%s exists: give another path, or add --replace to replace it", name)
	case err == nil:
		replace, mode = true, info.Mode().Perm()
	}
	file, err := atomicfile.Create(name, mode)
	if err != nil {
		return nil, nil, err
	}
	return file, func(err error) error {
		if err != nil {
			file.Discard()
			return err
		}
		return file.Publish(replace)
	}, nil
}
