package system_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// Over HTTP/2, too, every request gets a response, or its connection is refused.
func TestStopHTTP2(t *testing.T) {
	t.Parallel()
	r, dir := launchTLS(t, "127.0.0.1")
	transport := trusting(t, filepath.Join(dir, "cert.pem"))
	transport.MaxConnsPerHost = 1 // all on one connection
	web := &http.Client{Timeout: wait.Limit, Transport: transport}
	var created acknowledged
	var clients sync.WaitGroup
	for range 32 {
		clients.Go(func() {
			for {
				id := created.next()
				resp, body, err := r.Send(web, http.MethodPost, "/plants",
					fmt.Sprintf(`{"id":%d,"name":%q}`, id, plantName(id)))
				if errors.Is(err, syscall.ECONNREFUSED) {
					return
				}
				if err != nil || resp.StatusCode != http.StatusOK || resp.ProtoMajor != 2 {
					t.Errorf("the response is %+v %s, %v", resp, body, err)
					return
				}
				created.add(time.Now(), id)
			}
		})
	}
	wait.Until(t, "500 creates are acknowledged", func() bool { return created.count() >= 500 || t.Failed() })
	r.End(t, syscall.SIGTERM)
	clients.Wait()
	created.wantStored(t, program.ServeIn(t, dir, "plantstore.db"))
}

// Over TLS, with HTTP/1.1 and HTTP/2, streams of changes end with the service, and their last
// event says why. Package httpapi tests that they end with their token.
func TestStreamsEndOverTLS(t *testing.T) {
	t.Parallel()
	r, dir := launchTLS(t, "127.0.0.1")
	streams := make(chan string, 2)
	for _, http2 := range []bool{false, true} {
		transport := trusting(t, filepath.Join(dir, "cert.pem"))
		transport.ForceAttemptHTTP2 = http2
		t.Cleanup(transport.CloseIdleConnections)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.URL+"/changes:stream", nil)
		must.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+r.Token)
		resp, err := transport.RoundTrip(req)
		if err != nil || resp.StatusCode != http.StatusOK || (resp.ProtoMajor == 2) != http2 {
			t.Fatalf("the stream is %+v, %v", resp, err)
		}
		go func() {
			defer resp.Body.Close()
			events, err := io.ReadAll(resp.Body)
			streams <- fmt.Sprintf("%s%v", events, err)
		}()
	}
	began := time.Now()
	r.End(t, syscall.SIGTERM)
	for range cap(streams) {
		got := wait.For(t, "the end of a stream", streams)
		_, last, _ := strings.Cut(got, "event: end\ndata: ")
		if !strings.HasPrefix(last, `{"error":50300,`) || !strings.HasSuffix(last, "}\n\n<nil>") {
			t.Errorf("the stream is %q, want an end with 50300", got)
		}
	}
	if took := time.Since(began); took > 15*time.Second { // requests in flight have 25
		t.Errorf("the service stopped after %v", took)
	}
}
