package system_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// Two servers on one store, behind a proxy, are restarted one after the other,
// and every request to the proxy succeeds. PLANTSTORE_TEST_STOP_ROUNDS is how often; make
// stop does it four times.
func TestRollingRestart(t *testing.T) {
	must.HaveTime(t)
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { testRollingRestart(t, filepath.Join(t.TempDir(), "plants.db")) })
	t.Run("postgres", func(t *testing.T) { testRollingRestart(t, pgtest.DSN(t)) })
}

func testRollingRestart(t *testing.T, store string) {
	t.Parallel() // its clients mostly pause
	servers := []*program.Server{program.OneOf(t, store), program.OneOf(t, store)}
	balancer := &balancer{}
	proxy := balancer.start(t, servers...)
	var created acknowledged
	var each [16]atomic.Int64 // creates of a client
	c := (&program.Server{URL: proxy, Token: program.Token}).Dial(t, client.WithAttempts(1))
	stop := wait.Repeat(len(each), func(n int) bool {
		id := created.next()
		ctx, cancel := context.WithTimeout(t.Context(), wait.Limit)
		defer cancel()
		if err := c.Create(ctx, client.Plant{ID: id, Name: plantName(id)}); err != nil {
			t.Error(err)
			return false
		}
		created.add(time.Now(), id)
		each[n].Add(1)
		time.Sleep(rand.N(time.Duration(5*n+5) * time.Millisecond)) // some connections are idle for a while
		return true
	})
	for range must.Number(t, "PLANTSTORE_TEST_STOP_ROUNDS", 1) {
		for i, r := range servers {
			for n := range each { // no request is older than the last restart
				before := each[n].Load()
				wait.Until(t, "two more creates", func() bool { return each[n].Load() >= before+2 || t.Failed() })
			}
			r.End(t, syscall.SIGTERM)
			servers[i] = program.OneOf(t, store)
			balancer.use(servers...)
		}
	}
	stop()
	created.wantStored(t, servers[0])
	t.Logf("%d creates while servers were restarted", created.count())
}

// balancer sends the requests to two servers in turn. If it cannot connect to
// one, it uses the other. It never sends a request twice.
type balancer struct {
	addrs [2]atomic.Value // string
	next  atomic.Uint32
}

// start returns the URL of a proxy to servers.
func (b *balancer) start(t *testing.T, servers ...*program.Server) string {
	b.use(servers...)
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.Out.URL.Scheme = "http" },
		Transport: b,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			t.Errorf("the proxy got no response: %v", err)
			w.WriteHeader(http.StatusBadGateway)
		},
	})
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// use takes other servers: one or two.
func (b *balancer) use(servers ...*program.Server) {
	for i := range b.addrs {
		b.addrs[i].Store(strings.TrimPrefix(servers[i%len(servers)].URL, "http://"))
	}
}

func (b *balancer) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	var err error
	if r.Body != nil {
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	first := int(b.next.Add(1))
	for i := range len(b.addrs) {
		try := r.Clone(r.Context())
		try.URL.Host = b.addrs[(first+i)%len(b.addrs)].Load().(string)
		try.Body = io.NopCloser(strings.NewReader(string(body)))
		var resp *http.Response
		resp, err = http.DefaultTransport.RoundTrip(try)
		if failed, ok := errors.AsType[*net.OpError](err); !ok || failed.Op != "dial" {
			return resp, err
		}
	}
	return nil, err
}
