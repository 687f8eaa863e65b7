package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"runtime/debug"
	"slices"
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
func dial(sys system, command *cli.Command) (*transfer.Service, error) {
	address := command.String("server")
	parsed, err := url.Parse(address)
	if err != nil || !isServiceURL(parsed) {
		return nil, fmt.Errorf("--server: must be a URL, as in http://127.0.0.1:8080, got %q", address)
	}
	if parsed.User != nil {
		return nil, errors.New("--server: must not contain a user or a password: put a token into " +
			"PLANTSTORE_TOKEN or --token-file")
	}
	token, err := findToken(sys, command.String("token-file"))
	if err != nil {
		return nil, err
	}
	if os.Getenv("GOGC") == "" {
		// The heap is small, so that an export would spend 40 % of its CPU in garbage collections.
		debug.SetGCPercent(400)
	}
	return transfer.NewService(address, token)
}

func isServiceURL(parsed *url.URL) bool {
	isHTTP := slices.Contains([]string{"http", "https"}, parsed.Scheme)
	hasMore := parsed.RawQuery+parsed.Fragment != ""
	isComplete := isHTTP && parsed.Host != ""
	return isComplete && !hasMore
}

// exitStatuses are the statuses of the errors that have one of their own.
var exitStatuses = []struct {
	is     func(error) bool
	status int
}{
	{is: isError[transfer.TokenError], status: statusToken},
	{is: isError[transfer.UnavailableError], status: statusUnavailable},
	{is: func(err error) bool { return errors.Is(err, webhook.ErrGone) }, status: statusReceiver},
	{is: isError[transfer.PositionError], status: statusPosition},
}

func isError[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// withStatus returns the error of a command with its exit status. If ctx has ended, the
// error says what to do after a stop.
func withStatus(ctx context.Context, name, stopped string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return statusError{fmt.Errorf("%s: stopped%s", name, stopped), statusStopped}
	}
	err = fmt.Errorf("%s: %w", name, err)
	for _, kind := range exitStatuses {
		if kind.is(err) {
			return statusError{err, kind.status}
		}
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
		if token == "" {
			return "", fmt.Errorf("--token-file: %s is empty: write a token into it", file)
		}
	}
	if token == "" {
		return "", errors.New("the token is missing: set PLANTSTORE_TOKEN, or write the token into a file and " +
			"add --token-file FILE; plantstore token create creates one")
	}
	if strings.ContainsFunc(token, func(char rune) bool { return char <= ' ' || char > '~' }) {
		return "", errors.New("the token contains a space or a character that is not printable ASCII: " +
			"check PLANTSTORE_TOKEN or --token-file")
	}
	return token, nil
}

// readSmall reads a file for which 64 KiB are plenty: a token, or secrets. Without a limit a
// wrong name, such as /dev/zero, would fill the memory.
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
