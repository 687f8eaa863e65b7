package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/transfer"
)

func importCommand(sys system) *cli.Command {
	return &cli.Command{
		Name:      "import",
		Usage:     "import plants from a file into a running service",
		ArgsUsage: "FILE",
		Description: `FILE is CSV or NDJSON; - is stdin. CSV begins with a line of column names: id, name and optionally
tag, in any order, with commas, semicolons or tabs between them; it is UTF-8 or UTF-16. An empty field
is no tag, and "" is an empty tag. NDJSON has one JSON object per line. The token in PLANTSTORE_TOKEN or --token-file needs the scope write.

A row that cannot be stored is reported with its line and the reason; the other rows are stored.
Nothing is overwritten or stored twice, so you can run a stopped import again to complete it. The
file of --rejects has the refused rows in the order of FILE, each with its line and the reason in
two more columns (or members). Correct the rows and import that file as it is: import ignores these
columns.

With --update a row also changes the plant that is stored already. If the row has an etag, as in a
download of the page or with export --etag, it is refused when someone else has changed or deleted
the plant since. A CSV file without the column tag changes no tag. --dry-run says first what would change.

The exit status is 0 if every row is stored, 2 if rows were refused, 3 if the service is not
available, 4 if it does not accept the token, 130 after Ctrl-C, and 1 for any other failure.

   PLANTSTORE_TOKEN=pst_… plantstore import species.csv`,
		DisableSliceFlagSeparator: true, // the name of a column may have a comma
		Flags: append([]cli.Flag{
			formatFlag("read"),
			// A variable that is set by mistake would lose data, so they have none.
			&cli.BoolFlag{Name: "update", Usage: "make the plants that are stored already equal to their rows"},
			&cli.BoolFlag{Name: "dry-run", Usage: "with --update, say what would change, and store nothing"},
			&cli.StringSliceFlag{Name: "ignore-column", Usage: "import a CSV file without its column `NAME`, which is not one of a plant; may be repeated"},
			textFlag("rejects", "", "write the refused rows to `FILE`, with line and reason, in the format of the "+
				"imported file; it must not exist"),
			boolFlag("replace", "replace the file of --rejects, if there is one"),
		}, serverFlags()...),
		Action: func(ctx context.Context, command *cli.Command) error {
			if command.NArg() != 1 || command.Args().First() == "" {
				return errors.New("import takes the name of one file, or - for stdin: write plantstore import plants.csv")
			}
			if command.Bool("dry-run") && !command.Bool("update") {
				return errors.New("--dry-run says what --update would change: add --update")
			}
			name := command.Args().First()
			format, err := chooseFormat(command.String("format"), name, "", "; a spreadsheet must be saved as CSV UTF-8 first")
			if err != nil {
				return err
			}
			service, err := dial(sys, command)
			if err != nil {
				return err
			}
			return importFile(ctx, sys, command, service, name, format)
		},
	}
}

// formatFlag is --format of a command that reads or writes a file.
func formatFlag(verb string) cli.Flag {
	return textFlag("format", "", verb+" `FORMAT`, csv or ndjson (default: by the extension of FILE)")
}

// chooseFormat returns the format of --format, or else of the extension of the
// file, or else another one. The advice is for a file without any of these.
func chooseFormat(flag, file string, otherwise transfer.Format, advice string) (transfer.Format, error) {
	format := cmp.Or(transfer.Format(flag), transfer.FormatOf(file), otherwise)
	switch {
	case flag != "" && !format.Valid():
		return "", fmt.Errorf("--format: must be csv or ndjson, got %q", flag)
	case format == "" && file == "-":
		return "", errors.New("the format of stdin is unknown: add --format csv or --format ndjson")
	case format == "":
		return "", fmt.Errorf("the format of %s is unknown: add --format csv or --format ndjson%s", file, advice)
	}
	return format, nil
}

// importFile imports a file and prints the result.
func importFile(
	ctx context.Context, sys system, command *cli.Command, service *transfer.Service, name string, format transfer.Format,
) (err error) {
	in, size, err := openInput(sys, name)
	if err != nil {
		return err
	}
	defer in.Close()
	u := transfer.Upload{Service: service, Update: command.Bool("update"), DryRun: command.Bool("dry-run")}
	if rejects := command.String("rejects"); rejects != "" {
		var keep func(error) error
		if u.Rejects, keep, err = createRejects(sys, command, rejects, in); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, keep(nil)) }()
	}
	progress := startProgress(sys.stderr, size, service)
	u.Stored = func(plants int) { progress.plants.Add(int64(plants)) }
	u.Change = func(change transfer.RowChange) { progress.say(change.String()) }
	u.Refuse = func(bad transfer.RowError) {
		progress.refused.Add(1)
		progress.say(bad.Error())
	}
	counts, err := u.Run(ctx, transfer.NewReader(io.TeeReader(in, progress), format, command.StringSlice("ignore-column")...))
	progress.finish()
	if unknown, isUnknown := errors.AsType[transfer.UnknownColumnsError](err); isUnknown {
		flags, hint := "", ""
		for _, name := range unknown.Names {
			flags += fmt.Sprintf(" --ignore-column %q", name)
			hint += didYouMean(fmt.Sprintf("%q to be ", name), name, transfer.Columns())
		}
		err = fmt.Errorf("%w; to import the others, add%s%s", err, flags, hint)
	}

	stored, refused := progress.plants.Load(), progress.refused.Load()
	updated := ""
	if u.Update {
		updated = comma(u.Updated) + " updated, "
	}
	fmt.Fprintf(sys.stdout, "%s new, %s%s already there, %s refused",
		comma(counts.New), updated, comma(counts.Existing), humanize.Comma(refused))
	if counts.Unknown > 0 {
		fmt.Fprintf(sys.stdout, ", %s new or already there", comma(counts.Unknown))
	}
	fmt.Fprintf(sys.stdout, ", in %v\n", progress.elapsed())
	if err == nil && u.DryRun {
		fmt.Fprintln(sys.stdout, "nothing was stored: this was a dry run")
	}
	if err == nil && refused > 0 {
		return statusError{fmt.Errorf("import: %s of %s rows were refused: correct them and run it again; "+
			"no plant is stored twice", humanize.Comma(refused), humanize.Comma(stored+refused)), statusRefused}
	}
	return withStatus(ctx, "import", ": run it again to complete it; no plant is stored twice", err)
}

func comma(n int) string { return humanize.Comma(int64(n)) }

// amount returns "1 plant" or "12,345 plants".
func amount(n int, noun string) string { return comma(n) + " " + english.PluralWord(n, noun, "") }

// openInput opens a file, or stdin for -, and returns its size; 0 if that is
// unknown.
func openInput(sys system, name string) (io.ReadCloser, int64, error) {
	if name == "-" {
		return io.NopCloser(sys.stdin), 0, nil
	}
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, fmt.Errorf("%s does not exist: check the path, or give - for stdin", name)
	}
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s is a folder: name a file", name)
	}
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	if !info.Mode().IsRegular() { // a pipe
		return file, 0, nil
	}
	return file, info.Size(), nil
}

// createRejects creates the file of refused rows; see createOutput.
func createRejects(sys system, command *cli.Command, name string, input io.Reader) (list io.Writer, keep func(error) error, err error) {
	if file, isFile := input.(*os.File); isFile && isSameFile(name, file) {
		return nil, nil, errors.New("--rejects is the imported file: name another file")
	}
	if list, keep, err = createOutput(sys, command, name); err != nil {
		return nil, nil, fmt.Errorf("--rejects: %w", err)
	}
	return list, keep, nil
}

func isSameFile(name string, file *os.File) bool {
	named, _ := os.Stat(name) // without both it is not the same
	opened, _ := file.Stat()
	return os.SameFile(named, opened)
}
