// Package cli is the command line of the program: every command and its flags
// are declared in a file of its own. A command checks its arguments and calls
// the package that does the work, such as internal/server for serve and internal/transfer
// for import and export.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/store/open"
	"github.com/plantstore/plantstore/internal/token"
)

// system is what the commands use of the operating system.
type system struct {
	getenv         func(string) string
	environ        []string
	stdin          io.Reader
	stdout, stderr io.Writer
	version        string // of a release; thisBuild finds it out if it is empty
}

// Main runs the program and returns its exit status. The version is that of a
// release; if it is empty, the build information has it.
func Main(version string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// Without a handler a second signal ends the program at once.
	context.AfterFunc(ctx, stop)

	sys := system{version: version, getenv: os.Getenv, environ: os.Environ(), stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	return sys.main(ctx, os.Args)
}

// main runs the command that args name, prints its error, and returns the exit status.
func (sys system) main(ctx context.Context, args []string) int {
	err := run(ctx, sys, args)
	if err == nil {
		return 0
	}
	fmt.Fprintln(sys.stderr, "plantstore:", plainly.Replace(sys.redact(err.Error()))) // it may quote a password or a token
	if e, ok := errors.AsType[statusError](err); ok {
		return e.status
	}
	return 1
}

// redact returns s without the passwords and tokens in it.
func (sys system) redact(s string) string {
	return token.Redact(open.RedactPasswords(s), sys.getenv("PLANTSTORE_TOKEN"))
}

// The exit statuses of import, export, changes, history and webhook, beside 0 and 1.
const (
	statusRefused     = 2
	statusUnavailable = 3
	statusToken       = 4
	statusPosition    = 5
	statusReceiver    = 6
	statusStopped     = 130 // what a shell reports after Ctrl-C
)

// statusError is an error with its exit status.
type statusError struct {
	error
	status int
}

func (e statusError) Unwrap() error { return e.error }

// run runs the command that args name.
func run(ctx context.Context, sys system, args []string) error {
	root := &cli.Command{
		Name:        "plantstore",
		Usage:       "an HTTP service that stores plants",
		Version:     thisBuild(sys).Version,
		Description: "To try it: plantstore serve --print-token",
		Writer:      sys.stdout,
		ErrWriter:   sys.stderr,
		Commands: []*cli.Command{
			serveCommand(sys),
			tokenCommand(sys),
			importCommand(sys),
			exportCommand(sys),
			changesCommand(sys),
			historyCommand(sys),
			forgetCommand(sys),
			webhookCommand(sys),
			backupCommand(sys),
			restoreCommand(sys),
			copyCommand(sys),
			migrateCommand(sys),
			healthcheckCommand(sys),
			versionCommand(sys),
			helpCommand(sys),
		},
		EnableShellCompletion: true,
		// Main prints the error.
		ExitErrHandler: func(context.Context, *cli.Command, error) {},
	}
	mistakes := mistakes{sys: sys, variables: []string{"PLANTSTORE_TOKEN"}}
	hook := func(command *cli.Command) error {
		command.ShellComplete = complete
		return mistakes.hook(command)
	}
	root.ConfigureShellCompletionCommand = func(command *cli.Command) { // Run adds this command
		configureCompletion(command)
		_ = command.Walk(hook)
	}
	_ = root.Walk(hook)
	if err := root.Run(ctx, args); err != nil {
		return err
	}
	return mistakes.unknownCommand // which Run has noted
}
