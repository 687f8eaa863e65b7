// Command specfirst starts a service of one's own, in the way in which this project is written: from an OpenAPI
// document. README.md beside it is its guide.
//
// The command new writes the example in the folder bookshelf under another name (files.go). With --document, generated code
// and operations that are not written yet take the place of the books (document.go). new.go has the steps.
//
// The command add writes a resource into such a service (add.go): what it is comes from the command line (resource.go), and its
// files are those of the books with other words (derive.go).
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/buildinfo"
)

// version is set when a release is linked: -X main.version=v1.2.3.
var version string

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := command().Run(ctx, os.Args); err != nil {
		fmt.Fprintln(os.Stderr, "specfirst:", err)
		os.Exit(1)
	}
}

func command() *cli.Command {
	version, commit := buildinfo.Version(version)
	return &cli.Command{
		Name:            "specfirst",
		Version:         version + ", commit " + commit,
		Usage:           "start a service from an OpenAPI document",
		HideHelpCommand: true,
		Action:          withoutCommand,
		OnUsageError:    wrongUsage,
		Commands:        []*cli.Command{newCommand(), addCommand()},
	}
}

func newCommand() *cli.Command {
	return &cli.Command{
		Name:      "new",
		Usage:     "write a service to a new folder",
		ArgsUsage: "FOLDER",
		Description: "The last part of FOLDER is the name of the service. Without --document it keeps books,\n" +
			"as an example of everything that a service needs.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "module", Usage: "the `PATH` of the Go module (default: example.com/ and the name)"},
			&cli.StringFlag{Name: "document", Usage: "serve the OpenAPI document in `FILE`, with operations that respond with 501"},
			&cli.StringSliceFlag{Name: "exclude", Usage: "leave the `OPERATION` out of the document: its operationId, or as in 'GET /things'"},
			&cli.BoolFlag{Name: "add-errors", Usage: "add the errors to the document that every service has, such as 401 and 415"},
			&cli.BoolFlag{Name: "no-docs", Usage: "leave out the page that shows the document in a browser"},
			&cli.StringFlag{Name: "source", Usage: "use the clone of the Plant Store in `FOLDER` (default: the one that this command was built in, or its release)"},
		},
		Action:       runNew,
		OnUsageError: wrongUsage,
	}
}

func addCommand() *cli.Command {
	return &cli.Command{
		Name:      "add",
		Usage:     "add a resource to the service in this folder",
		ArgsUsage: "NOUN",
		Description: "It adds a list with a cursor, create, read, replace and delete to the document, and writes the code and a test, as in\n" +
			"  specfirst add loan --key id:integer --field due:date --field state:lent/returned --optional note:string\n" +
			"A TYPE is string, integer, number, boolean, date, or the values of an enum with slashes between them.\n" +
			"Undo it with git checkout . && git clean -fd.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "key", Required: true, Usage: "the `NAME:TYPE` that the path has, and the client chooses: a string or an integer"},
			&cli.StringSliceFlag{Name: "field", Usage: "a `NAME:TYPE` that each one has"},
			&cli.StringSliceFlag{Name: "optional", Usage: "a `NAME:TYPE` that some have"},
			&cli.StringFlag{Name: "plural", Usage: "the `NOUN` for many, if it is not the usual one"},
		},
		Action:       runAdd,
		OnUsageError: wrongUsage,
	}
}

// withoutCommand shows the help, unless there is a word that is not a command.
func withoutCommand(_ context.Context, cmd *cli.Command) error {
	if cmd.Args().Present() {
		return fmt.Errorf("unknown command %q: write specfirst new and the folder of the new service, as in: "+
			"specfirst new bookshelf", cmd.Args().First())
	}
	return cli.ShowRootCommandHelp(cmd)
}

// wrongUsage returns a mistake in the flags with the flag that is meant. By itself the library prints the
// mistake and a page of help before it returns it.
func wrongUsage(_ context.Context, cmd *cli.Command, err error, _ bool) error {
	if _, flag, isUnknown := strings.Cut(err.Error(), "flag provided but not defined: "); isUnknown {
		err = fmt.Errorf("unknown flag -%s", flag)
		if meant := cli.SuggestFlag(cmd.Flags, strings.TrimLeft(flag, "-"), true); meant != "" {
			err = fmt.Errorf("%w: did you mean %s?", err, meant)
		}
	}
	return fmt.Errorf("%w (%s --help lists the flags)", err, cmd.FullName())
}

func runNew(ctx context.Context, cmd *cli.Command) error {
	if cmd.Args().Len() != 1 {
		return errors.New("give the folder of the new service, as in: specfirst new bookshelf --module example.com/bookshelf")
	}
	s, err := newService(cmd.Args().First(), cmd.String("module"), cmd.String("source"))
	if path := cmd.String("document"); err == nil && path != "" {
		s.document, err = readDocument(path, cmd.StringSlice("exclude"), cmd.Bool("add-errors"))
	}
	if err == nil {
		s.hasNoDocs = cmd.Bool("no-docs")
		err = s.write(ctx)
	}
	if err != nil {
		return err
	}
	if s.document != nil {
		for _, warning := range s.document.Warnings {
			fmt.Fprintf(cmd.Root().Writer, "%v\n\n", warning)
		}
		if missing := s.document.MissingErrors(); len(missing) > 0 {
			fmt.Fprintf(cmd.Root().Writer, "The service also responds with these errors, which the document does not list (--add-errors adds them):\n  %s\n\n",
				strings.Join(missing, "\n  "))
		}
	}
	fmt.Fprintf(cmd.Root().Writer, "%s is ready. Read its README.md, then:\n\n  cd %s\n  make run\n  make test\n", s.name, s.folder)
	return nil
}

func runAdd(ctx context.Context, cmd *cli.Command) error {
	if cmd.Args().Len() != 1 {
		return errors.New("give the noun of the new resource, as in: specfirst add book --key isbn:string --field title:string")
	}
	r, err := newResource(cmd.Args().First(), cmd.String("plural"), cmd.String("key"), cmd.StringSlice("field"), cmd.StringSlice("optional"))
	if err != nil {
		return err
	}
	changed, err := r.add(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.Root().Writer, "%s are added:\n\n%s\nRun make test. git checkout . && git clean -fd undoes it.\n", r.many, changed)
	if !r.isSecured {
		fmt.Fprintf(cmd.Root().Writer, "The document has no security for all operations, so these need no credentials.\n")
	}
	return nil
}
