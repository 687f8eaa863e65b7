package client_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// faultProxy forwards requests from a client to the service. It carries out some
// requests, loses the responses of some, and refuses others.
type faultProxy struct {
	service   http.Handler
	elsewhere string // the URL of another host, for redirects
	closed    string // an address that refuses connections
	refusals  atomic.Int64

	mu   sync.Mutex
	rand *rand.Rand
	seen map[string][]passage // by the operation, which the client names in traceparent
	used map[string]int       // by fault
}

// passage is what became of one request.
type passage struct {
	method  string
	status  int  // of the service; 0: it did not get the request
	final   bool // the client received a response after which it must not repeat a request of any kind
	refused bool // the client received a 429
	lost    bool // a change may have been stored or not, as the client sees it
}

func (p *faultProxy) pick(n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rand.IntN(n)
}

// dial opens a connection; sometimes it is refused.
func (p *faultProxy) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if p.pick(4) == 0 {
		p.refusals.Add(1)
		address = p.closed
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

// retryAfters are the forms of the header, and what is none.
var retryAfters = []func() string{
	func() string { return "0" },
	func() string { return "2" },
	func() string { return "" },
	func() string { return "soon" },
	func() string { return time.Now().Add(20 * time.Second).UTC().Format(http.TimeFormat) },
	func() string { return time.Now().Add(20 * time.Second).UTC().Format(time.RFC850) },
	func() string { return time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat) },
}

func (p *faultProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	op := r.Header.Get("Traceparent")
	seen := passage{method: r.Method}
	note := func(fault string, then passage) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.seen[op] = append(p.seen[op], then)
		p.used[fault]++
	}
	h := w.Header()
	if p.pick(4) == 0 {
		h.Set("Connection", "close") // so that there is something to dial
	}
	kind := p.pick(40)
	if kind == 0 || kind == 1 || kind == 2 {
		h.Set("Retry-After", retryAfters[p.pick(len(retryAfters))]())
	}

	// The service does not get the request.
	switch kind {
	case 0:
		seen.refused = true
		note("429", seen)
		w.WriteHeader(http.StatusTooManyRequests)
		return
	case 1:
		seen.lost = true
		note("503 for a request that is not carried out", seen)
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case 3:
		seen.lost = true
		note("502 with HTML", seen)
		w.WriteHeader(http.StatusBadGateway)
		fmt.Fprint(w, "<html><h1>Bad Gateway</h1>")
		return
	case 4:
		seen.lost = true
		note("closed before the request is carried out", seen)
		panic(http.ErrAbortHandler)
	case 5:
		seen.final = true
		note("403 with HTML", seen)
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, "<html>no")
		return
	case 6:
		seen.final = true
		status := []int{301, 302, 303, 307, 308}[p.pick(5)]
		note(fmt.Sprintf("redirect with %d", status), seen)
		http.Redirect(w, r, p.elsewhere+r.URL.Path, status)
		return
	}

	// The service gets it.
	recorder := httptest.NewRecorder()
	p.service.ServeHTTP(recorder, r)
	seen.status = recorder.Code
	body := recorder.Body.Bytes()
	switch kind {
	case 2:
		seen.lost = true
		note("503 for a request that is carried out", seen)
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case 7:
		seen.lost = true
		note("504 without a body", seen)
		w.WriteHeader(http.StatusGatewayTimeout)
		return
	case 8:
		seen.lost = true
		note("closed before the response", seen)
		panic(http.ErrAbortHandler)
	}
	maps.Copy(h, recorder.Header())
	if kind == 9 && len(body) > 1 {
		// A failure is a failure if its body is cut; only its reason is lost.
		seen.lost = recorder.Code < 300
		note("closed in the middle of the response", seen)
		h.Set("Content-Length", fmt.Sprint(len(body)))
		w.WriteHeader(recorder.Code)
		_, _ = w.Write(body[:1+p.pick(len(body)-1)])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	seen.final = true
	note("none", seen)
	w.WriteHeader(recorder.Code)
	_, _ = w.Write(body)
}

// refusingAddress returns an address of this machine where nothing listens. A
// connection from it keeps the port, so that no other program can listen there.
func refusingAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	// With a LocalAddr the system does not share the port with other connections.
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}}
	conn, err := dialer.DialContext(t.Context(), "tcp", l.Addr().String())
	must.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn.LocalAddr().String()
}
