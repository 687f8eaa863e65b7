package transfer

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/plantstore/plantstore/api/client"
)

const (
	// requestTime limits one attempt, including its response.
	requestTime = time.Minute
	// stopTime is how long an attempt may continue after Ctrl-C.
	stopTime = 5 * time.Second
	// patience is how long requests may fail before the command gives up.
	patience = time.Minute
	// silence is how long a request may take before it counts as a wait.
	silence = 3 * time.Second
)

// Service is a running service. It decides how long the client sends requests
// again, and tells what the command waits for.
type Service struct {
	client    *client.Client
	transport http.RoundTripper
	url       string
	patience  time.Duration // 0: it never gives up
	follows   bool          // it waits for changes, so a response may take long
	responded atomic.Bool   // at least once

	waiting atomic.Pointer[Wait] // nil: the last request succeeded
	pending atomic.Int64         // requests
	heard   atomic.Int64         // when the last response came, or the first request was sent; Unix nanoseconds
}

// TokenError means that the service does not accept the token.
type TokenError struct{ error }

// UnavailableError means that the service cannot be reached, or was not
// available for too long.
type UnavailableError struct{ error }

func (e UnavailableError) Unwrap() error { return e.error }

// PositionError means that a position of the changes is not valid any more.
type PositionError struct{ error }

// Wait describes a wait for the service: requests are sent again until it is
// available.
type Wait struct {
	Since  time.Time
	Most   time.Duration // when the requests are given up; 0: never
	Reason error
}

// String says for how long the command waits, and how long it does at most.
func (w *Wait) String() string {
	text := fmt.Sprintf("waiting for the service for %v", time.Since(w.Since).Round(time.Second))
	if w.Most > 0 {
		text += fmt.Sprintf(" (at most %v)", w.Most)
	}
	return text
}

// NewService returns the service at address, which gets token. It sends nothing
// yet.
func NewService(address, token string) (*Service, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = uploads
	s := &Service{transport: transport, url: address, patience: patience}
	var err error
	s.client, err = client.New(address, client.WithToken(token), client.WithAttempts(math.MaxInt),
		client.WithBackoff(s.backoff), client.WithHTTPClient(&http.Client{Transport: attempts{s}}))
	return s, err
}

// Waiting returns the current wait for the service, or nil.
func (s *Service) Waiting() *Wait {
	if wait := s.waiting.Load(); wait != nil {
		return wait
	}
	if heard := time.Unix(0, s.heard.Load()); !s.follows && s.pending.Load() > 0 && time.Since(heard) > silence {
		return &Wait{Since: heard, Reason: fmt.Errorf("%s does not respond", s.url)}
	}
	return nil
}

// backoff returns the pause before a request is sent again. It gives up when no
// request has succeeded for a minute, but never while the service limits the rate.
func (s *Service) backoff(ctx context.Context, attempt int, err error) time.Duration {
	if !s.responded.Load() && !isLost(err) { // more likely a mistake in --server than a temporary failure
		return -1
	}
	wait := &Wait{Since: time.Now(), Most: s.patience, Reason: s.explain(err)}
	e, responded := errors.AsType[*client.Error](err)
	if responded && e.Status == http.StatusTooManyRequests {
		wait.Most = 0
	}
	if earlier := s.waiting.Load(); earlier != nil && earlier.Most == wait.Most {
		wait.Since = earlier.Since
	}
	s.waiting.Store(wait)
	if wait.expired() {
		return -1
	}
	pause := client.Backoff(ctx, attempt, nil)
	if responded {
		pause += min(e.RetryAfter, time.Hour)
	}
	return pause
}

func (w *Wait) expired() bool { return w.Most > 0 && time.Since(w.Since) > w.Most }

// end ends the wait with an operation, and explains its error.
func (s *Service) end(err error) error {
	wait := s.waiting.Swap(nil)
	switch {
	case err == nil:
		return nil
	case wait != nil && wait.expired():
		return UnavailableError{fmt.Errorf("gave up after retrying for %v: %w", s.patience, wait.Reason)}
	}
	return s.explain(err)
}

// explain returns an error of the client with the next step.
func (s *Service) explain(err error) error {
	if e, ok := errors.AsType[*client.Error](err); ok {
		if isLost(err) {
			return fmt.Errorf("the response of %s is cut short", s.url)
		}
		return s.explainResponse(e)
	}
	failure, ok := errors.AsType[*url.Error](err)
	if !ok {
		return err
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok { // or a certificate that the service signed itself
		return fmt.Errorf("the certificate of %s is not trusted: write it, or the certificate of its authority, to a PEM file "+
			"and set SSL_CERT_FILE to the name of that file: %w", s.url, failure)
	}
	if !s.responded.Load() {
		return UnavailableError{fmt.Errorf("cannot reach the service: %w: check --server and that the service is running", failure)}
	}
	return UnavailableError{failure}
}

// explainResponse returns the error of a response.
func (s *Service) explainResponse(e *client.Error) error {
	status := fmt.Sprintf("%s responded with %d %s", s.url, e.Status, http.StatusText(e.Status))
	if e.Code == 0 {
		return fmt.Errorf("%s, which is not a response of a plant store: check --server", status)
	}
	hint := ""
	switch e.Code {
	case client.ErrBadCredentials:
		hint = ": plantstore token list shows whether the token is valid; a token that serve printed ends with its process"
	case client.ErrInvalidParameter:
		if strings.Contains(e.Message, "/after") { // the others are ours
			hint = ": give --after a whole position that changes has printed, or begin an empty copy without it"
		}
	case client.ErrPositionGone:
		hint = ": begin with an empty copy, without --after or the file of --state"
	case client.ErrNoSuchPath, client.ErrMethodNotAllowed:
		hint = ": check --server"
	}
	if e.Status >= http.StatusInternalServerError {
		hint += fmt.Sprintf(" (request_id %s in its log)", e.RequestID)
	}
	err := fmt.Errorf("%s: %s%s", status, e.Message, hint)
	if e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden {
		return TokenError{err}
	}
	if e.Code == client.ErrPositionGone {
		return PositionError{err}
	}
	return err
}

// isLost reports whether the error ended an established connection.
func isLost(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE)
}

// check returns an error unless the service accepts the token for writes. It
// sends an empty batch, which stores nothing: the service checks the token
// before the body.
func (s *Service) check(ctx context.Context) error {
	_, err := s.client.CreateBatch(ctx, nil)
	if errors.Is(err, client.ErrInvalidBody) {
		err = nil
	}
	return s.end(err)
}

// attempts is the transport of a client. It limits the time of an attempt. When the
// context of a request ends, as with Ctrl-C, an attempt under way may finish.
type attempts struct{ *Service }

func (s attempts) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), requestTime)
	stop := context.AfterFunc(r.Context(), func() {
		if s.follows { // the request changes nothing
			cancel()
		} else {
			time.AfterFunc(stopTime, cancel)
		}
	})
	if s.pending.Add(1) == 1 {
		s.heard.Store(time.Now().UnixNano())
	}
	end := sync.OnceFunc(func() {
		stop()
		cancel()
		s.pending.Add(-1)
	})
	resp, err := s.transport.RoundTrip(r.WithContext(ctx))
	if err != nil {
		end()
		return nil, err
	}
	s.responded.Store(true)
	s.heard.Store(time.Now().UnixNano())
	if s.follows && resp.StatusCode == http.StatusOK {
		s.waiting.Store(nil) // there may be no change for a long time
	}
	resp.Body = body{resp.Body, end}
	return resp, nil
}

// body is the body of a response. Closing it ends the attempt.
type body struct {
	io.ReadCloser
	end func()
}

func (b body) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
