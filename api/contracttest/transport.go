package contracttest

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/plantstore/plantstore/api/contracttest/internal/run"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Client returns an HTTP client that checks every response. A request that takes
// a minute fails.
func (c *Contract) Client(t T) *http.Client {
	return &http.Client{Transport: c.Transport(t, nil), Timeout: run.RequestTimeout}
}

// Transport checks every response that next returns; next is [http.DefaultTransport] if nil. A longer
// response than the engine reads fails the test, and is passed on as it is. Of an event stream it checks what was read
// when the client closes it.
func (c *Contract) Transport(t T, next http.RoundTripper) http.RoundTripper {
	return transport{c, t, cmp.Or(next, http.DefaultTransport)}
}

// transport checks responses on their way to a client.
type transport struct {
	contract *Contract
	t        T
	next     http.RoundTripper
}

// RoundTrip sends a request, and checks its response before the client sees it: a test then fails at the line
// that has sent the request.
func (tr transport) RoundTrip(r *http.Request) (*http.Response, error) {
	tr.t.Helper()
	sent := &copied{}
	if r.Body != nil {
		r = r.Clone(r.Context())
		r.Body = readCloser{io.TeeReader(r.Body, sent), r.Body.Close}
	}
	resp, err := tr.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	check := func(received []byte) {
		tr.t.Helper()
		x := tr.contract.interaction(r, resp.StatusCode, resp.Header, received)
		x.RequestBody = sent.bytes()
		tr.contract.Check(tr.t, x)
	}
	if scenario.IsEventStream(resp.Header) {
		checkWhenClosed(resp, check)
		return resp, nil
	}
	received, err := io.ReadAll(io.LimitReader(resp.Body, scenario.MostRead+1))
	if len(received) > scenario.MostRead {
		tr.t.Errorf("contract: %s %s: the response has more than %d bytes, and is not checked", r.Method, r.URL.Path, scenario.MostRead)
		resp.Body = readCloser{io.MultiReader(bytes.NewReader(received), resp.Body), resp.Body.Close}
		return resp, nil
	}
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(received))
	check(received)
	return resp, nil
}

// checkWhenClosed checks what a test reads of an event stream when the test closes it.
func checkWhenClosed(resp *http.Response, check func(received []byte)) {
	received := &copied{}
	stream := resp.Body
	checkOnce := sync.OnceFunc(func() { check(received.bytes()) })
	resp.Body = readCloser{
		Reader: io.TeeReader(stream, received),
		close: func() error {
			checkOnce()
			return stream.Close()
		},
	}
}

// interaction is a request and its response.
func (c *Contract) interaction(r *http.Request, status int, header http.Header, body []byte) Interaction {
	x := Interaction{Method: r.Method, URL: r.URL.String(), Path: c.sentPath(r.URL), RequestHeader: r.Header}
	x.Receive(status, header, body)
	return x
}

// Judge returns a function that calls report for each fault of a response, as the option Judge of package
// contract wants it: for a service in staging, or in its own tests. It records nothing. A body of nil is
// not known, and the response is not judged then.
func (c *Contract) Judge(report func(x Interaction, fault Fault)) func(*http.Request, int, http.Header, []byte) {
	return func(r *http.Request, status int, header http.Header, body []byte) {
		if body == nil {
			return
		}
		x := c.interaction(r, status, header, body)
		for _, fault := range c.judge.Faults(x) {
			report(x, fault)
		}
	}
}

// sentPath is the escaped path of a request without the base path of the document, if it has that: /api/things makes /things. A
// client sends the opaque part of a URL in place of a path. An empty path is sent as "/" (RFC 9110, section 4.2.3).
func (c *Contract) sentPath(u *url.URL) string {
	if u.Opaque != "" {
		return u.Opaque
	}
	path := u.EscapedPath()
	if below, ok := strings.CutPrefix(path, c.document.Base); ok && strings.HasPrefix(below, "/") {
		return below
	}
	return cmp.Or(path, "/")
}

// copied keeps a copy of the first MostRead bytes of what is read. A response may come while its request is still being
// sent, so that one goroutine may write while another one takes the bytes.
type copied struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write keeps what still has room. It never fails: its reader must get all of it.
func (c *copied) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	room := scenario.MostRead - c.buf.Len()
	c.buf.Write(b[:min(len(b), room)])
	return len(b), nil
}

// bytes is what was kept so far.
func (c *copied) bytes() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Clone(c.buf.Bytes())
}

// readCloser reads from one thing and closes another.
type readCloser struct {
	io.Reader
	close func() error
}

// Close closes what is behind the reader.
func (r readCloser) Close() error { return r.close() }
