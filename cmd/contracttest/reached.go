package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/api/contracttest"
)

// reachedCommand declares the command that says what no test has reached.
func reachedCommand() *cli.Command {
	return &cli.Command{
		Name:        "reached",
		Usage:       "list what tests that watch their responses have not reached",
		ArgsUsage:   "FOLDER DOCUMENT",
		Description: "FOLDER is what the environment of the tests had as CONTRACT_COVERAGE.",
		Flags: []cli.Flag{&cli.IntFlag{
			Name:  "min",
			Usage: "exit with 1 if less than `PERCENT` of the operations were reached",
			Validator: func(given int) error {
				if given < 0 || given > 100 {
					return errors.New("it must be from 0 to 100")
				}
				return nil
			},
		}},
		Action:       reached,
		OnUsageError: wrongUsage,
	}
}

func reached(_ context.Context, cmd *cli.Command) error {
	if cmd.Args().Len() != 2 {
		return errors.New("give a folder and a document; see contracttest reached --help")
	}
	text, err := read(cmd.Args().Get(1))
	if err != nil {
		return err
	}
	contract, err := contracttest.New(text, contracttest.Options{})
	if err != nil {
		return cli.Exit(err.Error(), statusDocument)
	}
	coverage, err := contract.ReadCoverage(cmd.Args().Get(0))
	if err != nil {
		return err
	}
	fmt.Fprintln(cmd.Root().Writer, coverage)
	if wanted := cmd.Int("min"); coverage.Percent() < wanted {
		message := fmt.Sprintf("contracttest: %d %% of the operations were reached, and --min is %d", coverage.Percent(), wanted)
		return cli.Exit(message, statusBroken)
	}
	return nil
}
