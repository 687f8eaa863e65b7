package cli

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/server"
)

// limitFlags are the flags of serve that limit what clients may do.
func limitFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{
			Name:    "rate-limit",
			Usage:   "allow each token `RATE` requests, as in 100/s, 600/m or 5000/h, or off; a token may use them all at once and regains them evenly",
			Value:   "off",
			Sources: cli.EnvVars("PLANTSTORE_RATE_LIMIT"),
		},
		&cli.StringFlag{
			Name:    "failed-auth-limit",
			Usage:   "allow each client address `RATE` failed authentications before the status is 429, or off; good tokens are always accepted",
			Value:   "100/m",
			Sources: cli.EnvVars("PLANTSTORE_FAILED_AUTH_LIMIT"),
		},
		&cli.IntFlag{
			Name:  "max-in-flight",
			Usage: "handle at most `N` requests at the same time, others get 503; each may hold --max-body in memory",
			// Beyond 256 clients at the same time there are no more writes
			// per second, only a longer queue. This is twice as many.
			Value:   512,
			Sources: cli.EnvVars("PLANTSTORE_MAX_IN_FLIGHT"),
		},
		&cli.DurationFlag{
			Name:    "keep-changes",
			Usage:   "keep changes for `DURATION`, as in 168h; a client that was away for longer has to begin again",
			Value:   7 * 24 * time.Hour,
			Sources: cli.EnvVars("PLANTSTORE_KEEP_CHANGES"),
		},
		&cli.IntFlag{
			Name:    "max-streams",
			Usage:   "handle at most `N` requests for changes at the same time, waiting or not, others get 503; each takes some 50 KiB of memory",
			Value:   1000,
			Sources: cli.EnvVars("PLANTSTORE_MAX_STREAMS"),
		},
		&cli.StringSliceFlag{
			Name:    "cors-origin",
			Usage:   "let web pages of `ORIGIN` read responses, as in https://plants.example.com, or * for any; may be repeated",
			Sources: cli.EnvVars("PLANTSTORE_CORS_ORIGIN"),
		},
	}
}

// setLimits sets the fields of config that limitFlags are for.
func setLimits(config *server.Config, cmd *cli.Command) (err error) {
	if config.RateLimit, err = parseRate(cmd.String("rate-limit")); err != nil {
		return fmt.Errorf("--rate-limit: %w", err)
	}
	if config.FailedAuthLimit, err = parseRate(cmd.String("failed-auth-limit")); err != nil {
		return fmt.Errorf("--failed-auth-limit: %w", err)
	}
	if config.MaxInFlight = cmd.Int("max-in-flight"); config.MaxInFlight < 1 {
		return fmt.Errorf("--max-in-flight: must be at least 1, got %d", config.MaxInFlight)
	}
	if config.MaxStreams = cmd.Int("max-streams"); config.MaxStreams < 1 {
		return fmt.Errorf("--max-streams: must be at least 1, got %d", config.MaxStreams)
	}
	if config.KeepChanges = cmd.Duration("keep-changes"); config.KeepChanges < time.Minute {
		return fmt.Errorf("--keep-changes: must be at least 1m, got %v", config.KeepChanges)
	}
	config.CORSOrigins = cmd.StringSlice("cors-origin")
	for _, origin := range config.CORSOrigins {
		if err := checkOrigin(origin); err != nil {
			return fmt.Errorf("--cors-origin: %w", err)
		}
	}
	return nil
}

// parseRate parses a rate: 100 and 100/s are both a hundred per second, off and
// 0 are no limit.
func parseRate(text string) (httpapi.Rate, error) {
	if text == "off" || text == "0" {
		return httpapi.Rate{}, nil
	}
	number, unit, found := strings.Cut(text, "/")
	per, ok := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}[unit]
	if !found {
		per, ok = time.Second, true
	}
	limit, err := strconv.ParseUint(number, 10, 31)
	if err != nil || !ok || limit == 0 || per/time.Duration(limit) < time.Microsecond {
		return httpapi.Rate{}, fmt.Errorf("must be a rate, as in 100/s, 600/m or 5000/h (at most a million per second), or off, got %q", text)
	}
	return httpapi.Rate{Limit: int(limit), Per: per}, nil
}

// checkOrigin returns an error unless text has the form that browsers send in
// Origin (RFC 6454, section 6.2). Any other text would never match.
func checkOrigin(text string) error {
	if text == "*" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != text || strings.ToLower(text) != text || strings.Contains(text, "*") {
		return fmt.Errorf("must be * or an origin without a path, as in https://plants.example.com, with the port if it is not the default, got %q", text)
	}
	return nil
}
