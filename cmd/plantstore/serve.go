package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/admin"
	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/store/storemetrics"
	"github.com/plantstore/plantstore/internal/token"
)

// printedTokenLife is how long a token of --print-token is good for.
const printedTokenLife = 24 * time.Hour

func serveCommand(sys system) *cli.Command {
	return &cli.Command{
		Name:  "serve",
		Usage: "answer requests until told to stop",
		Description: "Prints one line with its address on stdout once it accepts requests; its log is on stderr.\n" +
			"SIGTERM or Ctrl-C stops it after the requests in flight; a second one stops it at once.\n\n" +
			"Requests need a token: plantstore token makes them. One with every scope may also be given as\n" +
			"PLANTSTORE_TOKEN, at least 16 characters:\n\n" +
			"   PLANTSTORE_TOKEN=$(openssl rand -hex 32) plantstore serve\n\n" +
			"To try it, with a token for a day; to serve other machines, with TLS and a certificate:\n\n" +
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
				Usage:   "make a token that is good for 24 hours and print it, with a curl line to try",
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
			return serve(ctx, sys, serveConfig{
				addr:       cmd.String("addr"),
				adminAddr:  cmd.String("admin-addr"),
				baseURL:    baseURL,
				store:      cmd.String("store"),
				maxBody:    maxBody,
				tlsCert:    cmd.String("tls-cert"),
				tlsKey:     cmd.String("tls-key"),
				printToken: cmd.Bool("print-token"),
				logAll:     cmd.String("log-requests") == logAll,
				logSlow:    cmd.Duration("log-slow"),
				limits:     limits,
			})
		},
	}
}

type serveConfig struct {
	addr       string
	adminAddr  string
	baseURL    *url.URL // nil: not given
	store      string
	maxBody    int64
	tlsCert    string // both files or none
	tlsKey     string
	printToken bool
	logAll     bool
	logSlow    time.Duration
	limits     limits
}

// serve runs the service until ctx ends, and then until the requests in flight
// are answered.
func serve(ctx context.Context, sys system, config serveConfig) (err error) {
	log := newLog(sys.stderr)

	limitMemory(config)
	cert, err := openCertificate(config.tlsCert, config.tlsKey, log)
	if err != nil {
		return err
	}

	// First up and last down: it says why there is no service yet or no more.
	health, metrics := &admin.Health{}, newMetrics()
	stopAdmin, err := startAdmin(sys.stdout, log, config.adminAddr, admin.New(health, metrics))
	if err != nil {
		return err
	}
	defer stopAdmin()

	store, err := openStore(ctx, config.store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()

	measured := storemetrics.New(store)
	tokens, err := token.NewVerifier(measured, sys.getenv("PLANTSTORE_TOKEN"))
	if err != nil {
		return fmt.Errorf("PLANTSTORE_TOKEN: %w", err)
	}
	defer func() {
		if err := tokens.Close(); err != nil {
			log.Warn("when tokens were last used is not known to the minute", "err", err)
		}
	}()
	handler, err := httpapi.New(httpapi.Options{
		Plants:  measured,
		Tokens:  tokens,
		MaxBody: config.maxBody,
		Metrics: metrics,
		Log:     log,
		LogAll:  config.logAll,
		LogSlow: config.logSlow,
		BaseURL: config.baseURL,

		MaxInFlight: config.limits.inFlight,
		RateLimit:   config.limits.rate,
		FailedAuth:  config.limits.failedAuth,
		CORSOrigins: config.limits.origins,
	})
	if err != nil {
		return err
	}
	metrics.Register(measured.Metrics, store.Metrics, tokens.Metrics)
	if cert != nil {
		metrics.Register(cert.metrics)
	}
	listener, err := listen(ctx, config.addr)
	if err != nil {
		return err
	}
	if sys.getenv("PLANTSTORE_TOKEN") == "" && !config.printToken {
		if err := adviseToken(ctx, log, store, config.store); err != nil {
			return err
		}
	}
	server := newServer(handler, log)
	farewell := prepareFarewell(server)
	served := make(chan error, 1)
	go func() { served <- serveOn(server, listener, cert) }()
	health.Started(store.Ready)
	defer health.Drain() // also where something else than a signal ends it

	err = announce(ctx, sys.stdout, listener.Addr(), cert, store, config.printToken)
	if err == nil {
		err = notify(sys, "READY=1")
	}
	if err != nil {
		return errors.Join(err, server.Close())
	}
	select {
	case err := <-served:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	health.Drain()   // before the listener retires
	farewell.begin() // before anybody is told that it has
	log.Info("stopping", "drain", drainTime.String())
	if err := notify(sys, "STOPPING=1"); err != nil {
		log.Warn("the service manager does not know that this is the end", "err", err)
	}
	return farewell.stop(context.WithoutCancel(ctx), log, listener, served)
}

// leastMemory is a limit of memory under which no usual load comes close.
const leastMemory = 256 << 20

// limitMemory has garbage collected sooner as the memory comes close to what
// the bodies in flight may take: by itself the collector lets the heap double
// first. It leaves alone a GOMEMLIMIT of the environment.
func limitMemory(config serveConfig) {
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(max(leastMemory, int64(config.limits.inFlight)*config.maxBody))
	}
}

// serveOn answers what comes in, with TLS if there is a certificate.
func serveOn(server *http.Server, l net.Listener, cert *certificate) error {
	if cert == nil {
		return server.Serve(l)
	}
	server.TLSConfig = cert.config()
	return server.ServeTLS(l, "", "")
}

// newServer sets every limit that net/http leaves open: a client that sends or
// reads slowly, or not at all, loses its connection.
func newServer(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second, // headers and body
		WriteTimeout:      60 * time.Second, // from the end of the headers
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),

		// The handler answers OPTIONS * like any other request.
		DisableGeneralOptionsHandler: true,
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
