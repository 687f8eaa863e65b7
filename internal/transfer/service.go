package transfer

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantclient"
)

const (
	// requestTime limits one attempt, including its response.
	requestTime = time.Minute
	// stopTime is how long an attempt may continue after Ctrl-C.
	stopTime = 5 * time.Second
	// patience is how long a request is retried before the command gives up.
	patience = time.Minute
	// maxResponse limits the body of a response. A page holds 4 MiB of names
	// and tags plus one plant; escaping can make them six times as long.
	maxResponse = 64 << 20
)

// Service is a client of a running service. It retries requests where that is
// safe and may help.
type Service struct {
	client    *plantclient.ClientWithResponses
	url       string
	patience  time.Duration
	responded atomic.Bool // at least once

	waiting atomic.Pointer[Wait] // nil: the last request succeeded
	pending atomic.Int64         // requests
	heard   atomic.Int64         // when the last response came, or the first request was sent; Unix nanoseconds
}

// TokenError means that the service does not accept the token.
type TokenError struct{ error }

func (e TokenError) Unwrap() error { return e.error }

// UnavailableError means that the service cannot be reached, or was not
// available for too long.
type UnavailableError struct{ error }

func (e UnavailableError) Unwrap() error { return e.error }

// Wait describes a wait for the service: requests are retried until it is
// available.
type Wait struct {
	Since  time.Time
	Most   time.Duration // when the requests are given up; 0: never
	Reason error
}

// silence is how long a request may take before it counts as a wait.
const silence = 3 * time.Second

// Waiting returns the current wait for the service, or nil.
func (s *Service) Waiting() *Wait {
	if wait := s.waiting.Load(); wait != nil {
		return wait
	}
	if heard := time.Unix(0, s.heard.Load()); s.pending.Load() > 0 && time.Since(heard) > silence {
		return &Wait{Since: heard, Reason: fmt.Errorf("%s does not respond", s.url)}
	}
	return nil
}

// waits records that a request is retried.
func (s *Service) waits(wait Wait) {
	if earlier := s.waiting.Load(); earlier != nil {
		wait.Since = earlier.Since
	}
	s.waiting.Store(&wait)
}

// NewService returns a client of the service at address that sends token. It
// sends nothing yet.
func NewService(address, token string) (*Service, error) {
	client := &http.Client{
		// Redirects are not followed: one could send plants or the token to
		// another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	c, err := plantclient.NewClientWithResponses(address, plantclient.WithHTTPClient(client),
		plantclient.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+token)
			return nil
		}))
	return &Service{client: c, url: address, patience: patience}, err
}

// try sends a request, and retries it until a retry would not change the
// response. It returns that response with its body read. The request must be
// safe to repeat. When ctx ends, an attempt under way may finish, but no other
// begins. Lost reports whether an earlier attempt may have been carried out.
func (s *Service) try(ctx context.Context, send func(context.Context) (*http.Response, error)) (resp *http.Response, lost bool, err error) {
	var failing time.Time // since when
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		resp, err = s.once(ctx, send)
		switch {
		case err == nil && !mayPass(resp.StatusCode):
			s.waiting.Store(nil)
			return resp, lost, nil
		case ctx.Err() != nil:
			return nil, lost, context.Cause(ctx)
		case err == nil:
			lost = lost || resp.StatusCode != http.StatusTooManyRequests
			err = s.explain(resp)
		case isUntrusted(err):
			return nil, lost, fmt.Errorf("the certificate of %s is not trusted: write it, or the certificate of its authority, to a PEM file "+
				"and set SSL_CERT_FILE to the name of that file: %w", s.url, err)
		case !s.responded.Load() && !isLost(err): // more likely a mistake in --server than a temporary failure
			return nil, lost, UnavailableError{fmt.Errorf("cannot reach the service: %w: check --server and that the service is running", err)}
		default:
			lost = lost || !isUnsent(err)
		}
		if failing.IsZero() {
			failing = time.Now()
		}
		busy := resp != nil && resp.StatusCode == http.StatusTooManyRequests // limiting the rate, not failing
		if !busy && time.Since(failing) > s.patience {
			return nil, lost, UnavailableError{fmt.Errorf("gave up after retrying for %v: %w", s.patience, err)}
		}
		most := s.patience
		if busy {
			most = 0
		}
		s.waits(Wait{Since: failing, Most: most, Reason: err})
		wait := pause/2 + rand.N(pause) // random: clients that are refused together must not return together
		if resp != nil {
			wait += retryAfter(resp.Header)
		}
		select {
		case <-ctx.Done():
			return nil, lost, context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// once sends a request once and reads the response.
func (s *Service) once(ctx context.Context, send func(context.Context) (*http.Response, error)) (*http.Response, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	try, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTime)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(stopTime, cancel) })()
	if s.pending.Add(1) == 1 {
		s.heard.Store(time.Now().UnixNano())
	}
	defer s.pending.Add(-1)
	resp, err := send(try)
	if err != nil {
		return nil, err
	}
	s.responded.Store(true)
	s.heard.Store(time.Now().UnixNano())
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	_ = resp.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("the response was cut short: %w", err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// isUntrusted reports whether the service has a certificate that it signed
// itself, or of an unknown authority.
func isUntrusted(err error) bool {
	_, ok := errors.AsType[x509.UnknownAuthorityError](err)
	return ok
}

// isLost reports whether the error ended an established connection.
func isLost(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE)
}

// isUnsent reports whether the request of an error was never sent.
func isUnsent(err error) bool {
	e, ok := errors.AsType[*net.OpError](err)
	return ok && e.Op == "dial"
}

// check returns an error unless the service accepts the token for writes. It
// sends an empty batch, which stores nothing: the service checks the token
// before the body.
func (s *Service) check(ctx context.Context) error {
	resp, _, err := s.try(ctx, func(ctx context.Context) (*http.Response, error) {
		return s.client.CreatePlantsWithBody(ctx, "application/json", strings.NewReader(batchBegin+batchEnd))
	})
	if err != nil {
		return err
	}
	if readError(resp).Error == int32(plantapi.CodeInvalidBody) {
		return nil
	}
	return s.explain(resp)
}

// mayPass reports whether the same request may succeed later.
func mayPass(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// retryAfter returns how long the response asks the client to wait: a number of
// seconds or, from some proxies, until a time.
func retryAfter(h http.Header) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(value); err == nil {
		return max(0, time.Duration(min(seconds, 3600))*time.Second)
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(0, time.Until(at)), time.Hour)
	}
	return 0
}

// explain returns the error of a failed response, with the next step.
func (s *Service) explain(resp *http.Response) error {
	e := readError(resp)
	if e.Message == "" {
		return fmt.Errorf("%s responded with %s, which is not a response of a plant store: check --server", s.url, resp.Status)
	}
	hint := ""
	switch plantapi.ErrorCode(e.Error) {
	case plantapi.CodeBadCredentials:
		hint = ": plantstore token list shows whether the token is valid; a token that serve printed ends with its process"
	case plantapi.CodeNoSuchPath, plantapi.CodeMethodNotAllowed:
		hint = ": check --server"
	}
	if e.RequestID != nil {
		hint += fmt.Sprintf(" (request_id %s in its log)", *e.RequestID)
	}
	err := fmt.Errorf("%s responded with %s: %s%s", s.url, resp.Status, e.Message, hint)
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		return TokenError{err}
	}
	return err
}
