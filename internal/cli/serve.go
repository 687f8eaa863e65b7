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
		Usage: "answer requests until told to stop",
		Description: "Prints one line with its address on stdout once it accepts requests; its log is on stderr.\n" +
			"SIGTERM or Ctrl-C stops it after the requests in flight; a second one stops it at once.\n\n" +
			"Requests need a token: plantstore token makes them. One with every scope may also be given as\n" +
			"PLANTSTORE_TOKEN, at least 16 characters:\n\n" +
			"   PLANTSTORE_TOKEN=$(openssl rand -hex 32) plantstore serve\n\n" +
			"To try it, with a token that it prints; to serve other machines, with TLS and a certificate:\n\n" +
			"   plantstore serve --print-token\n" +
			"   plantstore serve --addr 0.0.0.0:443 --tls-cert fullchain.pem --tls-key privkey.pem",
		Flags: append([]cli.Flag{
			addrFlag("listen on `HOST:PORT`; port 0 is any free one"),
			adminFlag("answer /livez, /readyz, /metrics and /debug/pprof/ on `HOST:PORT`, or off; they need no token, so let no stranger reach it"),
			storeFlag(keepIn),
			&cli.StringFlag{
				Name:    "base-url",
				Usage:   "callers reach the service at `URL`, as in https://example.com/store (default: the host of each request)",
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
				Usage:   "speak TLS and HTTP/2 with the certificate, and its chain, in `FILE`; a renewed one is picked up",
				Sources: cli.EnvVars("PLANTSTORE_TLS_CERT"),
			},
			&cli.StringFlag{
				Name:    "tls-key",
				Usage:   "use the key of that certificate in `FILE`",
				Sources: cli.EnvVars("PLANTSTORE_TLS_KEY"),
			},
			&cli.BoolFlag{
				Name:    "print-token",
				Usage:   "print a token that ends with the service, after 24 hours at most, and a curl line to try",
				Sources: cli.EnvVars("PLANTSTORE_PRINT_TOKEN"),
			},
		}, slices.Concat(logFlags(), limitFlags())...),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if cmd.Args().Present() {
				return fmt.Errorf("serve takes no argument, got %q", cmd.Args().First())
			}
			maxBody, err := parseSize(cmd.String("max-body"))
			if err != nil {
				return fmt.Errorf("--max-body: %w", err)
			}
			limits, err := limitsOf(cmd)
			if err != nil {
				return err
			}
			baseURL, err := parseBaseURL(cmd.String("base-url"))
			if err != nil {
				return err
			}
			build := thisBuild(sys)
			return server.Run(ctx, sys.stdout, newLog(sys.stderr), server.Config{
				Addr:            cmd.String("addr"),
				AdminAddr:       adminAddr(cmd),
				Store:           cmd.String("store"),
				Token:           sys.getenv("PLANTSTORE_TOKEN"),
				BaseURL:         baseURL,
				TLSCert:         cmd.String("tls-cert"),
				TLSKey:          cmd.String("tls-key"),
				PrintToken:      cmd.Bool("print-token"),
				NotifySocket:    sys.getenv("NOTIFY_SOCKET"),
				MaxBody:         maxBody,
				MaxInFlight:     limits.inFlight,
				RateLimit:       limits.rate,
				FailedAuthLimit: limits.failedAuth,
				CORSOrigins:     limits.origins,
				LogAll:          cmd.String("log-requests") == logAll,
				LogSlow:         cmd.Duration("log-slow"),
				Build:           server.Build{Version: build.Version, Commit: build.Commit, Go: build.Go},
			})
		},
	}
}

// parseSize reads a size in bytes: 4096, 64KiB, 1MiB.
func parseSize(text string) (int64, error) {
	size, err := humanize.ParseBytes(text)
	if err != nil || size == 0 || size > math.MaxInt32 {
		return 0, fmt.Errorf("%q is not a size up to 2GiB: write 64KiB, 1MiB or a number of bytes", text)
	}
	return int64(size), nil
}
