// Package server runs the service: it listens, opens the store, serves requests
// until it is told to stop, and then stops without losing a request.
//
// [Run] is the wiring: it checks the settings, opens what the service needs, and
// serves. The other files hold one part each: the public listener, the TLS
// certificate, the graceful shutdown, what people and the service manager are told,
// what runs in the background, and the admin listener with health, metrics and
// profiles.
package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plantstore/plantstore/internal/feed"
	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/oidc"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/store/open"
	"github.com/plantstore/plantstore/internal/token"
)

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

	// HTTP has the settings of the handler. Run sets Plants, Changes, Tokens, SignIn, Metrics
	// and Log. ReadOnly also means not to store when tokens were last used.
	HTTP httpapi.Options

	TLSCert, TLSKey string        // files in PEM; both, or neither for plain HTTP
	PrintToken      bool          // print a token that is valid for 24 hours or until the service stops
	NotifySocket    string        // of the service manager; empty: none
	KeepChanges     time.Duration // how long changes are kept for clients that follow
	KeepHistory     time.Duration // how long the history of the plants is kept; 0: there is none
	Build           Build         // of the program, for the metrics and the log
	Settings        []any         // that differ from their defaults, for the log: [slog.Attr] without secrets
}

// Build identifies the program.
type Build struct {
	Version string `json:"version"` // devel if this is not a release
	Commit  string `json:"commit"`  // unknown if it was not built in a clone; ends with + if files were changed
	Go      string `json:"go"`
	SQLite  string `json:"sqlite"`
}

// Run runs the service until ctx ends, and then until the requests in flight
// have finished. It prints the addresses, and the token of PrintToken, to
// stdout.
func Run(ctx context.Context, stdout io.Writer, log *slog.Logger, config Config) error {
	limitMemory(config)
	service := &service{config: config, stdout: stdout, log: log}
	// Every setting is checked before the store is created or its schema
	// changes, and mistakes in settings come before a port that is taken.
	if err := service.check(); err != nil {
		return err
	}
	if err := service.open(ctx); err != nil {
		return errors.Join(err, service.close())
	}
	stopping, err := service.serve(ctx)
	err = errors.Join(err, service.close())
	service.logEnd(ctx, stopping, err)
	return err
}

// printedTokenLife is the lifetime of a token of --print-token.
const printedTokenLife = 24 * time.Hour

// service is what [Run] runs.
type service struct {
	config Config
	stdout io.Writer
	log    *slog.Logger

	// Set by check.
	cert   *certificate // nil: plain HTTP
	issuer *oidc.Issuer // nil: there is no identity provider

	// Set by open.
	listener listener
	health   *health
	metrics  *prometheus.Registry
	store    store.Store
	tokens   *token.Verifier
	changes  *feed.Feed
	server   *http.Server
	shutdown *gracefulShutdown
	printed  string         // the token of PrintToken
	closers  []func() error // of what is open, in the order of opening
}

// check checks the settings.
func (s *service) check() (err error) {
	if s.cert, err = openCertificate(s.config.TLSCert, s.config.TLSKey, s.log); err != nil {
		return err
	}
	if err := token.CheckStatic(s.config.Token); err != nil {
		return fmt.Errorf("PLANTSTORE_TOKEN: %w", err)
	}
	if s.config.OIDC.Issuer != "" {
		s.config.OIDC.Log = s.log
		if s.issuer, err = oidc.New(s.config.OIDC); err != nil {
			return err
		}
	}
	return open.Check(s.config.Store)
}

// open opens all that the service needs to serve requests. After an error, close closes
// what is open.
func (s *service) open(ctx context.Context) (err error) {
	// Connections wait in the queue of the listener until the server accepts them.
	if s.listener, err = listen(ctx, s.config.Addr); err != nil {
		return err
	}
	s.atClose(func() { s.listener.Close() }) // if an error keeps the server from starting

	// The admin listener starts first and stops last, so that readiness can say
	// that the service is starting or stopping.
	s.health, s.metrics = &health{}, newMetrics(s.config.Build)
	stopAdmin, err := startAdmin(s.stdout, s.log, s.config.AdminAddr, newAdmin(s.health, s.metrics))
	if err != nil {
		return err
	}
	s.atClose(stopAdmin)

	if err := s.openStore(ctx); err != nil {
		return err
	}
	if err := s.openTokens(); err != nil {
		return err
	}
	s.changes = feed.New(s.store)
	s.atClose(s.changes.Stop) // also if serving fails: it uses the store
	handler, err := httpapi.New(s.options(ctx))
	if err != nil {
		return err
	}
	if s.cert != nil {
		s.metrics.MustRegister(s.cert.metrics())
	}
	s.server = newServer(handler, s.log)
	s.shutdown = newGracefulShutdown(s.server)
	return s.adviseTokens(ctx)
}

// openStore opens the store, and prepares it for writes unless the service is read-only.
func (s *service) openStore(ctx context.Context) (err error) {
	openStore := open.Open
	if s.config.HTTP.ReadOnly {
		openStore = open.ReadOnly
	}
	if s.store, err = openStore(ctx, s.config.Store); err != nil {
		return err
	}
	s.closers = append(s.closers, s.store.Close)
	s.store.Watch(s.log)
	s.metrics.MustRegister(s.store.Metrics()...)
	first := plant.Page{Limit: 1, ByName: &plant.ByName{}}
	if _, _, err := s.store.List(ctx, first); errors.Is(err, plant.ErrOtherUnicode) {
		s.log.Warn("lists by name get 503", "err", err)
	}
	if s.config.HTTP.ReadOnly {
		return nil
	}
	if err := s.store.BeginEpoch(ctx); err != nil { // before the first write
		return err
	}
	// On PostgreSQL this writes, too.
	if _, _, err := s.store.Changes(ctx, nil, 1); errors.Is(err, plant.ErrNoChanges) {
		s.log.Warn("requests for changes get 503", "err", err)
	}
	s.atClose(keep(ctx, s.log, "changes", s.config.KeepChanges, s.store.ForgetChanges))
	if s.config.KeepHistory == 0 {
		s.store.StopHistory()
	}
	if s.config.KeepHistory != Forever {
		s.atClose(keep(ctx, s.log, "entries of the history", s.config.KeepHistory, s.store.ForgetHistory))
	}
	s.metrics.MustRegister(writeMetrics(s.health))
	return nil
}

// openTokens creates the verifier of tokens.
func (s *service) openTokens() error {
	s.tokens = token.NewVerifier(s.store, s.config.Token)
	s.atClose(func() {
		if err := s.tokens.Close(); err != nil {
			s.log.Warn("cannot store when tokens were last used", "err", err)
		}
	})
	s.metrics.MustRegister(s.tokens.Metrics()...)
	if s.issuer != nil {
		s.tokens.Accept(s.issuer)
	}
	if s.config.HTTP.ReadOnly {
		// A copy of the store fails if a last use is stored meanwhile.
		if err := s.tokens.Close(); err != nil {
			return err
		}
		s.log.Info("read-only: writes get 503")
	}
	if s.config.PrintToken {
		s.printed = s.tokens.Temporary("serve", printedTokenLife)
	}
	return nil
}

// options returns the settings of the handler.
func (s *service) options(ctx context.Context) httpapi.Options {
	options := s.config.HTTP
	options.Plants, options.Changes, options.Tokens = s.store, s.changes, s.tokens
	options.Metrics, options.Log = s.metrics, s.log
	if s.config.OIDC.ClientID != "" && options.Page {
		var stop func()
		options.SignIn, stop = findSignIn(ctx, s.config.OIDC)
		s.atClose(stop)
	}
	return options
}

// serve serves requests until ctx ends, and then until the requests in flight have finished.
// It returns when it began to stop.
func (s *service) serve(ctx context.Context) (stopping time.Time, err error) {
	served := make(chan error, 1)
	go func() { served <- s.serveListener() }()
	s.health.start(checks{reads: s.store.Ready, writes: s.writable})
	defer s.health.drain() // also if serving fails

	announce(s.stdout, s.listener.Addr(), s.cert, s.printed, s.config.HTTP)
	s.log.Info("started", "version", s.config.Build.Version, "commit", s.config.Build.Commit,
		"addr", s.listener.Addr().String(), "admin_addr", s.config.AdminAddr,
		"store", open.Redacted(s.config.Store), slog.Group("settings", s.config.Settings...))
	if err := notify(s.config.NotifySocket, "READY=1"); err != nil {
		return time.Now(), errors.Join(err, s.server.Close())
	}
	select {
	case err := <-served:
		return time.Now(), fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	stopping = time.Now()
	s.health.drain()   // before the listener retires
	s.shutdown.begin() // before the log and the service manager announce it
	s.changes.Stop()   // clients that wait for changes get a response
	s.log.Info("stopping; a second signal stops at once", "drain", drainTime.String())
	if err := notify(s.config.NotifySocket, "STOPPING=1"); err != nil {
		s.log.Warn("cannot notify the service manager", "err", err)
	}
	return stopping, s.shutdown.stop(context.WithoutCancel(ctx), s.log, s.listener, served)
}

// serveListener serves the public listener, with TLS (1.2 or later, the default of Go) if
// there is a certificate.
func (s *service) serveListener() error {
	if s.cert == nil {
		return s.server.Serve(s.listener)
	}
	s.server.TLSConfig = &tls.Config{GetCertificate: s.cert.get}
	return s.server.ServeTLS(s.listener, "", "")
}

// writable returns nil if writes work, and otherwise the reason why they do not.
func (s *service) writable(ctx context.Context) error {
	if s.config.HTTP.ReadOnly {
		return errors.New("the service is read-only")
	}
	return s.store.Writable(ctx)
}

// atClose makes close call a function before those that it got earlier.
func (s *service) atClose(stop func()) {
	s.closers = append(s.closers, func() error {
		stop()
		return nil
	})
}

// close closes what is open, in the reverse order of opening.
func (s *service) close() (err error) {
	for _, closeOne := range slices.Backward(s.closers) {
		err = errors.Join(err, closeOne())
	}
	return err
}

// logEnd logs how the service has ended. The error is that of Run.
func (s *service) logEnd(ctx context.Context, stopping time.Time, err error) {
	took := slog.Float64("seconds", time.Since(stopping).Seconds())
	if err != nil {
		s.log.Error("stopped", "err", token.Redact(open.RedactPasswords(err.Error()), s.config.Token), took)
		return
	}
	s.log.Info("stopped", "cause", context.Cause(ctx).Error(), took, "requests_while_stopping", s.shutdown.done.Load())
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
