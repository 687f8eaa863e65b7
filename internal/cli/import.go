package cli

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/transfer"
)

func importCommand(sys system) *cli.Command {
	return &cli.Command{
		Name:      "import",
		Usage:     "store the plants of a file through a running service",
		ArgsUsage: "FILE",
		Description: "FILE is CSV, with a first line that names its columns (id, name and, if you like, tag, in any\n" +
			"order), or NDJSON, a JSON object in each line; - is stdin. In CSV a field with nothing in it is no\n" +
			"tag, and \"\" is an empty tag. The token comes from PLANTSTORE_TOKEN or --token-file and needs the\n" +
			"scope write.\n\n" +
			"A row that cannot be stored is named with its line and the reason, and costs no other. The exit\n" +
			"status is 0 only if every row went in. Nothing is overwritten or stored twice, so an import that\n" +
			"was stopped, or whose rows were corrected, is completed by running it again.\n\n" +
			"   PLANTSTORE_TOKEN=pst_… plantstore import species.csv",
		Flags: append([]cli.Flag{
			formatFlag("read"),
			&cli.StringFlag{
				Name:    "rejects",
				Usage:   "write the rows that were not stored to `FILE` too: CSV with line and reason",
				Sources: cli.EnvVars("PLANTSTORE_REJECTS"),
			},
		}, serverFlags()...),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if cmd.NArg() != 1 || cmd.Args().First() == "" {
				return errors.New("import takes the name of one file, or - for stdin")
			}
			name := cmd.Args().First()
			format, err := chooseFormat(cmd.String("format"), name, "")
			if err != nil {
				return err
			}
			service, err := dial(sys, cmd)
			if err != nil {
				return err
			}
			return importFile(ctx, sys, service, name, format, cmd.String("rejects"))
		},
	}
}

// formatFlag is --format of a command that reads or writes a file.
func formatFlag(verb string) cli.Flag {
	return &cli.StringFlag{
		Name:    "format",
		Usage:   verb + " `FORMAT`, csv or ndjson, whatever the file is called",
		Sources: cli.EnvVars("PLANTSTORE_FORMAT"),
	}
}

// chooseFormat takes the format that --format names, or that the file's name
// tells, or the given one.
func chooseFormat(flag, file string, otherwise transfer.Format) (transfer.Format, error) {
	format := transfer.Format(flag)
	if flag == "" {
		format = transfer.FormatOf(file)
	}
	if format == "" {
		format = otherwise
	}
	switch {
	case flag != "" && !format.Valid():
		return "", fmt.Errorf("--format: %q is not a format: write csv or ndjson", flag)
	case format == "" && file == "-":
		return "", errors.New("stdin has no name to tell its format: add --format csv or --format ndjson")
	case format == "":
		return "", fmt.Errorf("the name %s does not tell the format: add --format csv or --format ndjson", file)
	}
	return format, nil
}

// importFile stores what is in a file and says how it went.
func importFile(ctx context.Context, sys system, service *transfer.Service, name string, format transfer.Format, rejects string) (err error) {
	in, size, err := openInput(sys, name)
	if err != nil {
		return err
	}
	defer in.Close()
	list, err := createRejects(rejects, in)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, list.Close()) }()

	progress := startProgress(sys.stderr, size)
	u := transfer.Upload{
		Service: service,
		Stored:  func(plants int) { progress.plants.Add(int64(plants)) },
		Refuse: func(bad transfer.RowError) {
			progress.refused.Add(1)
			progress.say(bad.Error())
			list.add(bad)
		},
	}
	err = u.Run(ctx, transfer.NewReader(countingReader{in, &progress.bytes}, format))
	progress.finish()

	stored, refused := progress.plants.Load(), progress.refused.Load()
	fmt.Fprintf(sys.stdout, "%s stored, %s refused, in %v\n",
		humanize.Comma(stored), humanize.Comma(refused), progress.elapsed().Round(time.Millisecond))
	switch {
	case err != nil && ctx.Err() != nil:
		return errors.New("import: stopped: run it again to complete it, nothing is stored twice")
	case err != nil:
		return fmt.Errorf("import: %w", err)
	case refused > 0:
		return fmt.Errorf("import: %s of %s rows were refused: correct them and run it again, nothing is stored twice",
			humanize.Comma(refused), humanize.Comma(stored+refused))
	}
	return nil
}

// openInput opens a file, or stdin for -, and says how long it is; 0 if nobody
// knows.
func openInput(sys system, name string) (io.ReadCloser, int64, error) {
	if name == "-" {
		return io.NopCloser(sys.stdin), 0, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, 0, errors.Join(err, file.Close())
	case info.IsDir():
		return nil, 0, errors.Join(fmt.Errorf("%s is a folder: name a file", name), file.Close())
	case !info.Mode().IsRegular(): // a pipe
		return file, 0, nil
	}
	return file, info.Size(), nil
}

// rejectList is the file of the rows that were not stored. The zero list keeps
// nothing.
type rejectList struct {
	mu   sync.Mutex
	file *os.File // nil once it is closed
	csv  *csv.Writer
	err  error // the first
}

// createRejects begins the list, unless its name is empty.
func createRejects(name string, in io.Reader) (*rejectList, error) {
	l := &rejectList{}
	if name == "" {
		return l, nil
	}
	if input, ok := in.(*os.File); ok {
		a, errA := os.Stat(name)
		b, errB := input.Stat()
		if errA == nil && errB == nil && os.SameFile(a, b) {
			return nil, errors.New("--rejects is the file that is read: give another")
		}
	}
	file, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("--rejects: %w", err)
	}
	l.file, l.csv = file, csv.NewWriter(file)
	l.write("line", "reason")
	return l, nil
}

// add writes a row, at once: who looks while the import runs sees it.
func (l *rejectList) add(bad transfer.RowError) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		l.write(strconv.Itoa(bad.Line), bad.Reason)
	}
}

func (l *rejectList) write(fields ...string) {
	err := l.csv.Write(fields)
	l.csv.Flush()
	if l.err == nil {
		l.err = errors.Join(err, l.csv.Error())
	}
}

// Close ends the list and returns what went wrong with it.
func (l *rejectList) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := errors.Join(l.err, l.file.Close())
	l.file = nil
	if err != nil {
		return fmt.Errorf("--rejects: %w", err)
	}
	return nil
}
