package cli

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/server"
)

func serveCommand(sys system) *cli.Command {
	return &cli.Command{
		Name:  "serve",
		Usage: "run the service",
		Description: "Prints its address on stdout once it accepts requests, and logs to stderr. SIGTERM or Ctrl-C\n" +
			"stops it after the requests in flight have finished; a second signal stops it at once.\n\n" +
			"Every request needs a token. Create one with plantstore token create, or set PLANTSTORE_TOKEN to a\n" +
			"token of your own, which has every scope and needs at least 16 characters:\n\n" +
			"   PLANTSTORE_TOKEN=$(openssl rand -hex 32) plantstore serve\n\n" +
			"To try the service, let it print a token; to serve other machines, use TLS:\n\n" +
			"   plantstore serve --print-token\n" +
			"   plantstore serve --addr 0.0.0.0:443 --tls-cert fullchain.pem --tls-key privkey.pem",
		Flags: append([]cli.Flag{
			addrFlag("listen on `HOST:PORT`; port 0 takes any free port"),
			adminFlag("serve /livez, /readyz, /writez, /metrics and /debug/pprof/ on `HOST:PORT`, or off; there is no authentication, so use a private address"),
			storeFlag(anyStore),
			textFlag("base-url", "", "set the `URL` of the service as clients see it, as in https://example.com/store (default: the host of each request)"),
			textFlag("max-body", "1MiB", "refuse request bodies larger than `SIZE`, as in 64KiB or 1MiB; at least 16KiB"),
			textFlag("tls-cert", "", "serve TLS and HTTP/2 with the certificate chain in `FILE` (PEM); a renewed file needs no restart"),
			textFlag("tls-key", "", "read the private key of the certificate from `FILE` (PEM)"),
			boolFlag("read-only", "refuse writes with 503 and store nothing, for instance while the store is copied; reads work as always"),
			boolFlag("print-token", "print a token that is valid for 24 hours or until the service stops, and a curl command that uses it"),
		}, slices.Concat(oidcFlags(), logFlags(), limitFlags())...),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if cmd.Args().Present() {
				return fmt.Errorf("serve takes no argument, got %q", cmd.Args().First())
			}
			maxBody, err := parseSize(cmd.String("max-body"))
			if err != nil {
				return fmt.Errorf("--max-body: %w", err)
			}
			baseURL, err := parseBaseURL(cmd.String("base-url"))
			if err != nil {
				return err
			}
			identityProvider, err := oidcConfig(cmd)
			if err != nil {
				return err
			}
			if name := cmd.String("store"); cmd.Bool("read-only") && missing(name) {
				return fmt.Errorf("--store %s does not exist, and serve --read-only creates no store: check the path", name)
			}
			build := thisBuild(sys)
			config := server.Config{
				Addr:         cmd.String("addr"),
				AdminAddr:    adminAddr(cmd),
				Store:        cmd.String("store"),
				Token:        sys.getenv("PLANTSTORE_TOKEN"),
				OIDC:         identityProvider,
				TLSCert:      cmd.String("tls-cert"),
				TLSKey:       cmd.String("tls-key"),
				PrintToken:   cmd.Bool("print-token"),
				NotifySocket: sys.getenv("NOTIFY_SOCKET"),
				HTTP: httpapi.Options{
					BaseURL:  baseURL,
					ReadOnly: cmd.Bool("read-only"),
					MaxBody:  maxBody,
					LogAll:   cmd.String("log-requests") == logAll,
					LogSlow:  cmd.Duration("log-slow"),
				},
				Build:    server.Build{Version: build.Version, Commit: build.Commit, Go: build.Go},
				Settings: changedSettings(sys, cmd),
			}
			if err := setLimits(&config, cmd); err != nil {
				return err
			}
			return server.Run(ctx, sys.stdout, newLog(sys.stderr), config)
		},
	}
}

// minBody is the smallest --max-body. The longest plant needs 15 KB if each character is
// escaped as two surrogates.
const minBody = 16 << 10

// changedSettings returns the flags of a command that differ from their defaults, as
// attributes of a log line without secrets. It leaves out --addr, --admin-addr and
// --store, which the line has anyway.
func changedSettings(sys system, cmd *cli.Command) (settings []any) {
	for _, f := range cmd.Flags {
		name := f.Names()[0]
		value, unchanged := fmt.Sprint(cmd.Value(name)), f.(cli.DocGenerationFlag).GetValue() // the default
		if cmd.IsSet(name) && value != unchanged && strconv.Quote(value) != unchanged && !slices.Contains([]string{"addr", "admin-addr", "store"}, name) {
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
