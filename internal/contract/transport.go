package contract

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"time"
)

// patience is how long a test waits for a response and its body.
const patience = time.Minute

// Client returns an HTTP client whose every exchange is checked. An exchange that
// takes longer than patience fails.
func Client(t T) *http.Client {
	return &http.Client{Transport: Transport(t, nil), Timeout: patience}
}

// Transport checks every exchange that passes through next, which is
// [http.DefaultTransport] if nil.
func Transport(t T, next http.RoundTripper) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return transport{t, next}
}

type transport struct {
	t    T
	next http.RoundTripper
}

func (tr transport) RoundTrip(r *http.Request) (*http.Response, error) {
	tr.t.Helper()
	sent := &copied{}
	if r.Body != nil {
		r = r.Clone(r.Context())
		r.Body = sent.from(r.Body)
	}
	resp, err := tr.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	received, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(received))
	Check(tr.t, Exchange{
		Method: r.Method, URL: r.URL.String(), Path: sentPath(r.URL), RequestHeader: r.Header, RequestBody: sent.bytes(),
		Status: resp.StatusCode, Header: resp.Header, Body: received,
	})
	return resp, nil
}

// Handler checks every exchange with next, and passes the answer on.
func Handler(t T, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Helper()
		sent := &copied{}
		if r.Body != nil {
			r.Body = sent.from(r.Body)
		}
		method, at := r.Method, *r.URL
		recorder := httptest.NewRecorder()
		next.ServeHTTP(recorder, r)
		resp := recorder.Result()
		if method == http.MethodHead {
			recorder.Body.Reset() // as net/http has it
		}
		Check(t, Exchange{
			Method: method, URL: at.String(), Path: sentPath(&at), RequestHeader: r.Header, RequestBody: sent.bytes(),
			Status: resp.StatusCode, Header: resp.Header, Body: recorder.Body.Bytes(),
		})
		for name, values := range resp.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(resp.StatusCode)
		_, _ = w.Write(recorder.Body.Bytes())
	})
}

// sentPath is the path of a request line.
func sentPath(u *url.URL) string {
	if u.Opaque != "" {
		return u.Opaque
	}
	return u.EscapedPath()
}

// copied keeps what passes by. An answer may come while its request is still
// being sent, so both ends may be at it at once.
type copied struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (c *copied) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.buf.Write(b)
}

func (c *copied) bytes() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Clone(c.buf.Bytes())
}

func (c *copied) from(body io.ReadCloser) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{io.TeeReader(body, c), body}
}
