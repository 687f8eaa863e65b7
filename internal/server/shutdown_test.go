package server

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// A pause of the program or of its machine does not use up idleGrace: requests that
// have arrived meanwhile are not read yet.
func TestPauseWhileStopping(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newGracefulShutdown(&http.Server{Handler: http.NotFoundHandler()})
		s.open.Add(1)
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
		listener := make(pipes, 1)
		go func() { _ = server.Serve(listener) }()
		client := listener.client(&http.Transport{})
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

// A connection of HTTP/2 ends with its last response, and does not use up idleGrace.
func TestStopEndsHTTP2(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var protocols http.Protocols
		protocols.SetUnencryptedHTTP2(true)
		end := make(chan struct{})
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).Flush()
			<-end
		})
		server := &http.Server{Protocols: &protocols, Handler: handler}
		s := newGracefulShutdown(server)
		conns := make(pipes)
		go server.Serve(conns)
		client := conns.client(&http.Transport{Protocols: &protocols})
		resp, err := client.Get("http://plants/")
		if err != nil || resp.ProtoMajor != 2 {
			t.Fatalf("the response is %v, %v", resp, err)
		}
		s.begin()
		synctest.Wait()
		close(end)
		if body, err := io.ReadAll(resp.Body); err != nil {
			t.Errorf("the body is %q, %v", body, err)
		}
		stopping := time.Now()
		s.awaitClients(t.Context(), time.Tick(idleTick))
		expect.NoError(t, server.Shutdown(t.Context()))
		if took := time.Since(stopping); took > 2*idleTick {
			t.Errorf("the stop took %v", took)
		}
	})
}
