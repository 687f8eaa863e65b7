package cli

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/httpapi"
)

// limitFlags are the flags of serve that say how much of it there is for whom.
func limitFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{
			Name:    "rate-limit",
			Usage:   "answer each token at most at `RATE`: 100 or 100/s, 600/m, 5000/h (so many at once, coming back evenly), or off",
			Value:   "off",
			Sources: cli.EnvVars("PLANTSTORE_RATE_LIMIT"),
		},
		&cli.StringFlag{
			Name:    "failed-auth-limit",
			Usage:   "answer bad credentials from one address with 429 beyond `RATE`, or off; good tokens are served all the same",
			Value:   "100/m",
			Sources: cli.EnvVars("PLANTSTORE_FAILED_AUTH_LIMIT"),
		},
		&cli.IntFlag{
			Name:  "max-in-flight",
			Usage: "answer at most `N` requests at one time, others with 503; each may hold --max-body in memory",
			// Twice the callers from which on more of them make no more
			// writes a second; it would only be a longer queue.
			Value:   512,
			Sources: cli.EnvVars("PLANTSTORE_MAX_IN_FLIGHT"),
		},
		&cli.StringSliceFlag{
			Name:    "cors-origin",
			Usage:   "let web pages of `ORIGIN` read answers, as in https://plants.example.com, or * for any; may be repeated",
			Sources: cli.EnvVars("PLANTSTORE_CORS_ORIGIN"),
		},
	}
}

// limits are what limitFlags say.
type limits struct {
	rate, failedAuth httpapi.Rate
	inFlight         int
	origins          []string
}

func limitsOf(cmd *cli.Command) (l limits, err error) {
	if l.rate, err = parseRate(cmd.String("rate-limit")); err != nil {
		return l, fmt.Errorf("--rate-limit: %w", err)
	}
	if l.failedAuth, err = parseRate(cmd.String("failed-auth-limit")); err != nil {
		return l, fmt.Errorf("--failed-auth-limit: %w", err)
	}
	if l.inFlight = cmd.Int("max-in-flight"); l.inFlight < 1 {
		return l, fmt.Errorf("--max-in-flight: %d is no number of requests: give at least 1", l.inFlight)
	}
	for _, origin := range cmd.StringSlice("cors-origin") {
		if err := checkOrigin(origin); err != nil {
			return l, fmt.Errorf("--cors-origin: %w", err)
		}
		l.origins = append(l.origins, origin)
	}
	return l, nil
}

// parseRate reads how often something may be done: 100 and 100/s are both a
// hundred times a second, off and 0 no limit.
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
		return httpapi.Rate{}, fmt.Errorf("%q is not a rate up to a million a second: write 100/s, 600/m, 5000/h or off", text)
	}
	return httpapi.Rate{Limit: int(limit), Per: per}, nil
}

// checkOrigin fails unless text is what browsers send in Origin (RFC 6454,
// section 6.2): any other text could never be equal to it.
func checkOrigin(text string) error {
	if text == "*" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != text || strings.ToLower(text) != text || strings.Contains(text, "*") {
		return fmt.Errorf("%q is not an origin: write https://plants.example.com, with the port if it is not the usual one and nothing behind it, or *", text)
	}
	return nil
}
