package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"runtime/debug"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/transfer"
	"github.com/plantstore/plantstore/internal/webhook"
)

// serverFlags are the flags of the commands that use a running service.
func serverFlags() []cli.Flag {
	return []cli.Flag{
		textFlag("server", "http://127.0.0.1:8080", "use the service at `URL`"),
		textFlag("token-file", "", "read the token from `FILE` instead of PLANTSTORE_TOKEN"),
	}
}

// dial returns a client of the service at --server. It sends no request.
func dial(sys system, cmd *cli.Command) (*transfer.Service, error) {
	address := cmd.String("server")
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("--server: must be a URL, as in http://127.0.0.1:8080, got %q", address)
	}
	if u.User != nil {
		return nil, errors.New("--server: must not contain a user or a password: put a token into " +
			"PLANTSTORE_TOKEN or --token-file")
	}
	token, err := findToken(sys, cmd.String("token-file"))
	if err != nil {
		return nil, err
	}
	if os.Getenv("GOGC") == "" {
		// The heap is small, so that an export would spend 40 % of its CPU in garbage collections.
		debug.SetGCPercent(400)
	}
	return transfer.NewService(address, token)
}

// withStatus returns the error of a command with its exit status. If ctx has ended, the
// error says what to do after a stop.
func withStatus(ctx context.Context, command, stopped string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return statusError{fmt.Errorf("%s: stopped%s", command, stopped), statusStopped}
	}
	err = fmt.Errorf("%s: %w", command, err)
	if _, ok := errors.AsType[transfer.TokenError](err); ok {
		return statusError{err, statusToken}
	}
	if _, ok := errors.AsType[transfer.UnavailableError](err); ok {
		return statusError{err, statusUnavailable}
	}
	if errors.Is(err, webhook.ErrGone) {
		return statusError{err, statusReceiver}
	}
	if _, ok := errors.AsType[transfer.PositionError](err); ok {
		return statusError{err, statusPosition}
	}
	return err
}

// findToken reads the token. There is no flag for it, because other users of
// the machine can see the command lines of all programs.
func findToken(sys system, file string) (string, error) {
	token := sys.getenv("PLANTSTORE_TOKEN")
	if file != "" {
		text, err := readSmall(file)
		if err != nil {
			return "", fmt.Errorf("--token-file: %w", err)
		}
		token = strings.TrimSpace(string(text))
	}
	switch {
	case token == "" && file != "":
		return "", fmt.Errorf("--token-file: %s is empty: write a token into it", file)
	case token == "":
		return "", errors.New("the token is missing: set PLANTSTORE_TOKEN, or write the token into a file and " +
			"add --token-file FILE; plantstore token create creates one")
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", errors.New("the token contains a space or a character that is not printable ASCII: " +
			"check PLANTSTORE_TOKEN or --token-file")
	}
	return token, nil
}

// readSmall reads a file for which 64 KiB are plenty: a token, secrets, or the state of a
// webhook. Without a limit a wrong name, such as /dev/zero, would fill the memory.
func readSmall(name string) ([]byte, error) {
	const limit = 64 << 10
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, limit+1))
	if len(text) > limit {
		err = fmt.Errorf("%s has more than 64 KiB: give another file", name)
	}
	return text, err
}
