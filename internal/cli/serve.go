package cli

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v3"

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
			adminFlag("serve /livez, /readyz, /metrics and /debug/pprof/ on `HOST:PORT`, or off; there is no authentication, so use a private address"),
			storeFlag(anyStore),
			&cli.StringFlag{
				Name:    "base-url",
				Usage:   "set the `URL` of the service as clients see it, as in https://example.com/store (default: the host of each request)",
				Sources: cli.EnvVars("PLANTSTORE_BASE_URL"),
			},
			&cli.StringFlag{
				Name:    "max-body",
				Usage:   "refuse request bodies larger than `SIZE`, as in 64KiB or 1MiB",
				Value:   "1MiB",
				Sources: cli.EnvVars("PLANTSTORE_MAX_BODY"),
			},
			&cli.StringFlag{
				Name:    "tls-cert",
				Usage:   "serve TLS and HTTP/2 with the certificate chain in `FILE` (PEM); a renewed file needs no restart",
				Sources: cli.EnvVars("PLANTSTORE_TLS_CERT"),
			},
			&cli.StringFlag{
				Name:    "tls-key",
				Usage:   "read the private key of the certificate from `FILE` (PEM)",
				Sources: cli.EnvVars("PLANTSTORE_TLS_KEY"),
			},
			&cli.BoolFlag{
				Name:    "read-only",
				Usage:   "refuse writes with 503 and store nothing, for instance while the store is copied; reads work as always",
				Sources: cli.EnvVars("PLANTSTORE_READ_ONLY"),
			},
			&cli.BoolFlag{
				Name:    "print-token",
				Usage:   "print a token that is valid for 24 hours or until the service stops, and a curl command that uses it",
				Sources: cli.EnvVars("PLANTSTORE_PRINT_TOKEN"),
			},
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
				BaseURL:      baseURL,
				TLSCert:      cmd.String("tls-cert"),
				TLSKey:       cmd.String("tls-key"),
				PrintToken:   cmd.Bool("print-token"),
				ReadOnly:     cmd.Bool("read-only"),
				NotifySocket: sys.getenv("NOTIFY_SOCKET"),
				MaxBody:      maxBody,
				LogAll:       cmd.String("log-requests") == logAll,
				LogSlow:      cmd.Duration("log-slow"),
				Build:        server.Build{Version: build.Version, Commit: build.Commit, Go: build.Go},
			}
			if err := setLimits(&config, cmd); err != nil {
				return err
			}
			return server.Run(ctx, sys.stdout, newLog(sys.stderr), config)
		},
	}
}

// parseSize parses a size in bytes: 4096, 64KiB, 1MiB.
func parseSize(text string) (int64, error) {
	size, err := humanize.ParseBytes(text)
	if err != nil || size == 0 || size > math.MaxInt32 {
		return 0, fmt.Errorf("must be a size from 1 byte to 2GiB, as in 4096, 64KiB or 1MiB, got %q", text)
	}
	return int64(size), nil
}
