package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/docs"
	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/oidc"
	"github.com/plantstore/plantstore/internal/server"
)

func serveCommand(sys system) *cli.Command {
	return &cli.Command{
		Name:  "serve",
		Usage: "run the service",
		Description: `Prints its address on stdout once it accepts requests, and logs to stderr. SIGTERM or Ctrl-C
stops it after the requests in flight have finished; a second signal stops it at once.

Every request needs a token. Create one with plantstore token create, or set PLANTSTORE_TOKEN to a
token of your own, which has every scope and needs at least 16 characters:

   PLANTSTORE_TOKEN=$(openssl rand -hex 32) plantstore serve

To try the service, let it print a token; to serve other machines, use TLS:

   plantstore serve --print-token
   plantstore serve --addr 0.0.0.0:443 --tls-cert fullchain.pem --tls-key privkey.pem`,
		Flags: append([]cli.Flag{
			addrFlag("listen on `HOST:PORT`; port 0 takes any free port"),
			adminFlag("serve /livez, /readyz, /writez, /metrics and /debug/pprof/ on `HOST:PORT`, or off; there is " +
				"no authentication, so use a private address"),
			storeFlag(anyStore),
			textFlag("base-url", "", "set the `URL` of the service as clients see it, as in "+
				"https://example.com/store (default: the host of each request)"),
			textFlag("max-body", "1MiB", "refuse request bodies larger than `SIZE`, as in 64KiB or 1MiB; at least "+
				"16KiB"),
			textFlag("tls-cert", "", "serve TLS and HTTP/2 with the certificate chain in `FILE` (PEM); a renewed "+
				"file needs no restart"),
			textFlag("tls-key", "", "read the private key of the certificate from `FILE` (PEM)"),
			boolFlag("read-only", "refuse writes with 503 and store nothing, for instance while the store is "+
				"copied; reads work as always"),
			historyFlag(),
			choiceFlag("history-names", pageOn, "show who has changed a plant: `on|off`; every token with the scope "+
				"read sees the names"),
			choiceFlag("page", pageOn, "serve a page for people at /: `on|off`; it needs a token to show plants"),
			boolFlag("print-token", "print a token that is valid for 24 hours or until the service stops, a link "+
				"to the page and a curl command that use it"),
		}, slices.Concat(oidcFlags(), logFlags(), limitFlags())...),
		Action: func(ctx context.Context, command *cli.Command) error {
			maxBody, err := parseSize(command.String("max-body"))
			if err != nil {
				return fmt.Errorf("--max-body: %w", err)
			}
			var baseURL *url.URL
			if text := command.String("base-url"); text != "" {
				if baseURL, err = docs.ParseBaseURL(text); err != nil {
					if strings.Contains(text, "@") {
						text = "…" // it may contain a password
					}
					return fmt.Errorf("--base-url %s: %w", text, err)
				}
			}
			identityProvider, err := oidcConfig(command)
			if err != nil {
				return err
			}
			if name := command.String("store"); command.Bool("read-only") && missing(name) {
				return fmt.Errorf("--store %s does not exist, and serve --read-only creates no store: check the path",
					name)
			}
			config := server.Config{
				Addr:         command.String("addr"),
				AdminAddr:    adminAddr(command),
				Store:        command.String("store"),
				Token:        sys.getenv("PLANTSTORE_TOKEN"),
				OIDC:         identityProvider,
				TLSCert:      command.String("tls-cert"),
				TLSKey:       command.String("tls-key"),
				PrintToken:   command.Bool("print-token"),
				NotifySocket: sys.getenv("NOTIFY_SOCKET"),
				HTTP: httpapi.Options{
					BaseURL:  baseURL,
					ReadOnly: command.Bool("read-only"),
					MaxBody:  maxBody,
					Page:     command.String("page") == pageOn,
					NoNames:  command.String("history-names") != pageOn,
					LogAll:   command.String("log-requests") == logAll,
					LogSlow:  command.Duration("log-slow"),
				},
				Build:    thisBuild(sys),
				Settings: changedSettings(sys, command),
			}
			config.KeepHistory = command.Duration("history")
			if err := setLimits(&config, command); err != nil {
				return err
			}
			return server.Run(ctx, sys.stdout, newLog(sys.stderr), config)
		},
	}
}

// minBody is the smallest --max-body. The longest plant needs 15 KB if each character is
// escaped as two surrogates.
const minBody = 16 << 10

// historyFlag is --history: how long the history is kept.
func historyFlag() cli.Flag {
	flag := durationFlag("history", time.Hour, 90*24*time.Hour, "keep the earlier states of plants, and who has changed "+
		"them, for `TIME`, as in 90d or 1y, or forever, or off")
	parseTime := flag.Config
	flag.Config = func(text string) (time.Duration, error) {
		switch text {
		case "off":
			return 0, nil
		case "forever":
			return server.Forever, nil
		}
		return parseTime(text)
	}
	return flag
}

// changedSettings returns the flags of a command that differ from their defaults, as
// attributes of a log line without secrets. It leaves out --addr, --admin-addr and
// --store, which the line has anyway.
func changedSettings(sys system, command *cli.Command) (settings []any) {
	for _, f := range command.Flags {
		name := f.Names()[0]
		if !command.IsSet(name) || slices.Contains([]string{"addr", "admin-addr", "store"}, name) {
			continue
		}
		value, unchanged := fmt.Sprint(command.Value(name)), f.(cli.DocGenerationFlag).GetValue() // the default
		if value != unchanged && strconv.Quote(value) != unchanged {
			settings = append(settings, slog.String(name, sys.redact(value)))
		}
	}
	return settings
}

// parseSize parses a size in bytes: 20000, 64KiB, 1MiB.
func parseSize(text string) (int64, error) {
	size, err := humanize.ParseBytes(text)
	if err != nil || size < minBody || size > math.MaxInt32 {
		return 0, fmt.Errorf("must be a size from 16KiB to 2GiB, as in 64KiB or 1MiB, got %q", text)
	}
	return int64(size), nil
}

// The values of --log-requests.
const (
	logFailed = "failed"
	logAll    = "all"
)

func logFlags() []cli.Flag {
	return []cli.Flag{
		choiceFlag("log-requests", logFailed, "log `WHICH` requests: failed (5xx, cut off or slow) or all"),
		durationFlag("log-slow", 0, time.Second, "treat a request as slow from `TIME` on, as in 250ms or 1s; 0s turns "+
			"it off"),
	}
}

// choiceFlag returns a flag that takes one of its choices.
func choiceFlag(name, value, usage string) cli.Flag {
	flag := textFlag(name, value, usage)
	flag.Validator = func(text string) error {
		if !slices.Contains(choices[name], text) {
			return fmt.Errorf("must be %s", strings.Join(choices[name], " or "))
		}
		return nil
	}
	return flag
}

// pageOn is the value of --page that serves the page.
const pageOn = "on"

// newLog returns a logger of text for a terminal, and of JSON lines otherwise.
func newLog(w io.Writer) *slog.Logger {
	if isTerminal(w) {
		return slog.New(slog.NewTextHandler(w, nil))
	}
	return slog.New(slog.NewJSONHandler(w, nil))
}

// limitFlags are the flags of serve that limit what clients may do.
func limitFlags() []cli.Flag {
	return []cli.Flag{
		textFlag("rate-limit", "off", "allow each token `RATE` requests, as in 100/s, 600/m or 5000/h, or off; a "+
			"token may use them all at once and regains them evenly"),
		textFlag("failed-auth-limit", "100/m", "allow each client address `RATE` failed authentications before the "+
			"status is 429, or off; good tokens are always accepted"),
		// Beyond 256 clients at the same time there are no more writes per second, only
		// a longer queue. The default is twice as many.
		intFlag("max-in-flight", 512, "handle at most `N` requests at the same time, others get 503; each may hold "+
			"--max-body in memory"),
		durationFlag("keep-changes", time.Minute, 7*24*time.Hour, "keep changes for `TIME`, as in 7d or 36h; a client that was "+
			"away for longer has to begin again, so it must be longer than a client takes for all plants (about 30s "+
			"for a million)"),
		intFlag("max-streams", 1000, "handle at most `N` requests for changes at the same time, waiting or not, "+
			"others get 503; each takes some 50 KiB of memory"),
		&cli.StringSliceFlag{
			Name: "cors-origin",
			Usage: "let web pages of `ORIGIN` read responses, as in https://plants.example.com, or * for any; may " +
				"be repeated",
			Sources: environment("cors-origin"),
		},
	}
}

// setLimits sets the fields of config that limitFlags are for.
func setLimits(config *server.Config, command *cli.Command) (err error) {
	if config.HTTP.RateLimit, err = parseRate(command.String("rate-limit")); err != nil {
		return fmt.Errorf("--rate-limit: %w", err)
	}
	if config.HTTP.FailedAuth, err = parseRate(command.String("failed-auth-limit")); err != nil {
		return fmt.Errorf("--failed-auth-limit: %w", err)
	}
	config.HTTP.MaxInFlight, config.HTTP.MaxStreams = command.Int("max-in-flight"), command.Int("max-streams")
	config.KeepChanges = command.Duration("keep-changes")
	config.HTTP.CORSOrigins = command.StringSlice("cors-origin")
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
		return httpapi.Rate{}, fmt.Errorf("must be a rate, as in 100/s, 600/m or 5000/h (at most a million per "+
			"second), or off, got %q", text)
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
	if err != nil || u.Host == "" || u.Scheme+"://"+u.Host != text || strings.ToLower(text) != text ||
		strings.Contains(text, "*") {
		return fmt.Errorf("must be * or an origin without a path, as in https://plants.example.com, with the port "+
			"if it is not the default, got %q", text)
	}
	return nil
}

// oidcFlags are the flags of serve for an identity provider.
func oidcFlags() []cli.Flag {
	return []cli.Flag{
		textFlag("oidc-issuer", "", "accept the JWT access tokens of the identity provider at `URL`, too; needs "+
			"--oidc-audience"),
		textFlag("oidc-audience", "", "refuse tokens of the provider without `AUDIENCE` in their claim aud"),
		textFlag("oidc-scope-claim", "", "take the scopes from the claim `NAME` (default: scope, scp or "+
			"permissions, the first that a token has)"),
		textFlag("oidc-scope-prefix", "", "take the scopes to begin with `PREFIX`, as in plants: for plants:read "+
			"and plants:write"),
		boolFlag("oidc-require-at-jwt", "refuse tokens of the provider whose type is not at+jwt (RFC 9068)"),
		textFlag("oidc-client-id", "", "let people sign in to the page at the provider, as its public client `ID`, "+
			"with the authorization code flow and PKCE"),
		choiceFlag("oidc-name-claim", "sub", "take the name of a person, which stands beside their changes, from the claim "+
			"`sub|email|preferred_username`"),
		durationFlag("oidc-max-lifetime", time.Second, oidc.DefaultMaxLifetime, "refuse tokens of the provider that are valid "+
			"for longer than `TIME`: token revoke does not reach them"),
	}
}

// oidcConfig returns the settings of oidcFlags; the zero Config without a provider.
func oidcConfig(command *cli.Command) (oidc.Config, error) {
	config := oidc.Config{
		Issuer:       command.String("oidc-issuer"),
		Audience:     command.String("oidc-audience"),
		ScopeClaim:   command.String("oidc-scope-claim"),
		ScopePrefix:  command.String("oidc-scope-prefix"),
		NameClaim:    command.String("oidc-name-claim"),
		RequireATJWT: command.Bool("oidc-require-at-jwt"),
		MaxLifetime:  command.Duration("oidc-max-lifetime"),
		ClientID:     command.String("oidc-client-id"),
	}
	if config.Issuer != "" {
		return config, nil
	}
	for _, flag := range oidcFlags() {
		if name := flag.Names()[0]; command.IsSet(name) && name != "oidc-issuer" {
			return oidc.Config{}, fmt.Errorf("--%s needs --oidc-issuer URL", name)
		}
	}
	return oidc.Config{}, nil
}
