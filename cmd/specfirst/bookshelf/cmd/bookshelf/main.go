// Command bookshelf serves the API of api/openapi.yaml. Environment variables set it up; README.md lists them.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/plantstore/plantstore/cmd/specfirst/bookshelf/internal/httpapi"
	"github.com/plantstore/plantstore/cmd/specfirst/bookshelf/internal/operations"
)

// drainTime is how long requests may run on after a signal.
const drainTime = 20 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	if err := run(ctx, os.Getenv, log); err != nil {
		log.Error("stopped", "err", err)
		os.Exit(1)
	}
}

// run serves until ctx is done, and then lets the requests that run come to their end.
func run(ctx context.Context, getenv func(string) string, log *slog.Logger) (err error) {
	tokens := &httpapi.Tokens{
		Secret:   getenv("BOOKSHELF_TOKEN"),
		KeysURL:  getenv("BOOKSHELF_KEYS_URL"),
		Issuer:   getenv("BOOKSHELF_ISSUER"),
		Audience: getenv("BOOKSHELF_AUDIENCE"),
	}
	if tokens.KeysURL != "" && (tokens.Issuer == "" || tokens.Audience == "") {
		return errors.New("BOOKSHELF_KEYS_URL needs BOOKSHELF_ISSUER and BOOKSHELF_AUDIENCE")
	}
	service, store, err := operations.Open(ctx, cmp.Or(getenv("BOOKSHELF_STORE"), "bookshelf.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	handler, err := httpapi.New(service, httpapi.Options{Tokens: tokens, Statuses: operations.Statuses, Healthy: store.Healthy, Log: log})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", cmp.Or(getenv("BOOKSHELF_ADDR"), "127.0.0.1:8080"))
	if err != nil {
		return fmt.Errorf("BOOKSHELF_ADDR: %w", err)
	}
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second, // of a client that sends slowly, or nothing
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      time.Minute,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	log.Info("listening", "url", "http://"+listener.Addr().String())
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	log.Info("stopping")
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	return server.Shutdown(drain)
}
