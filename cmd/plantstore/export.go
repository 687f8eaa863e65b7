package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/go-json-experiment/json"
	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/plantfile"
)

func exportCommand(sys system) *cli.Command {
	return &cli.Command{
		Name:      "export",
		Usage:     "write every plant of a running service to a file",
		ArgsUsage: "[FILE]",
		Description: "Without FILE, or with -, the plants go to stdout, as CSV unless --format says otherwise. They are\n" +
			"in the order of their ids, and plantstore import reads them back byte for byte. The token comes\n" +
			"from PLANTSTORE_TOKEN or --token-file and needs the scope read.\n\n" +
			"FILE appears once it is complete; one of that name is replaced then.\n\n" +
			"   PLANTSTORE_TOKEN=pst_… plantstore export plants.csv",
		Flags: append([]cli.Flag{formatFlag("write")}, serverFlags()...),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if cmd.NArg() > 1 {
				return fmt.Errorf("export takes the name of one file, got %q too", cmd.Args().Get(1))
			}
			name, otherwise := cmd.Args().First(), plantfile.Format("")
			if name == "" || name == "-" {
				name, otherwise = "-", plantfile.CSV
			}
			format, err := chooseFormat(cmd.String("format"), name, otherwise)
			if err != nil {
				return err
			}
			remote, err := dial(sys, cmd)
			if err != nil {
				return err
			}
			return exportFile(ctx, sys, remote, name, format)
		},
	}
}

// exportFile writes every plant to a file and says how many there were.
func exportFile(ctx context.Context, sys system, remote *remote, name string, format plantfile.Format) error {
	out, keep, err := createOutput(sys, name)
	if err != nil {
		return err
	}
	progress := startProgress(sys.stderr, 0)
	err = download(ctx, remote, plantfile.NewWriter(countingWriter{out, progress}, format), progress)
	progress.finish()
	err = keep(err)
	switch {
	case err != nil && ctx.Err() != nil:
		return errors.New("export: stopped before the last plant")
	case err != nil:
		return fmt.Errorf("export: %w", err)
	}
	fmt.Fprintf(sys.stderr, "%s plants in %v\n", humanize.Comma(progress.plants.Load()), progress.elapsed().Round(time.Millisecond))
	return nil
}

// createOutput opens what the plants are written to. To keep it, given the
// error of the writing, is the last thing to do: a file that is not complete
// never has the name that was asked for.
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

// download writes every plant. While one page is written the next is fetched.
func download(ctx context.Context, remote *remote, w plantfile.Writer, progress *progress) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	pages := make(chan []plantapi.NewPlant, 1)
	go func() {
		defer close(pages)
		if err := fetch(ctx, remote, pages); err != nil {
			fail(err)
		}
	}()
	for page := range pages {
		for _, p := range page {
			if err := w.Write(p); err != nil {
				return err
			}
		}
		progress.plants.Add(int64(len(page)))
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return w.Flush()
}

// fetch sends every page.
func fetch(ctx context.Context, remote *remote, pages chan<- []plantapi.NewPlant) error {
	params := plantapi.ListPlantsParams{Limit: new(int32(1000))}
	for {
		resp, err := remote.try(ctx, func(ctx context.Context) (*http.Response, error) {
			return remote.client.ListPlants(ctx, &params)
		})
		if err != nil {
			return err
		}
		if resp.StatusCode != http.StatusOK {
			return remote.explain(resp)
		}
		// Of a StoredPlant only what a NewPlant has is of use, and the rest would
		// cost half of the time.
		var plants []plantapi.NewPlant
		if err := json.UnmarshalRead(resp.Body, &plants); err != nil {
			return fmt.Errorf("%s answers something else than a list of plants: is --server right? (%w)", remote.url, err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case pages <- plants:
		}
		if resp.Header.Get("Link") == "" || len(plants) == 0 {
			return nil
		}
		params.After = &plants[len(plants)-1].ID
	}
}

// countingWriter counts what is written through it.
type countingWriter struct {
	io.Writer
	progress *progress
}

func (c countingWriter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.progress.bytes.Add(int64(n))
	return n, err
}
