package transfer

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
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
	// forever is a time that does not end.
	forever time.Duration = math.MaxInt64
)

// Service is a running service. It decides how long the client sends requests
// again, and tells what the command waits for.
type Service struct {
	client     *client.Client
	transport  http.RoundTripper
	url        string
	patience   time.Duration // how long requests may fail
	silence    time.Duration // how long a request may take before it counts as a wait
	grace      time.Duration // how long an attempt may continue after Ctrl-C
	follows    bool          // it waits for changes, so a response may take long
	followOnce sync.Once
	responded  atomic.Bool // at least once

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
	Most   time.Duration // when the requests are given up; forever: never
	Reason error
}

// String says for how long the command waits, and how long it does at most.
func (w *Wait) String() string {
	text := fmt.Sprintf("waiting for the service for %v", time.Since(w.Since).Round(time.Second))
	if w.Most < forever {
		text += fmt.Sprintf(" (at most %v)", w.Most)
	}
	return text
}

// NewService returns the service at address, which gets token. It sends nothing
// yet.
func NewService(address, token string) (*Service, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = uploads
	service := &Service{transport: transport, url: address, patience: patience, silence: silence, grace: stopTime}
	var err error
	service.client, err = client.New(address, client.WithToken(token), client.WithAttempts(math.MaxInt),
		client.WithBackoff(service.backoff), client.WithHTTPClient(&http.Client{Transport: attempts{service}}))
	return service, err
}

// Waiting returns the current wait for the service, or nil.
func (s *Service) Waiting() *Wait {
	if wait := s.waiting.Load(); wait != nil {
		return wait
	}
	heard := time.Unix(0, s.heard.Load())
	if s.pending.Load() > 0 && time.Since(heard) > s.silence {
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
	response := responseIn(err)
	wait := &Wait{Since: time.Now(), Most: s.patience, Reason: s.explain(err)}
	if response.Status == http.StatusTooManyRequests {
		wait.Most = forever
	}
	earlier := cmp.Or(s.waiting.Load(), wait)
	if earlier.Most == wait.Most {
		wait.Since = earlier.Since
	}
	s.waiting.Store(wait)
	if wait.isOver() {
		return -1
	}
	return client.Backoff(ctx, attempt, nil) + min(response.RetryAfter, time.Hour)
}

// responseIn returns the response that an error of the client is for. It is the zero Error if
// there was none.
func responseIn(err error) client.Error {
	if response, ok := errors.AsType[*client.Error](err); ok {
		return *response
	}
	return client.Error{}
}

func (w *Wait) isOver() bool { return time.Since(w.Since) > w.Most }

// end ends the wait with an operation, and explains its error.
func (s *Service) end(err error) error {
	wait := cmp.Or(s.waiting.Swap(nil), &Wait{Most: forever})
	if err != nil && wait.isOver() {
		return UnavailableError{fmt.Errorf("gave up after retrying for %v: %w", s.patience, wait.Reason)}
	}
	return s.explain(err)
}

// explain returns an error of the client with the next step. Other errors, and nil, it
// returns as they are.
func (s *Service) explain(err error) error {
	if response, ok := errors.AsType[*client.Error](err); ok {
		if isLost(err) {
			return fmt.Errorf("the response of %s is cut short", s.url)
		}
		return s.explainResponse(response)
	}
	failure, ok := errors.AsType[*url.Error](err)
	if !ok {
		return err
	}
	if named, ok := errors.AsType[x509.HostnameError](err); ok {
		names := named.Certificate.DNSNames
		for _, address := range named.Certificate.IPAddresses {
			names = append(names, address.String())
		}
		if len(names) == 0 {
			return fmt.Errorf("the certificate of %s is for no name: it needs a subjectAltName", s.url)
		}
		return fmt.Errorf("the certificate of %s is for %s: use that name in --server", s.url, strings.Join(names, " or "))
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

// nextSteps are what to do after a response with an error.
var nextSteps = map[client.Code]string{
	client.ErrBadCredentials:    ": plantstore token list shows whether the token is valid; a token that serve printed ends with its process",
	client.ErrInsufficientScope: ": plantstore token create --name NAME, where the store is, makes one for reads and writes",
	client.ErrPositionGone:      ": begin with an empty copy, without --after or the file of --state",
	client.ErrNoSuchPath:        ": check --server",
	client.ErrMethodNotAllowed:  ": check --server",
}

// explainResponse returns the error of a response.
func (s *Service) explainResponse(response *client.Error) error {
	status := fmt.Sprintf("%s responded with %d %s", s.url, response.Status, http.StatusText(response.Status))
	if response.Code == 0 {
		return fmt.Errorf("%s, which is not a response of a plant store: check --server, which begins with https:// if the service uses TLS", status)
	}
	hint := nextSteps[response.Code]
	if response.Code == client.ErrInvalidParameter && strings.Contains(response.Message, "/after") { // the others are ours
		hint = ": give --after a whole position that changes has printed, or begin an empty copy without it"
	}
	if strings.HasSuffix(strings.TrimSuffix(s.url, "/"), "/plants") && response.Code != client.ErrBadCredentials {
		hint = ": leave /plants out of --server"
	}
	if response.Status >= http.StatusInternalServerError {
		hint = fmt.Sprintf(" (request_id %s in its log)", response.RequestID)
	}
	err := fmt.Errorf("%s: %s%s", status, response.Message, hint)
	switch response.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return TokenError{err}
	case http.StatusGone:
		return PositionError{err}
	}
	return err
}

// isLost reports whether the error ended an established connection.
func isLost(err error) bool {
	causes := []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE}
	return slices.ContainsFunc(causes, func(cause error) bool { return errors.Is(err, cause) })
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

func (a attempts) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), requestTime)
	stop := context.AfterFunc(r.Context(), func() { time.AfterFunc(a.grace, cancel) })
	if a.pending.Add(1) == 1 {
		a.heard.Store(time.Now().UnixNano())
	}
	end := sync.OnceFunc(func() {
		stop()
		cancel()
		a.pending.Add(-1)
	})
	response, err := a.transport.RoundTrip(r.WithContext(ctx))
	if err != nil {
		end()
		return nil, err
	}
	a.responded.Store(true)
	a.heard.Store(time.Now().UnixNano())
	if a.follows && response.StatusCode == http.StatusOK {
		a.waiting.Store(nil) // there may be no change for a long time
	}
	response.Body = attemptBody{response.Body, end}
	return response, nil
}

// attemptBody is the body of a response. Closing it ends the attempt.
type attemptBody struct {
	io.ReadCloser
	end func()
}

func (b attemptBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
