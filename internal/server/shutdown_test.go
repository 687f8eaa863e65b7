package server

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pipes"
	"github.com/plantstore/plantstore/internal/testing/program"
)

// oneConnection returns a client that opens one connection, and no second one.
func oneConnection(listener pipes.Listener, transport *http.Transport) *http.Client {
	isOpened := false
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if isOpened {
			return nil, errors.New("the connection was closed")
		}
		isOpened = true
		return listener.DialContext(ctx, network, address)
	}
	return &http.Client{Transport: transport}
}

// A pause of the program or of its machine does not use up idleGrace: requests that
// have arrived meanwhile are not read yet.
func TestPauseWhileStopping(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newGracefulShutdown(&http.Server{Handler: http.NotFoundHandler()})
		s.open.Store(nil, nil) // a connection
		s.begin()
		tick, ended := make(chan time.Time), make(chan struct{})
		go func() {
			defer close(ended)
			s.awaitClients(t.Context(), tick)
		}()
		n := 0
		for running := true; running; {
			if n == 1 {
				time.Sleep(2 * idleGrace) // the pause
			}
			select {
			case tick <- time.Now():
				n++
			case <-ended:
				running = false
			}
		}
		if want := int(idleGrace / idleTick); n < want {
			t.Errorf("idle connections stay open for %d ticks, want %d", n, want)
		}
	})
}

// A response that began before the stop cannot announce the end of its connection. The
// connection stays open for idleGrace after it, however late that is, so that no request
// that follows is lost.
func TestRequestAfterALateResponse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		late := make(chan struct{})
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/late" {
				_ = http.NewResponseController(w).Flush()
				<-late
			}
		})}
		s := newGracefulShutdown(server)
		listener := make(pipes.Listener, 1)
		go func() { _ = server.Serve(listener) }()
		client := oneConnection(listener, &http.Transport{})
		defer client.CloseIdleConnections()
		resp, err := client.Get("http://server/late")
		must.NoError(t, err)
		s.begin()
		stopped := make(chan error, 1)
		go func() {
			s.awaitClients(t.Context(), time.Tick(idleTick))
			stopped <- server.Shutdown(t.Context())
		}()
		time.Sleep(2 * idleGrace)
		close(late)
		_, err = io.Copy(io.Discard, resp.Body)
		must.NoError(t, err)
		resp.Body.Close()
		time.Sleep(idleGrace / 2)
		resp, err = client.Get("http://server/next")
		if err != nil {
			t.Fatalf("a request %v after the late response: %v", idleGrace/2, err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK || !resp.Close {
			t.Errorf("got %s, the connection is announced to close: %v; want 200 and true", resp.Status, resp.Close)
		}
		began := time.Now()
		if err := <-stopped; err != nil || time.Since(began) > time.Second {
			t.Errorf("the server stopped %v after the last connection was closed, %v", time.Since(began), err)
		}
	})
}

// A connection of HTTP/2 ends with its last response, and does not use up idleGrace. The head of
// that response was sent before the stop, as that of a stream of changes is.
func TestStopEndsHTTP2(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must.NoError(t, program.WriteCertificate(dir, "cert", "plants", time.Now().Add(time.Hour)))
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).Flush()
			<-end
		})
		server := &http.Server{Handler: handler}
		s := newGracefulShutdown(server)
		conns := make(pipes.Listener)
		go server.ServeTLS(conns, filepath.Join(dir, "cert.pem"), filepath.Join(dir, "cert-key.pem"))
		client := oneConnection(conns, &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}})
		defer server.Close()
		resp, err := client.Get("https://plants/")
		if err != nil || resp.ProtoMajor != 2 {
			t.Fatalf("the response is %v, %v", resp, err)
		}
		s.begin()
		stopped := make(chan error, 1)
		go func() {
			s.awaitClients(t.Context(), time.Tick(idleTick))
			stopped <- server.Shutdown(t.Context())
		}()
		synctest.Wait()
		close(end)
		ended := time.Now()
		if body, err := io.ReadAll(resp.Body); err != nil {
			t.Errorf("the body is %q, %v", body, err)
		}
		expect.NoError(t, <-stopped)
		if took := time.Since(ended); took > 2*idleTick {
			t.Errorf("the stop took %v after the last response", took)
		}
	})
}
