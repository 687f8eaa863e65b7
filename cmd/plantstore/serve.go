package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/mattn/go-isatty"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/token"
)

const (
	// drainTime is how long requests in flight may take once the service has
	// been told to stop. It is longer than any write may take.
	drainTime = 25 * time.Second

	// printedTokenLife is how long a token of --print-token is good for.
	printedTokenLife = 24 * time.Hour
)

func serveCommand(sys system) *cli.Command {
	return &cli.Command{
		Name:  "serve",
		Usage: "answer requests until told to stop",
		Description: "Prints one line with its address on stdout once it accepts requests; its log is on stderr.\n" +
			"SIGTERM or Ctrl-C stops it after the requests in flight; a second one stops it at once.\n\n" +
			"Requests need a token: plantstore token makes them. One with every scope may also be given as\n" +
			"PLANTSTORE_TOKEN, at least 16 characters:\n\n" +
			"   PLANTSTORE_TOKEN=$(openssl rand -hex 32) plantstore serve",
		Flags: []cli.Flag{
			&cli.StringFlag{
				Name:    "addr",
				Usage:   "listen on `HOST:PORT`; port 0 is any free one",
				Value:   "127.0.0.1:8080",
				Sources: cli.EnvVars("PLANTSTORE_ADDR"),
			},
			storeFlag(keepIn),
			&cli.StringFlag{
				Name:    "max-body",
				Usage:   "refuse request bodies larger than `SIZE`, as in 64KiB or 1MiB",
				Value:   "1MiB",
				Sources: cli.EnvVars("PLANTSTORE_MAX_BODY"),
			},
			&cli.BoolFlag{
				Name:    "print-token",
				Usage:   "make a token that is good for 24 hours and print it, with a curl line to try",
				Sources: cli.EnvVars("PLANTSTORE_PRINT_TOKEN"),
			},
		},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if cmd.Args().Present() {
				return fmt.Errorf("serve takes no argument, got %q", cmd.Args().First())
			}
			maxBody, err := parseSize(cmd.String("max-body"))
			if err != nil {
				return fmt.Errorf("--max-body: %w", err)
			}
			return serve(ctx, sys, serveConfig{
				addr:       cmd.String("addr"),
				store:      cmd.String("store"),
				maxBody:    maxBody,
				printToken: cmd.Bool("print-token"),
			})
		},
	}
}

type serveConfig struct {
	addr       string
	store      string
	maxBody    int64
	printToken bool
}

// serve runs the service until ctx ends, and then until the requests in flight
// are answered.
func serve(ctx context.Context, sys system, config serveConfig) (err error) {
	log := newLog(sys.stderr)

	store, err := openStore(ctx, config.store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()

	tokens, err := token.NewVerifier(store, sys.getenv("PLANTSTORE_TOKEN"))
	if err != nil {
		return fmt.Errorf("PLANTSTORE_TOKEN: %w", err)
	}
	defer func() {
		if err := tokens.Close(); err != nil {
			log.Warn("when tokens were last used is not known to the minute", "err", err)
		}
	}()
	if sys.getenv("PLANTSTORE_TOKEN") == "" && !config.printToken {
		if err := adviseToken(ctx, log, store, config.store); err != nil {
			return err
		}
	}
	handler, err := httpapi.New(httpapi.Options{
		Plants:  store,
		Tokens:  tokens,
		MaxBody: config.maxBody,
		Metrics: prometheus.NewRegistry(),
		Log:     log,
	})
	if err != nil {
		return err
	}
	listener, err := listen(config.addr)
	if err != nil {
		return err
	}
	server := newServer(handler, log)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()

	if err := announce(ctx, sys.stdout, listener.Addr(), store, config.printToken); err != nil {
		return errors.Join(err, server.Close())
	}
	select {
	case err := <-served:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	log.Info("stopping", "drain", drainTime.String())
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("requests in flight after %v were cut off: %w", drainTime, err), server.Close())
	}
	return nil
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

// listen opens the listener, or says what to do about it.
func listen(addr string) (net.Listener, error) {
	listener, err := net.Listen("tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s is in use: stop the program that listens there, or give another --addr", addr)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("not allowed to listen on %s: give an --addr with a port above 1023", addr)
	case err != nil:
		return nil, fmt.Errorf("--addr %s: %w", addr, err)
	}
	return listener, nil
}

// announce prints where the service listens and, if asked to, a new token with
// a line that creates a plant.
func announce(ctx context.Context, stdout io.Writer, addr net.Addr, tokens token.Store, printToken bool) error {
	url := "http://" + addr.String()
	fmt.Fprintln(stdout, "plantstore listens on", url)
	if !printToken {
		return nil
	}
	t, text := token.New("serve", []token.Scope{token.Read, token.Write}, printedTokenLife)
	if err := tokens.CreateToken(ctx, t); err != nil {
		return err
	}
	fmt.Fprintf(stdout, `
token, good for 24 hours: %s

Create a plant:

curl -i %s/plants -H 'Authorization: Bearer %s' -H 'Content-Type: application/json' -d '{"id":1,"name":"Ficus lyrata","tag":"Moraceae"}'

`, text, url, text)
	return nil
}

// newLog logs text for people on a terminal and JSON lines for programs.
func newLog(w io.Writer) *slog.Logger {
	if f, ok := w.(*os.File); ok && isatty.IsTerminal(f.Fd()) {
		return slog.New(slog.NewTextHandler(w, nil))
	}
	return slog.New(slog.NewJSONHandler(w, nil))
}

// parseSize reads a size in bytes: 4096, 64KiB, 1MiB.
func parseSize(text string) (int64, error) {
	size, err := humanize.ParseBytes(text)
	if err != nil || size == 0 || size > math.MaxInt32 {
		return 0, fmt.Errorf("%q is not a size up to 2GiB: write 64KiB, 1MiB or a number of bytes", text)
	}
	return int64(size), nil
}
