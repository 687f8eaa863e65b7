package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantclient"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// Two servers on one store, behind a proxy, are restarted one after the other,
// and every request to the proxy succeeds.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { testRollingRestart(t, filepath.Join(t.TempDir(), "plants.db")) })
	t.Run("postgres", func(t *testing.T) { testRollingRestart(t, pgtest.DSN(t)) })
}

func testRollingRestart(t *testing.T, store string) {
	env := []string{"GORACE=" + os.Getenv("GORACE"), "PLANTSTORE_TOKEN=a-static-token-of-ours"}
	start := func() *running {
		r, err := launch(t.TempDir(), env, "--addr", "127.0.0.1:0", "--store", store)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	servers := []*running{start(), start()}
	defer func() {
		for _, r := range servers {
			r.kill()
		}
	}()
	balancer := &balancer{}
	for i, r := range servers {
		balancer.addrs[i].Store(strings.TrimPrefix(r.url, "http://"))
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.Out.URL.Scheme = "http" },
		Transport: balancer,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			t.Errorf("the proxy got no response: %v", err)
			w.WriteHeader(http.StatusBadGateway)
		},
	})
	defer proxy.Close()

	var lastID atomic.Int64
	var created [16]atomic.Int64 // by each client
	done := make(chan struct{})
	var clients sync.WaitGroup
	for n := range created {
		clients.Go(func() {
			client, err := plantclient.NewClientWithResponses(proxy.URL, bearer("a-static-token-of-ours"))
			for err == nil {
				select {
				case <-done:
					return
				default:
				}
				id := lastID.Add(1)
				var resp *plantclient.CreatePlantResponse
				ctx, cancel := context.WithTimeout(t.Context(), wait.Limit)
				resp, err = client.CreatePlantWithResponse(ctx, plantapi.NewPlant{ID: id, Name: plantName(id)})
				cancel()
				if err == nil && resp.JSON200 == nil {
					err = fmt.Errorf("the response is %s: %s", resp.Status(), resp.Body)
				}
				created[n].Add(1)
				time.Sleep(rand.N(time.Duration(n+1) * time.Millisecond)) // some connections are idle for a while
			}
			t.Error(err)
		})
	}
	for range stopRounds(t) {
		for i, r := range servers {
			for n := range created { // no request is older than the last restart
				for before := created[n].Load(); created[n].Load() < before+2 && !t.Failed(); {
					time.Sleep(time.Millisecond)
				}
			}
			r.end(t, syscall.SIGTERM)
			servers[i] = start()
			balancer.addrs[i].Store(strings.TrimPrefix(servers[i].url, "http://"))
		}
	}
	close(done)
	clients.Wait()
	sum := int64(0)
	for n := range created {
		sum += created[n].Load()
	}
	if stored := len(storedPlants(t, servers[0].url, "a-static-token-of-ours")); int64(stored) != sum {
		t.Errorf("%d plants are stored, want %d", stored, sum)
	}
	t.Logf("%d creates while servers were restarted", sum)
}

// balancer sends the requests to two servers in turn. If it cannot connect to
// one, it uses the other. It never sends a request twice.
type balancer struct {
	addrs [2]atomic.Value // string
	next  atomic.Uint32
}

func (b *balancer) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
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
