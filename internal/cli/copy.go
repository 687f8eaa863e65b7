package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/store/open"
	"github.com/plantstore/plantstore/internal/transfer"
)

func copyCommand(sys system) *cli.Command {
	return &cli.Command{
		Name:  "copy",
		Usage: "copy plants and tokens from one store to another, of any kind",
		Description: "Plants keep their ETags and times, tokens stay valid. A SQLite file must not exist yet, a PostgreSQL\n" +
			"database must be empty. Nothing is there before the copy is complete and checked. After a copy that\n" +
			"was stopped or failed, run the same command again: it begins again.\n\n" +
			"The copy fails if the source changes meanwhile, so first restart its servers with serve --read-only:\n\n" +
			"   plantstore copy --from plantstore.db --to postgres://…",
		Flags: []cli.Flag{
			textFlag("from", "", "copy from `STORE`: a path, sqlite:PATH, or postgres://…"),
			textFlag("to", "", "copy to `STORE`: a path, sqlite:PATH, or postgres://…: a new file or an empty database"),
		},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			from, to := cmd.String("from"), cmd.String("to")
			if err := checkCopied(from, to); err != nil {
				return err
			}
			return copyBetween(ctx, sys, from, to)
		},
	}
}

// checkCopied returns an error if from cannot be copied to to.
func checkCopied(from, to string) error {
	switch {
	case from == "":
		return errors.New("--from is missing: add --from STORE, the store that is copied")
	case to == "":
		return errors.New("--to is missing: add --to STORE, a new file or an empty database")
	case from == to:
		return errSameStore
	case open.InMemory(from), open.InMemory(to):
		return errors.New("sqlite::memory: ends with its process and cannot be copied: give a file or postgres://…")
	}
	if missing(from) {
		return fmt.Errorf("--from %s does not exist: give the --store of serve", from)
	}
	return nil
}

var errSameStore = errors.New("--from and --to are the same store: give another one")

// missing reports whether a store is a file that does not exist.
func missing(name string) bool {
	path, err := open.File(name)
	if err != nil {
		return false
	}
	_, err = os.Stat(path)
	return errors.Is(err, os.ErrNotExist)
}

// aboutFlag returns an error of opening a store that names its flag. Elsewhere that
// flag is --store.
func aboutFlag(flag string, err error) error {
	return errors.New("copy: " + strings.ReplaceAll(err.Error(), "--store", flag))
}

// copyBetween copies a store and prints the result.
func copyBetween(ctx context.Context, sys system, from, to string) (err error) {
	source, err := open.Source(ctx, from)
	if err != nil {
		return aboutFlag("--from", err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	if same, err := open.Same(ctx, from, to); err != nil {
		return aboutFlag("--to", err)
	} else if same {
		return errSameStore
	}
	target, err := open.Target(ctx, to)
	if err != nil {
		return aboutFlag("--to", err)
	}
	defer func() { err = errors.Join(err, target.Close()) }()

	progress := startProgress(sys.stderr, 0, new(transfer.Service))
	copied, err := transfer.Copy(ctx, source, target, func(phase string, done, total int64) {
		progress.phase.Store(phase)
		progress.plants.Store(min(done, total/transfer.CopyPasses))
		progress.total.Store(total)
		progress.bytes.Store(done)
	})
	progress.finish()
	if errors.Is(err, transfer.ErrChanged) {
		err = fmt.Errorf("%w: stop all writes to --from (restart its servers with serve --read-only, "+
			"and do not use plantstore token), then run the same command again", err)
	} else if err != nil {
		err = fmt.Errorf("%w: remove the cause, then run the same command again", err)
	}
	if err != nil {
		return withStatus(ctx, "copy", ": nothing was copied, run the same command again", err)
	}
	empty := ""
	if copied.Plants+copied.Tokens == 0 {
		empty = ", which is empty,"
	}
	fmt.Fprintf(sys.stdout, "copied %s and %s from %s%s to %s in %v, checked: sha256:%s\n",
		amount(copied.Plants, "plant"), amount(copied.Tokens, "token"), open.Redacted(from), empty, open.Redacted(to),
		progress.elapsed(), copied.Checksum)
	return nil
}
