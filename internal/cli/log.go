package cli

import (
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/urfave/cli/v3"
)

// What --log-requests may be.
const (
	logFailed = "failed"
	logAll    = "all"
)

func logFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{
			Name:    "log-requests",
			Usage:   "log `WHICH` requests: failed ones (5xx, cut off, slow) or all",
			Value:   logFailed,
			Sources: cli.EnvVars("PLANTSTORE_LOG_REQUESTS"),
			Validator: func(which string) error {
				if which != logFailed && which != logAll {
					return fmt.Errorf("%q is not failed or all", which)
				}
				return nil
			},
		},
		&cli.DurationFlag{
			Name:    "log-slow",
			Usage:   "a request is slow that takes `TIME`, as in 250ms or 1s; 0s for none",
			Value:   time.Second,
			Sources: cli.EnvVars("PLANTSTORE_LOG_SLOW"),
		},
	}
}

// newLog logs text for people on a terminal and JSON lines for programs.
func newLog(w io.Writer) *slog.Logger {
	if isTerminal(w) {
		return slog.New(slog.NewTextHandler(w, nil))
	}
	return slog.New(slog.NewJSONHandler(w, nil))
}
