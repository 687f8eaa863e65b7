// Plantstore is an HTTP service that keeps plants. `plantstore serve` runs it.
//
// Every command is declared in a file of its own; this one starts them.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/token"
)

// system is the outside world as the commands see it.
type system struct {
	getenv         func(string) string
	stdin          io.Reader
	stdout, stderr io.Writer
}

func main() {
	os.Exit(mainCode())
}

// mainCode runs the program and returns its exit status.
func mainCode() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal finds no handler and quits at once.
	context.AfterFunc(ctx, stop)

	sys := system{getenv: os.Getenv, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	if err := run(ctx, sys, os.Args); err != nil {
		fmt.Fprintln(sys.stderr, "plantstore:", token.Redact(err.Error())) // it may quote what was typed
		return 1
	}
	return 0
}

// run runs the command that args name.
func run(ctx context.Context, sys system, args []string) error {
	root := &cli.Command{
		Name:        "plantstore",
		Usage:       "keep plants, over HTTP",
		Version:     thisBuild().Version,
		Description: "To begin: plantstore serve --print-token",
		Writer:      sys.stdout,
		ErrWriter:   sys.stderr,
		Commands: []*cli.Command{
			serveCommand(sys),
			tokenCommand(sys),
			importCommand(sys),
			exportCommand(sys),
			backupCommand(sys),
			restoreCommand(sys),
			healthcheckCommand(sys),
			versionCommand(sys),
			helpCommand(),
		},
		Action:                          unknownCommand,
		EnableShellCompletion:           true,
		ConfigureShellCompletionCommand: configureCompletion,
		// Errors are printed once, by main.
		ExitErrHandler: func(context.Context, *cli.Command, error) {},
	}
	explainUsages(root)
	return explain(root, args, root.Run(ctx, args))
}
