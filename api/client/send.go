package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/plantstore/plantstore/internal/backoff"
)

// maxBody is how much of a response is read. A page has 1000 plants of at most 1,256
// characters, each of which takes at most 12 bytes if it is escaped.
const maxBody = 32 << 20

// maxRetryAfter is the longest pause that the client makes because a response
// asks for it. After that the program decides.
const maxRetryAfter = time.Minute

// Backoff is the default of [WithBackoff]. The pause is random, up to 100 ms after
// the first attempt and twice as much after each further one, up to 5 seconds.
// The [Error.RetryAfter] of err is added. A RetryAfter of more than a minute ends the
// retries.
func Backoff(_ context.Context, attempt int, err error) time.Duration {
	pause := backoff.Pause(attempt, 100*time.Millisecond, 5*time.Second)
	if e, ok := errors.AsType[*Error](err); ok {
		if e.RetryAfter > maxRetryAfter {
			return -1
		}
		pause += e.RetryAfter
	}
	return pause
}

// outcome is what is known about an attempt that failed.
type outcome int

const (
	failed  outcome = iota // nothing has changed, and another attempt would fail, too
	refused                // nothing has changed, and another attempt can succeed
	cut                    // nothing has changed, but the reason is lost
	unknown                // a change may have been stored or not; another attempt can tell
	garbled                // a change may have been stored or not; another attempt would not tell
)

// request is one operation.
type request struct {
	op      string  // for errors, as in "get plant 1"
	ids     []int64 // of its plants, likewise
	change  bool    // it changes plants
	safe    bool    // it can be repeated without a further effect
	inserts bool    // its condition is that the id is free
	patient bool    // its attempts are not limited

	ifMatch     []IfMatch
	ifNoneMatch []IfNoneMatch
	body        func() (any, error) // nil: none
	build       func(body io.Reader) (*http.Request, error)

	accept []int             // the statuses of a success
	decode func([]byte) bool // takes the body of a success and reports whether it is one; nil: there is none
}

// new makes the HTTP request of an attempt. Unlike [json.Marshal] it does not escape <, >
// and &, so that a batch is not several times as large, and then larger than the service
// allows.
func (r request) new() (*http.Request, error) {
	var text bytes.Buffer
	if r.body != nil {
		body, err := r.body()
		if err != nil {
			return nil, err
		}
		enc := json.NewEncoder(&text)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(body); err != nil {
			return nil, err
		}
	}
	req, err := r.build(&text)
	if err != nil {
		return nil, err
	}
	if err := setETags(req.Header, "If-Match", r.ifMatch); err != nil {
		return nil, err
	}
	if err := setETags(req.Header, "If-None-Match", r.ifNoneMatch); err != nil {
		return nil, err
	}
	return req, nil
}

// do sends a request until there is a response that is final. It returns a
// success after reading its body, and whether an earlier attempt may have been
// carried out.
func (c *Client) do(ctx context.Context, r request) (resp *http.Response, lost bool, err error) {
	for attempt := 1; ; attempt++ {
		var o outcome
		if resp, o, err = c.once(ctx, r); err == nil {
			return resp, lost, nil
		}
		lost = lost || o == unknown || o == garbled
		again := o == refused || r.safe && (o == cut || o == unknown)
		if again && (attempt < c.attempts || r.patient) {
			err = c.pause(ctx, attempt, err, r.patient)
		}
		if err != nil {
			break
		}
	}
	if e, ok := errors.AsType[*Error](err); ok {
		for i := range e.Details {
			e.Details[i].locate(r.ids)
		}
	}
	switch {
	// After a lost attempt, of all failures only a taken id says what is stored.
	case r.change && lost && !errors.Is(err, ErrIDTaken):
		err = fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	case r.inserts && errors.Is(err, ErrPreconditionFailed):
		err = fmt.Errorf("%w: %w", ErrIDTaken, err)
	}
	return nil, lost, fmt.Errorf("plantstore: %s: %w", r.op, err)
}

// pause waits before the next attempt. If there is to be none, it returns cause, with the
// error of the context if that has ended. A patient pause goes on until then.
func (c *Client) pause(ctx context.Context, attempt int, cause error, patient bool) error {
	if ctx.Err() != nil {
		return ended(ctx, cause)
	}
	wait := c.backoff(ctx, attempt, cause)
	if wait < 0 {
		return cause
	}
	if backoff.Sleep(ctx, wait) {
		return nil
	}
	if patient {
		<-ctx.Done()
	}
	if ctx.Err() == nil {
		return cause // it says more than the deadline would
	}
	return ended(ctx, cause)
}

// ended adds to the error of the last attempt that the context has ended.
func ended(ctx context.Context, last error) error {
	if errors.Is(last, context.Cause(ctx)) {
		return last
	}
	return fmt.Errorf("%w; the last attempt: %w", context.Cause(ctx), last)
}

// once sends a request once and reads the response.
func (c *Client) once(ctx context.Context, r request) (*http.Response, outcome, error) {
	if ctx.Err() != nil {
		return nil, failed, context.Cause(ctx)
	}
	req, err := r.new()
	if err != nil {
		return nil, failed, err
	}
	req.Header.Set("User-Agent", c.userAgent)
	if c.token != nil {
		token, err := c.token(ctx)
		if err != nil {
			return nil, failed, fmt.Errorf("token: %w", err)
		}
		if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7F }) {
			return nil, failed, errors.New("the token has characters that no token has")
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
	}
	if c.traceparent != nil {
		if value := c.traceparent(ctx); value != "" {
			req.Header.Set("Traceparent", value)
		}
	}
	resp, err := c.http.Do(req.WithContext(ctx))
	if err != nil {
		return nil, outcomeOf(err), err
	}
	defer resp.Body.Close()
	o, err := r.read(resp)
	return resp, o, err
}

// outcomeOf says what is known after an error in place of a response.
func outcomeOf(err error) outcome {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return failed
	}
	if e, ok := errors.AsType[*net.OpError](err); ok && (e.Op == "dial" || e.Op == "proxyconnect") {
		if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
			return failed // the name is more likely wrong than missing for a moment
		}
		return refused
	}
	return unknown
}

// read reads a response.
func (r request) read(resp *http.Response) (outcome, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if slices.Contains(r.accept, resp.StatusCode) {
		switch {
		case err != nil:
			return unknown, fmt.Errorf("the response is cut short: %w: %w", err, newError(resp, body))
		case len(body) > maxBody:
			return garbled, fmt.Errorf("the response is larger than %d MiB: %w", maxBody>>20, newError(resp, body))
		case resp.StatusCode == http.StatusNotModified:
			return failed, ErrNotModified
		case r.decode != nil && !r.decode(body):
			return garbled, newError(resp, body) // not from the service
		}
		return 0, nil
	}
	switch e := newError(resp, body); {
	case e.Status/100 == 2:
		return garbled, e
	case e.Status == http.StatusNotImplemented, e.Status == http.StatusHTTPVersionNotSupported:
		return failed, e // another server than the service
	case e.Status/100 == 5 && e.Code != ErrInternal && e.Code != ErrNoChanges:
		return unknown, e
	case e.Status == http.StatusTooManyRequests:
		return refused, e
	case err != nil:
		return cut, e
	default:
		return failed, e
	}
}

// finalRedirects hides the Location of a redirect from the HTTP client, which
// would follow it, or lose the whole response if it is not a URL.
type finalRedirects struct{ http.RoundTripper }

// hiddenLocation is where a redirect has its Location instead.
const hiddenLocation = "Hidden-Location"

func (t finalRedirects) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(r)
	if err == nil && resp.StatusCode/100 == 3 {
		resp.Header.Set(hiddenLocation, resp.Header.Get("Location"))
		resp.Header.Del("Location")
	}
	return resp, err
}
