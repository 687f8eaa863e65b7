package cli

import (
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/urfave/cli/v3"
)

// The values of --log-requests.
const (
	logFailed = "failed"
	logAll    = "all"
)

func logFlags() []cli.Flag {
	which := textFlag("log-requests", logFailed, "log `WHICH` requests: failed (5xx, cut off or slow) or all")
	which.Validator = func(which string) error {
		if which != logFailed && which != logAll {
			return errors.New("must be failed or all")
		}
		return nil
	}
	return []cli.Flag{
		which,
		durationFlag("log-slow", time.Second, "treat a request as slow from `TIME` on, as in 250ms or 1s; 0s turns it off"),
	}
}

// newLog returns a logger of text for a terminal, and of JSON lines otherwise.
func newLog(w io.Writer) *slog.Logger {
	if isTerminal(w) {
		return slog.New(slog.NewTextHandler(w, nil))
	}
	return slog.New(slog.NewJSONHandler(w, nil))
}
