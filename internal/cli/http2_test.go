package cli

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
				resp, body, err := r.send(web, http.MethodPost, "/plants",
					fmt.Sprintf(`{"id":%d,"name":%q}`, id, plantName(id)))
				if errors.Is(err, syscall.ECONNREFUSED) {
					return
				}
				if err != nil || resp.StatusCode != http.StatusOK || resp.ProtoMajor != 2 {
					t.Errorf("the response is %+v %s, %v", resp, body, err)
					return
				}
				created.add(id)
			}
		})
	}
	wait.Until(t, "500 creates are acknowledged", func() bool { return created.count() >= 500 || t.Failed() })
	r.end(t, syscall.SIGTERM)
	clients.Wait()
	created.wantStored(t, watched(t, dir, "plantstore.db"))
}

// Over TLS, with HTTP/1.1 and HTTP/2, streams of changes end with their token and with
// the service, and their last event says why.
func TestStreamsEndOverTLS(t *testing.T) {
	t.Parallel()
	r, dir := launchTLS(t, "127.0.0.1")
	create := func(lifetime string) string {
		return output(t, "token", "create", "--name", "follower", "--expires", lifetime, "--store", filepath.Join(dir, "plantstore.db"))
	}
	revoked, expires := create("1d"), create("8s") // the streams must be open before
	end := map[string]string{revoked: "40101", expires: "40101", r.token: "50300"}
	streams := map[string]chan string{}
	for text := range end {
		streams[text] = make(chan string, 2)
		for _, http2 := range []bool{false, true} {
			transport := trusting(t, filepath.Join(dir, "cert.pem"))
			transport.ForceAttemptHTTP2 = http2
			t.Cleanup(transport.CloseIdleConnections)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+"/changes:stream", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+text)
			resp, err := transport.RoundTrip(req)
			if err != nil || resp.StatusCode != http.StatusOK || (resp.ProtoMajor == 2) != http2 {
				t.Fatalf("the stream is %+v, %v", resp, err)
			}
			go func() {
				defer resp.Body.Close()
				events, err := io.ReadAll(resp.Body)
				streams[text] <- fmt.Sprintf("%s%v", events, err)
			}()
		}
	}
	wantEnd := func(text string) {
		t.Helper()
		for range cap(streams[text]) {
			got := wait.For(t, "the end of a stream", streams[text])
			if _, last, ok := strings.Cut(got, "event: end\ndata: "); !ok || !strings.HasPrefix(last, `{"error":`+end[text]+",") || !strings.HasSuffix(last, "}\n\n<nil>") {
				t.Errorf("the stream is %q, want an end with %s", got, end[text])
			}
		}
	}
	output(t, "token", "revoke", revoked[4:16], "--store", filepath.Join(dir, "plantstore.db"))
	wantEnd(revoked)
	wantEnd(expires)
	began := time.Now()
	r.end(t, syscall.SIGTERM)
	wantEnd(r.token)
	if took := time.Since(began); took > 15*time.Second { // requests in flight have 25
		t.Errorf("the service stopped after %v", took)
	}
}
