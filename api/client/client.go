// Package client is a client of the Plant Store.
//
//	c, err := client.New("https://plants.example.com", client.WithToken(os.Getenv("TOKEN")))
//	err = c.Create(ctx, client.Plant{ID: 1, Name: "Ficus lyrata", Tag: new("Moraceae")})
//	if errors.Is(err, client.ErrIDTaken) { … }
//	for p, err := range c.All(ctx, client.HasTag("Moraceae")) { … }
//	page, err := c.List(ctx, client.HasNamePrefix("fic"), client.PageSize(20))
//	n, more, err := c.Count(ctx, client.HasTag("Moraceae"))
//	for tag, err := range c.Tags(ctx, "Mor") { … }
//	p, err := c.Update(ctx, 1, func(p *client.Plant) error { p.Name = "…"; return nil })
//
// A [Replica] is a copy of all plants in memory, which follows the service.
//
// A response that is not a success is an [*Error]. A [Code] is the reason that
// the service gives; it works with [errors.Is].
//
// A request is sent again, after a pause, until it succeeds, the context ends or
// [WithAttempts] is reached. The error is then that of the last attempt, and also the
// [context.Cause] if the context has ended. Whether a request is sent again depends on what
// is known about the attempt:
//
//   - After a refused connection or a 429 response, nothing has changed: every
//     request is sent again.
//   - After a lost response, a 503 or another failure of a server on the way, a
//     change may have been stored or not. Reads, [Client.Create],
//     [Client.CreateBatch] and [Client.Insert] are safe to repeat and are sent
//     again. [Client.Update] reads the plant and decides. [Client.Put],
//     [Client.Patch] and [Client.Delete] return [ErrOutcomeUnknown] at once.
//   - Every other response is final: its error is returned at once.
//
// Redirects are an [*Error] and are not followed, so the token is only sent to the
// address of the client. Package clienttest runs a real service in the tests of a program.
package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// A Client sends requests to one service. It is safe for concurrent use.
type Client struct {
	server      string // its URL, with a slash at the end
	http        *http.Client
	token       func(context.Context) (string, error)
	userAgent   string
	traceparent func(context.Context) string
	attempts    int
	wait        int32 // seconds that a request waits for changes
	backoff     func(ctx context.Context, attempt int, err error) time.Duration
}

// An Option changes a [Client] that New makes.
type Option func(*Client)

// WithToken sets the bearer token of every request. An empty one is not sent.
func WithToken(token string) Option {
	return WithTokenFunc(func(context.Context) (string, error) { return token, nil })
}

// WithTokenFunc sets a function that returns the bearer token. It is called
// before each attempt, so a token can change while the client is in use. Its error
// ends the request.
func WithTokenFunc(token func(context.Context) (string, error)) Option {
	return func(c *Client) { c.token = token }
}

// WithHTTPClient sets the HTTP client that sends the requests, with its transport
// and its timeout, which is that of one attempt. By default the timeout is one minute.
// If it is less, [Client.Changes] waits for half of it in each request.
func WithHTTPClient(h *http.Client) Option {
	return func(c *Client) { c.http = h }
}

// WithUserAgent sets the User-Agent header. The default is "plantstore-go".
func WithUserAgent(product string) Option {
	return func(c *Client) { c.userAgent = product }
}

// WithTraceparent sets a function that returns the W3C traceparent header for the
// context of a request, or an empty string for none.
func WithTraceparent(traceparent func(context.Context) string) Option {
	return func(c *Client) { c.traceparent = traceparent }
}

// WithAttempts sets how often a request is sent at most. The default is 10, which
// with [Backoff] takes about 10 seconds, and more if the service asks to wait. A
// client with one attempt does not retry. Less than one is an error of [New].
func WithAttempts(n int) Option {
	return func(c *Client) { c.attempts = n }
}

// WithBackoff sets the function that is called before each retry, in place of
// [Backoff]. It gets the context of the request, the number of attempts so far
// and the error of the last one, and returns the pause before the next. A
// negative pause ends the retries.
func WithBackoff(backoff func(ctx context.Context, attempt int, err error) time.Duration) Option {
	return func(c *Client) { c.backoff = backoff }
}

// New returns a client of the service at baseURL, for example
// "https://plants.example.com". It sends no request.
func New(baseURL string, opts ...Option) (*Client, error) {
	parsed, err := url.Parse(baseURL)
	if err != nil { // it quotes the URL or a part of it, maybe of a password
		return nil, errors.New("plantstore: the base URL must be like https://plants.example.com")
	}
	if parsed.Host == "" || !slices.Contains([]string{"http", "https"}, parsed.Scheme) {
		return nil, fmt.Errorf("plantstore: the base URL must be like https://plants.example.com, not %q", parsed.Redacted())
	}
	if parsed.User != nil || parsed.RawQuery+parsed.Fragment != "" {
		return nil, fmt.Errorf("plantstore: the base URL must have no user, query or fragment: %q", parsed.Redacted())
	}
	c := &Client{server: strings.TrimSuffix(baseURL, "/") + "/", userAgent: "plantstore-go", attempts: 10}
	for _, opt := range opts {
		opt(c)
	}
	if c.backoff == nil {
		c.backoff = Backoff
	}
	if c.attempts < 1 {
		return nil, errors.New("plantstore: the number of attempts must be at least 1")
	}
	// A copy, because the client of the program is not changed.
	h := *cmp.Or(c.http, &http.Client{Transport: defaultTransport(), Timeout: time.Minute})
	c.wait = waitWithin(h.Timeout)
	h.Transport = finalRedirects{h.Transport} // a redirect can turn a POST into a GET, and lead to another host
	c.http = &h
	return c, nil
}

// defaultTransport is [http.DefaultTransport] with more idle connections: it
// keeps two to a host, so a busy program would open new ones all the time.
func defaultTransport() http.RoundTripper {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t = t.Clone()
	t.MaxIdleConnsPerHost = t.MaxIdleConns
	return t
}
