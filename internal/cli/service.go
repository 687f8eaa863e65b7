package cli

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/transfer"
)

// serverFlags are the flags of every command that talks to a service.
func serverFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{
			Name:    "server",
			Usage:   "talk to the service at `URL`",
			Value:   "http://127.0.0.1:8080",
			Sources: cli.EnvVars("PLANTSTORE_SERVER"),
		},
		&cli.StringFlag{
			Name:    "token-file",
			Usage:   "read the token from `FILE` rather than from PLANTSTORE_TOKEN",
			Sources: cli.EnvVars("PLANTSTORE_TOKEN_FILE"),
		},
	}
}

// dial makes a client of the service that --server names. It sends nothing yet.
func dial(sys system, cmd *cli.Command) (*transfer.Service, error) {
	address := cmd.String("server")
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("--server: %q is not the address of a service: write it as in http://127.0.0.1:8080", address)
	}
	if u.User != nil {
		return nil, errors.New("--server: a user and a password are of no use: the service wants a token")
	}
	token, err := findToken(sys, cmd.String("token-file"))
	if err != nil {
		return nil, err
	}
	return transfer.NewService(address, token)
}

// withStatus gives an error of a transfer its exit status.
func withStatus(err error) error {
	if _, ok := errors.AsType[transfer.TokenError](err); ok {
		return statusError{err, statusToken}
	}
	if _, ok := errors.AsType[transfer.UnavailableError](err); ok {
		return statusError{err, statusUnavailable}
	}
	return err
}

// findToken reads the token. It is no flag: other users of the machine see the
// command lines of all programs.
func findToken(sys system, file string) (string, error) {
	token := sys.getenv("PLANTSTORE_TOKEN")
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("--token-file: %w", err)
		}
		token = strings.TrimSpace(string(text))
	}
	switch {
	case token == "" && file != "":
		return "", fmt.Errorf("--token-file: %s is empty", file)
	case token == "":
		return "", errors.New("a token is needed: put one into PLANTSTORE_TOKEN, or into a file and give --token-file FILE")
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", errors.New("the token is not one word of printable letters: is there something else in it?")
	}
	return token, nil
}
