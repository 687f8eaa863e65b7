package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"regexp"
	"slices"
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

// effect is what a request does to plants.
type effect int

const (
	reads    effect = iota // nothing: it is sent again after a lost response
	safe                   // it can be sent again without a further effect
	modifies               // sent again, it may have a further effect
)

// outcome is what is known about an attempt that failed.
type outcome int

const (
	failed  outcome = iota // nothing has changed, and another attempt would fail, too
	refused                // nothing has changed, and another attempt can succeed
	cut                    // nothing has changed, but the reason is lost
	unknown                // a change may have been stored or not; another attempt can tell
	garbled                // a change may have been stored or not; another attempt would not tell
)

// isLost reports whether a change may have been stored.
func (o outcome) isLost() bool { return o == unknown || o == garbled }

// request is one operation.
type request struct {
	name     string // for errors, as in "get plant 1"
	plantIDs []int64
	effect   effect

	http        *http.Request
	place       string // of a page in a list; empty: http is for it
	invalid     error  // why it cannot be sent
	ifMatch     []IfMatch
	ifNoneMatch []IfNoneMatch

	success    []int       // the statuses of a success; nil: 200
	result     any         // takes the body of a success; nil: there is none
	isComplete func() bool // reports whether the result is one of the service
}

// do sends a request until there is a response that is final, and reads it. It returns the
// header of a success, and whether an earlier attempt may have been carried out.
func (c *Client) do(ctx context.Context, operation request) (header http.Header, lost bool, err error) {
	err = operation.setConditions()
	for attempt := 1; err == nil; attempt++ {
		var outcome outcome
		if header, outcome, err = c.send(ctx, operation); err == nil {
			return header, lost, nil
		}
		lost = lost || outcome.isLost()
		if operation.isRepeated(outcome) && attempt < c.attempts {
			err = c.pause(ctx, attempt, err)
		}
	}
	return nil, lost, operation.explain(err, lost)
}

// made takes the HTTP request, or the reason why there is none.
func (operation *request) made(made *http.Request, err error) {
	operation.http, operation.invalid = made, cmp.Or(operation.invalid, err)
}

// encode returns a body. Unlike [json.Marshal] it does not escape <, > and &, so that a batch is
// not several times as large, and then larger than the service allows.
func encode(body any) *bytes.Buffer {
	text := new(bytes.Buffer)
	encoder := json.NewEncoder(text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(body) // of texts and numbers, which always have JSON
	return text
}

// setConditions completes the HTTP request.
func (operation request) setConditions() error {
	if operation.invalid != nil {
		return operation.invalid
	}
	if err := setETags(operation.http.Header, "If-Match", operation.ifMatch); err != nil {
		return err
	}
	return setETags(operation.http.Header, "If-None-Match", operation.ifNoneMatch)
}

// isRepeated reports whether the request is sent again after an attempt that failed.
func (operation request) isRepeated(outcome outcome) bool {
	canTell := outcome == cut || outcome == unknown
	return outcome == refused || canTell && operation.effect != modifies
}

// explain returns the error of the request. Lost says that an attempt may have been carried out.
func (operation request) explain(err error, lost bool) error {
	if response, ok := errors.AsType[*Error](err); ok {
		for i := range response.Details {
			response.Details[i].locate(operation.plantIDs)
		}
	}
	// After a lost attempt, of all failures only a taken id says what is stored.
	isUnknown := lost && operation.effect != reads && !errors.Is(err, ErrIDTaken)
	needsFreeID := operation.effect == safe // only one that inserts has a condition
	switch {
	case isUnknown:
		err = fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	case needsFreeID && errors.Is(err, ErrPreconditionFailed):
		err = fmt.Errorf("%w: %w", ErrIDTaken, err)
	}
	return fmt.Errorf("plantstore: %s: %w", operation.name, err)
}

// pause waits before the next attempt. If there is to be none, it returns cause, with the
// error of the context if that has ended: while it has not, cause says more than the deadline.
func (c *Client) pause(ctx context.Context, attempt int, cause error) error {
	wait := time.Duration(-1)
	if ctx.Err() == nil {
		wait = c.backoff(ctx, attempt, cause)
	}
	if wait >= 0 && backoff.Sleep(ctx, wait) {
		return nil
	}
	if ctx.Err() == nil || errors.Is(cause, context.Cause(ctx)) {
		return cause
	}
	return fmt.Errorf("%w; the last attempt: %w", context.Cause(ctx), cause)
}

// patient returns a client and a context for requests that are sent again until ctx ends.
func (c *Client) patient(ctx context.Context) (*Client, context.Context) {
	unlimited := *c
	unlimited.attempts = math.MaxInt
	return &unlimited, withoutDeadline{ctx}
}

// withoutDeadline hides when its context ends, so that each pause lasts until then.
type withoutDeadline struct{ context.Context }

func (withoutDeadline) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// send makes an attempt and reads the response.
func (c *Client) send(ctx context.Context, operation request) (http.Header, outcome, error) {
	if ctx.Err() != nil {
		return nil, failed, context.Cause(ctx)
	}
	attempt, err := c.newAttempt(ctx, operation.http)
	if err != nil {
		return nil, failed, err
	}
	response, err := c.http.Do(attempt)
	if err != nil {
		return nil, outcomeOf(err), err
	}
	defer response.Body.Close()
	outcome, err := operation.read(response)
	return response.Header, outcome, err
}

var notInTokens = regexp.MustCompile(`[^!-~]`)

// newAttempt returns a copy of a request with what can differ from attempt to attempt.
func (c *Client) newAttempt(ctx context.Context, prepared *http.Request) (*http.Request, error) {
	attempt := prepared.Clone(ctx)
	if prepared.GetBody != nil {
		attempt.Body, _ = prepared.GetBody() // of a buffer; it does not fail
	}
	attempt.Header.Set("User-Agent", c.userAgent)
	if c.traceparent != nil {
		if value := c.traceparent(ctx); value != "" {
			attempt.Header.Set("Traceparent", value)
		}
	}
	if c.token == nil {
		return attempt, nil
	}
	token, err := c.token(ctx)
	if err != nil {
		return nil, fmt.Errorf("token: %w", err)
	}
	if notInTokens.MatchString(token) {
		return nil, errors.New("the token has characters that no token has")
	}
	if token != "" {
		attempt.Header.Set("Authorization", "Bearer "+token)
	}
	return attempt, nil
}

// outcomeOf says what is known after an error in place of a response.
func outcomeOf(err error) outcome {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return failed
	}
	network, ok := errors.AsType[*net.OpError](err)
	if !ok || !slices.Contains([]string{"dial", "proxyconnect"}, network.Op) {
		return unknown
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		return failed // the name is more likely wrong than missing for a moment
	}
	return refused
}

// read reads a response.
func (operation request) read(response *http.Response) (outcome, error) {
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	expected := operation.success
	if expected == nil {
		expected = []int{http.StatusOK}
	}
	if !slices.Contains(expected, response.StatusCode) {
		refusal := newError(response, body)
		return outcomeOfRefusal(refusal, err), refusal
	}
	switch {
	case err != nil:
		return unknown, fmt.Errorf("the response is cut short: %w: %w", err, newError(response, body))
	case len(body) > maxBody:
		return garbled, fmt.Errorf("the response is larger than %d MiB: %w", maxBody>>20, newError(response, body))
	case response.StatusCode == http.StatusNotModified:
		return failed, ErrNotModified
	case !operation.takes(body):
		return garbled, newError(response, body) // not from the service
	}
	return 0, nil
}

// takes decodes the body of a success, and reports whether it is one.
func (operation request) takes(body []byte) bool {
	if operation.result == nil {
		return true
	}
	return json.Unmarshal(body, operation.result) == nil && operation.isComplete()
}

// outcomeOfRefusal says what is known after a response that is not a success. The body was read with an error, or nil.
func outcomeOfRefusal(refusal *Error, readError error) outcome {
	isFinal := slices.Contains(finalStatuses, refusal.Status) || slices.Contains(finalCodes, refusal.Code)
	switch {
	case refusal.Status == http.StatusTooManyRequests:
		return refused
	case refusal.Status/100 == 2:
		return garbled
	case isFinal:
		return failed
	case refusal.Status/100 == 5:
		return unknown
	case readError != nil:
		return cut
	}
	return failed
}

// Responses of 5xx after which another attempt would fail, too: those of another server, and
// those of the service.
var (
	finalStatuses = []int{http.StatusNotImplemented, http.StatusHTTPVersionNotSupported}
	finalCodes    = []Code{ErrInternal, ErrNoChanges}
)

// finalRedirects hides the Location of a redirect from the HTTP client, which
// would follow it, or lose the whole response if it is not a URL.
type finalRedirects struct{ http.RoundTripper }

// hiddenLocation is where a redirect has its Location instead.
const hiddenLocation = "Hidden-Location"

func (t finalRedirects) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := cmp.Or(t.RoundTripper, http.DefaultTransport).RoundTrip(r)
	if err == nil && response.StatusCode/100 == 3 {
		response.Header.Set(hiddenLocation, response.Header.Get("Location"))
		response.Header.Del("Location")
	}
	return response, err
}
