package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/urfave/cli/v3"
)

const (
	// noAdmin is the --admin-addr of a service without an admin listener.
	noAdmin = "off"

	// adminStopTime is how long a scrape under way may take once the service
	// ends. A profile that takes longer is cut off.
	adminStopTime = time.Second
)

// adminFlag is --admin-addr, for every command that has to do with the admin
// listener.
func adminFlag(usage string) cli.Flag {
	return &cli.StringFlag{
		Name:    "admin-addr",
		Usage:   usage,
		Value:   noAdmin,
		Sources: cli.EnvVars("PLANTSTORE_ADMIN_ADDR"),
	}
}

// startAdmin serves the admin listener, if there is to be one, until stop is
// called.
func startAdmin(stdout io.Writer, log *slog.Logger, addr string, handler http.Handler) (stop func(), err error) {
	if addr == noAdmin || addr == "" {
		return func() {}, nil
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, explainListen("--admin-addr", addr, err)
	}
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute, // and none for writing: a profile takes as long as it was asked to
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	go func() {
		if err := server.Serve(listener); err != http.ErrServerClosed {
			log.Error("the admin listener has ended", "err", err)
		}
	}()
	fmt.Fprintf(stdout, "plantstore admin listens on http://%s\n", listener.Addr())
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), adminStopTime)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			_ = server.Close()
		}
	}, nil
}
