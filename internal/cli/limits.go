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
		textFlag("rate-limit", "off", "allow each token `RATE` requests, as in 100/s, 600/m or 5000/h, or off; a token may use them all at once and regains them evenly"),
		textFlag("failed-auth-limit", "100/m", "allow each client address `RATE` failed authentications before the status is 429, or off; good tokens are always accepted"),
		// Beyond 256 clients at the same time there are no more writes per second, only
		// a longer queue. The default is twice as many.
		intFlag("max-in-flight", 512, "handle at most `N` requests at the same time, others get 503; each may hold --max-body in memory"),
		durationFlag("keep-changes", 7*24*time.Hour, "keep changes for `TIME`, as in 7d or 36h; a client that was away for longer has to begin again, so it must be longer than a client takes for all plants (about 30s for a million)"),
		intFlag("max-streams", 1000, "handle at most `N` requests for changes at the same time, waiting or not, others get 503; each takes some 50 KiB of memory"),
		&cli.StringSliceFlag{
			Name:    "cors-origin",
			Usage:   "let web pages of `ORIGIN` read responses, as in https://plants.example.com, or * for any; may be repeated",
			Sources: environment("cors-origin"),
		},
	}
}

// setLimits sets the fields of config that limitFlags are for.
func setLimits(config *server.Config, cmd *cli.Command) (err error) {
	if config.HTTP.RateLimit, err = parseRate(cmd.String("rate-limit")); err != nil {
		return fmt.Errorf("--rate-limit: %w", err)
	}
	if config.HTTP.FailedAuth, err = parseRate(cmd.String("failed-auth-limit")); err != nil {
		return fmt.Errorf("--failed-auth-limit: %w", err)
	}
	config.HTTP.MaxInFlight, config.HTTP.MaxStreams = cmd.Int("max-in-flight"), cmd.Int("max-streams")
	if config.KeepChanges = cmd.Duration("keep-changes"); config.KeepChanges < time.Minute {
		return fmt.Errorf("--keep-changes: must be at least 1m, got %v", config.KeepChanges)
	}
	config.HTTP.CORSOrigins = cmd.StringSlice("cors-origin")
	for _, origin := range config.HTTP.CORSOrigins {
		if err := checkOrigin(origin); err != nil {
			return fmt.Errorf("--cors-origin: %w", err)
		}
	}
	return nil
}

// parseRate parses a rate: 100/s is a hundred per second, off and 0 are no limit.
func parseRate(text string) (httpapi.Rate, error) {
	if text == "off" || text == "0" {
		return httpapi.Rate{}, nil
	}
	number, unit, _ := strings.Cut(text, "/")
	per, ok := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}[unit]
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
