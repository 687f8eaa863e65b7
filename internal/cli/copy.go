package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/store/open"
	"github.com/plantstore/plantstore/internal/transfer"
)

func copyCommand(sys system) *cli.Command {
	return &cli.Command{
		Name:  "copy",
		Usage: "copy plants and tokens from one store to another, of any kind",
		Description: "Plants keep their ETags and times, tokens stay valid. The target must be new or empty. It " +
			"cannot be\n" +
			"used before the copy is complete and checked. A copy that was stopped or failed continues when you\n" +
			"run the same command again.\n\n" +
			"The copy fails if the source changes meanwhile, so first restart its servers with serve --read-only:\n\n" +
			"   plantstore copy --from plantstore.db --to postgres://…",
		Flags: []cli.Flag{
			textFlag("from", "", "copy from `STORE`: a path, sqlite:PATH, or postgres://…"),
			textFlag("to", "", "copy to `STORE`: a path, sqlite:PATH, or postgres://…; it must be new or empty"),
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
		return errors.New("--to is missing: add --to STORE, a new or empty store")
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
	var epochs []int64
	err = source.Snapshot(ctx, func(held store.Snapshot) (err error) {
		epochs, err = held.Epochs(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("copy: read the source: %w", err)
	}
	target, err := open.Target(ctx, to, epochs)
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
	switch {
	case errors.Is(err, transfer.ErrChanged):
		err = fmt.Errorf("%w: stop all writes to --from (restart its servers with serve --read-only, "+
			"and do not use plantstore token), then run the same command again", err)
	case err != nil && !errors.Is(err, store.ErrSuperseded):
		err = fmt.Errorf("%w: remove the cause, then run the same command again to complete the copy", err)
	}
	if err != nil {
		return withStatus(ctx, "copy", ": run the same command again to complete it", err)
	}
	empty := ""
	if copied.Plants+copied.Tokens == 0 {
		empty = ", which is empty,"
	}
	fmt.Fprintf(sys.stdout, "copied %s and %s from %s%s to %s",
		amount(copied.Plants, "plant"), amount(copied.Tokens, "token"), open.Redacted(from), empty, open.Redacted(to))
	if copied.Kept > 0 {
		fmt.Fprintf(sys.stdout, " (%s by an earlier run)", comma(copied.Kept))
	}
	fmt.Fprintf(sys.stdout, " in %v, checked: sha256:%s\n", progress.elapsed(), copied.Checksum)
	return nil
}
