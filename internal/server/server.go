// Package server runs the service: it listens, opens the store, serves requests
// until it is told to stop, and then stops without losing a request.
//
// [Run] is the wiring, read from top to bottom. The other files hold one part
// each: the public listener, the TLS certificate, the graceful shutdown, what people
// and the service manager are told, what runs in the background, and the admin
// listener with health, metrics and profiles.
package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"time"

	"github.com/plantstore/plantstore/internal/feed"
	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/oidc"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store/open"
	"github.com/plantstore/plantstore/internal/token"
)

// printedTokenLife is the lifetime of a token of --print-token.
const printedTokenLife = 24 * time.Hour

// Config has the settings of a service. Every field is required unless its
// comment says otherwise.
type Config struct {
	Addr      string // HOST:PORT of the public listener; port 0: any free port
	AdminAddr string // HOST:PORT of the admin listener; empty: none
	Store     string // as [open.Open] takes it
	Token     string // a token with every scope, beside those of the store; empty: none

	// OIDC is the identity provider whose tokens are accepted beside those of the
	// store. Without an Issuer there is none. Run sets its Log.
	OIDC oidc.Config

	// HTTP has the settings of the handler. Run sets Plants, Changes, Tokens, Metrics
	// and Log. ReadOnly also means not to store when tokens were last used.
	HTTP httpapi.Options

	TLSCert, TLSKey string        // files in PEM; both, or neither for plain HTTP
	PrintToken      bool          // print a token that is valid for 24 hours or until the service stops
	NotifySocket    string        // of the service manager; empty: none
	KeepChanges     time.Duration // how long changes are kept for clients that follow
	Build           Build         // of the program, for the metrics and the log
	Settings        []any         // that differ from their defaults, for the log: [slog.Attr] without secrets
}

// Build identifies the program.
type Build struct{ Version, Commit, Go string }

// Run runs the service until ctx ends, and then until the requests in flight
// have finished. It prints the addresses, and the token of PrintToken, to
// stdout.
func Run(ctx context.Context, stdout io.Writer, log *slog.Logger, config Config) (err error) {
	logEnd := func() {}
	defer func() { logEnd() }() // after everything else
	limitMemory(config)
	cert, err := openCertificate(config.TLSCert, config.TLSKey, log)
	if err != nil {
		return err
	}
	if err := token.CheckStatic(config.Token); err != nil {
		return fmt.Errorf("PLANTSTORE_TOKEN: %w", err)
	}
	var issuer *oidc.Issuer // nil: there is no identity provider
	if config.OIDC.Issuer != "" {
		config.OIDC.Log = log
		if issuer, err = oidc.New(config.OIDC); err != nil {
			return err
		}
	}
	if err := open.Check(config.Store); err != nil {
		return err
	}
	// Every setting is checked before the store is created or its schema
	// changes, and mistakes in settings come before a port that is taken.
	// Connections wait in the queue of the listener until the server accepts
	// them.
	listener, err := listen(ctx, config.Addr)
	if err != nil {
		return err
	}
	defer listener.Close() // if an error keeps the server from starting

	// The admin listener starts first and stops last, so that readiness can say
	// that the service is starting or stopping.
	health, metrics := &health{}, newMetrics(config.Build)
	stopAdmin, err := startAdmin(stdout, log, config.AdminAddr, newAdmin(health, metrics))
	if err != nil {
		return err
	}
	defer stopAdmin()

	openStore := open.Open
	if config.HTTP.ReadOnly {
		openStore = open.ReadOnly
	}
	store, err := openStore(ctx, config.Store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	store.Watch(log)
	first := plant.Page{Limit: 1, ByName: &plant.ByName{}}
	if _, _, err := store.List(ctx, first); errors.Is(err, plant.ErrOtherUnicode) {
		log.Warn("lists by name get 503", "err", err)
	}
	writes := func(context.Context) error { return errors.New("the service is read-only") }
	if !config.HTTP.ReadOnly {
		if err := store.BeginEpoch(ctx); err != nil { // before the first write
			return err
		}
		_, _, err := store.Changes(ctx, nil, 1) // on PostgreSQL this writes, too
		if errors.Is(err, plant.ErrNoChanges) {
			log.Warn("requests for changes get 503", "err", err)
		}
		defer keepChanges(ctx, log, store, config.KeepChanges)()
		metrics.MustRegister(writeMetrics(health))
		writes = store.Writable
	}

	tokens := token.NewVerifier(store, config.Token)
	defer func() {
		if err := tokens.Close(); err != nil {
			log.Warn("cannot store when tokens were last used", "err", err)
		}
	}()
	if issuer != nil {
		tokens.Accept(issuer)
	}
	if config.HTTP.ReadOnly {
		// A copy of the store fails if a last use is stored meanwhile.
		if err := tokens.Close(); err != nil {
			return err
		}
		log.Info("read-only: writes get 503")
	}
	changes := feed.New(store)
	defer changes.Stop() // also if serving fails: it uses the store
	options := config.HTTP
	options.Plants, options.Changes, options.Tokens = store, changes, tokens
	options.Metrics, options.Log = metrics, log
	if config.OIDC.ClientID != "" && config.HTTP.Page {
		var stop func()
		options.SignIn, stop = findSignIn(ctx, config.OIDC)
		defer stop()
	}
	handler, err := httpapi.New(options)
	if err != nil {
		return err
	}
	metrics.MustRegister(store.Metrics()...)
	metrics.MustRegister(tokens.Metrics()...)
	if cert != nil {
		metrics.MustRegister(cert.metrics())
	}
	printed := ""
	if config.PrintToken {
		printed = tokens.Temporary("serve", printedTokenLife)
	}
	if token.IsIssued(config.Token) {
		log.Warn("PLANTSTORE_TOKEN has a token of a store: here it has every scope and cannot be revoked; " +
			"unset it, or choose another text")
	}
	if config.Token == "" && printed == "" && issuer == nil {
		if err := adviseToken(ctx, log, store, config.Store); err != nil {
			return err
		}
	}
	server := newServer(handler, log)
	shutdown := newGracefulShutdown(server)
	served := make(chan error, 1)
	go func() { served <- serveOn(server, listener, cert) }()
	health.start(checks{store.Ready, writes})
	defer health.drain() // also if serving fails

	announce(stdout, listener.Addr(), cert, printed, config.HTTP)
	log.Info("started", "version", config.Build.Version, "commit", config.Build.Commit,
		"addr", listener.Addr().String(), "admin_addr", config.AdminAddr,
		"store", open.Redacted(config.Store), slog.Group("settings", config.Settings...))
	stopping := time.Now()
	logEnd = func() {
		took := slog.Float64("seconds", time.Since(stopping).Seconds())
		if err != nil {
			log.Error("stopped", "err", token.Redact(open.RedactPasswords(err.Error()), config.Token), took)
			return
		}
		log.Info("stopped", "cause", context.Cause(ctx).Error(), took, "requests_while_stopping", shutdown.done.Load())
	}
	if err := notify(config.NotifySocket, "READY=1"); err != nil {
		return errors.Join(err, server.Close())
	}
	select {
	case err := <-served:
		stopping = time.Now()
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	stopping = time.Now()
	health.drain()   // before the listener retires
	shutdown.begin() // before the log and the service manager announce it
	changes.Stop()   // clients that wait for changes get a response
	log.Info("stopping; a second signal stops at once", "drain", drainTime.String())
	if err := notify(config.NotifySocket, "STOPPING=1"); err != nil {
		log.Warn("cannot notify the service manager", "err", err)
	}
	return shutdown.stop(context.WithoutCancel(ctx), log, listener, served)
}

// gcPercent is the growth of the heap after which garbage is collected. Compared
// with the default of 100 it saves 5 % of the CPU of a durable create and a
// quarter of that of a page of 100 plants.
const gcPercent = 400

// The memory of the service: what bodies, responses and streams take at most with the default
// of --max-body, or so many times a larger one.
const (
	leastMemory = 384 << 20
	bodyMemory  = 64
)

// limitMemory sets when garbage is collected. Near the memory limit the heap grows less than
// gcPercent. A GOGC or GOMEMLIMIT in the environment has precedence.
func limitMemory(config Config) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		limit := max(leastMemory, bodyMemory*config.HTTP.MaxBody)
		debug.SetMemoryLimit(limit / 4 * 3) // the Go runtime does not count the memory of SQLite
	}
}

// serveOn serves a listener, with TLS (1.2 or later, the default of Go) if there is a
// certificate.
func serveOn(server *http.Server, l net.Listener, cert *certificate) error {
	if cert == nil {
		return server.Serve(l)
	}
	server.TLSConfig = &tls.Config{GetCertificate: cert.get}
	return server.ServeTLS(l, "", "")
}

// maxHTTP2Streams is how many requests of one HTTP/2 connection are handled at the
// same time. Each takes some 25 KiB and a share of the processors, and
// --max-in-flight does not count it before its token is verified. With the
// default of net/http, 250, a hundred connections delay every other request by
// seconds.
const maxHTTP2Streams = 16

// newServer sets every limit that net/http leaves open: a client that sends or
// reads slowly, or not at all, loses its connection.
func newServer(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second, // headers and body
		WriteTimeout:      60 * time.Second, // from the end of the headers
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    httpapi.MaxHeaderBytes,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxHTTP2Streams},
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),

		// The handler answers OPTIONS * like any other request.
		DisableGeneralOptionsHandler: true,
	}
}
